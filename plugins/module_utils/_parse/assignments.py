# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of assignments: what a shell and /etc/os-release have in common. PRIVATE to the collection."""

import re
import shlex

# Files of shell assignments, from which services read their settings.
_PAIR = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*[\"']?([^\"'#\n]*)", re.M)


def parse_assignments(text):
    """{name: value}; the last assignment of a name counts. Quotes are removed, nothing is expanded."""
    return {name: value.strip() for name, value in _PAIR.findall(text)}


# os-release: which distribution this is.
# Sample: `VERSION_ID="12"`. Grammar: man os-release, shell-like assignments.
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
