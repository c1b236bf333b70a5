# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of conntrack. PRIVATE to the collection.

Sample (/proc/net/stat/nf_conntrack, all numbers hexadecimal, one line for each possible CPU; columns differ by kernel):
    entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error ...
    0000004a  00000000 00000000 00000000 00000003 00000012 ...
"""

# The total of the network namespace, repeated on each line.
_TOTAL = "entries"


def parse_nf_conntrack_stat(text):
    """`{column: sum over all CPUs}`, `entries` once; None for any other text."""
    lines = text.splitlines()
    columns = lines[0].split() if lines else []
    if columns[:1] != [_TOTAL] or len(lines) < 2:
        return None
    try:
        rows = [[int(field, 16) for field in line.split()] for line in lines[1:] if line.strip()]
    except ValueError:
        return None
    if not rows or any(len(row) != len(columns) for row in rows):
        return None
    sums = dict(zip(columns, (sum(column) for column in zip(*rows))))
    sums[_TOTAL] = rows[0][0]
    return sums
