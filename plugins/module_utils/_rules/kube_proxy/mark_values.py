# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks of packets as rules write them. PRIVATE to the collection.

Arithmetic: Linux net/netfilter/xt_mark.c. iptables-save prints every option that sets a mark as `--set-xmark
value/mask`.
"""

import re

_MARK = re.compile(r"(0x[0-9a-f]{1,8}|\d{1,10})(?:/(0x[0-9a-f]{1,8}|\d{1,10}))?\Z")
_ALL = 0xffffffff


def mark_value(values):
    """(value, mask) of `0x4000/0x4000`."""
    found = _MARK.match(values[0]) if values else None
    return (int(found.group(1), 0), int(found.group(2), 0) if found.group(2) else _ALL) if found else None


def changed_mark(mark, rule):
    """The mark of a packet behind a rule with the target MARK; None where it cannot be computed."""
    for option, values, _negated in rule.arguments:
        found = mark_value(values)
        if found is None:
            return None
        number, mask = found
        if option == "--set-xmark":
            return mark & ~mask ^ number
        if option in ("--set-mark", "--or-mark"):
            return (mark & ~mask if option == "--set-mark" else mark) | number
        if option in ("--and-mark", "--xor-mark"):
            return mark & number if option == "--and-mark" else mark ^ number
    return None


def has_bits(bits, values):
    """Whether a packet has a mark such as `0x4000/0x4000`, by `bits` known to be set; None if others decide."""
    found = mark_value(values)
    if found is None:
        return None
    number, mask = found
    if bits & mask & ~number:
        return False
    return True if not mask & ~bits and not number & ~mask else None
