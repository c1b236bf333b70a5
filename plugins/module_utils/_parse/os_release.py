# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""os-release: which distribution this is. PRIVATE to the collection.

Sample: `VERSION_ID="12"`. Grammar: man os-release, shell-like assignments.
"""

import shlex


def parse_os_release(text):
    """{KEY: value}; lines that are not assignments are skipped, as the format requires."""
    values = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or not key or key.startswith("#"):
            continue
        try:
            words = shlex.split(value, posix=True)
        except ValueError:
            continue  # An open quote: the value is unknown.
        values[key] = words[0] if words else ""
    return values
