# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/var/lib/dpkg/alternatives/NAME, /var/lib/alternatives/NAME: a group of alternatives. PRIVATE to the collection.

Sample: `auto`, `/usr/sbin/iptables`, then name and link of each slave, an empty line, and for each choice its path, its
priority and the paths of its slaves. Debian and openSUSE (dpkg utils/update-alternatives.c) and the Red Hat family
(chkconfig alternatives.c) use the same format, except that the latter writes the family of a choice before its priority
(`@name@10`).
"""

import re

MODES = ("auto", "manual")
_PRIORITY = re.compile(r"(?:@[^@]*@)?(-?\d{1,9})\Z")


def parse_alternatives(text):
    """`{"mode": auto | manual, "link": path, "slaves": {name: link}}`, or None for any other file."""
    head, empty, _choices = text.partition("\n\n")
    lines = head.split("\n")
    names, links = lines[2::2], lines[3::2]
    if not empty or len(lines) < 2 or lines[0] not in MODES or len(names) != len(links):
        return None
    if not all(path.startswith("/") for path in [lines[1]] + links):
        return None
    return {"mode": lines[0], "link": lines[1], "slaves": dict(zip(names, links))}


def parse_choices(text):
    """`[{"path", "priority", "slaves": {name: path}}]` of such a file, or None; a choice may lack slaves."""
    group = parse_alternatives(text)
    if group is None:
        return None
    head, _empty, choices = text.partition("\n\n")
    names, lines = head.split("\n")[2::2], choices.split("\n")
    found, size = [], 2 + len(names)
    while lines and lines[0]:
        row, lines = lines[:size], lines[size:]
        priority = _PRIORITY.match(row[1]) if len(row) == size else None
        if not priority or not all(path.startswith("/") for path in row[:1] + row[2:] if path):
            return None
        found.append({"path": row[0], "priority": int(priority.group(1)),
                      "slaves": {name: path for name, path in zip(names, row[2:]) if path}})
    return found
