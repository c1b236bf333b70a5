# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of `ipset list -t`: sets, their numbers of entries and their limits. PRIVATE to the collection.

Sample, with an empty line between sets: `Name: KUBE-CLUSTER-IP`, `Type: hash:ip,port`, `Header: family inet hashsize
1024 maxelem 65536`, `Number of entries: 12`. Format: ipset lib/session.c list_create().
"""

import re

_LIMIT = re.compile(r"\bmaxelem (\d{1,10})\b")
_RANGE = re.compile(r"\brange (\d{1,10})-(\d{1,10})\b")


def parse_ipset_list(text):
    """[`{"name", "entries": int or None, "size_limit": int or None}`] in the order printed."""
    sets = []
    for line in text.splitlines():
        key, colon, value = line.partition(": ")
        if not colon:
            continue
        if key == "Name":
            sets.append({"name": value, "entries": None, "size_limit": None})
        elif sets and key == "Header":
            limit, ports = _LIMIT.search(value), _RANGE.search(value)
            sets[-1]["size_limit"] = int(limit.group(1)) if limit else (
                int(ports.group(2)) - int(ports.group(1)) + 1 if ports else None)
        elif sets and key == "Number of entries" and value.isdigit() and len(value) <= 10:
            sets[-1]["entries"] = int(value)
    return sets
