# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The backend of an iptables program of the node, by the file its links lead to.

Names of links prove nothing, and a wrapper (kubernetes-sigs/iptables-wrappers, Calico) changes links: no program is
run."""

from ..._host.host import OK
from ..._parse.program_files import parse_iptables_program

MULTI = {"nft": ("xtables-nft-multi",), "legacy": ("xtables-legacy-multi", "xtables-multi")}
_BY_NAME = {name: backend for backend, names in MULTI.items() for name in names}


def backend_of(host, path):
    """`nft`, `legacy`, `wrapper` or `unknown` of the program at `path`, whose links are followed."""
    target = host.tree_path(path) or path
    return _BY_NAME.get(target.rsplit("/", 1)[-1]) or build_of(host, target)[0]


def build_of(host, target):
    """(backend as above, version or None) of a file, from its own bytes."""
    named = _BY_NAME.get(target.rsplit("/", 1)[-1])
    status, data = host.read_bytes(target)
    if status != OK:
        return named or "unknown", None
    backend, version = parse_iptables_program(data)
    # An iptables program without a backend in its bytes is older than 1.8, which introduced the two backends.
    return named or backend or ("legacy" if data.startswith(b"\x7fELF") else "unknown"), version
