# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of shell assignments, from which services read their settings. PRIVATE to the collection."""

import re

_PAIR = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*[\"']?([^\"'#\n]*)", re.M)


def parse_assignments(text):
    """{name: value}; the last assignment of a name counts. Quotes are removed, nothing is expanded."""
    return {name: value.strip() for name, value in _PAIR.findall(text)}
