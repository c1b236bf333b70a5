# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of an nft program and whether it has JSON, from its bytes. PRIVATE to the collection.

nft holds its version as a separate string, which it prints for `--version`, and a build without libjansson holds the
refusal of `--json` (nftables src/main.c, 0.9.0 to 1.1.6; seen in Debian's build of 1.0.6).
"""

import re

# Other libraries of a static build have versions from 2 on (jansson, libedit, GMP).
_VERSION = re.compile(rb"(?<=\0)([01]\.\d{1,2}(?:\.\d{1,2}){0,2})(?=\0)")
_NAME, _REFUSAL = b"\0nftables\0", b"JSON support not compiled-in"


def parse_nft_program(data):
    """(version or None, whether it has JSON or None); (None, None) if this is no nft."""
    if not data.startswith(b"\x7fELF") or _NAME not in data:
        return None, None
    versions = set(_VERSION.findall(data))
    return versions.pop().decode("ascii") if len(versions) == 1 else None, _REFUSAL not in data
