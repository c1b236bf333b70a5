# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nftables rules from the kernel's netlink attributes, printed like `nft list chain`. PRIVATE to the collection.

Numbers: Linux include/uapi/linux/netfilter/nf_tables.h. An expression that matches packets is printed by its name only,
to show that the rule is not for every packet.
"""

import struct

_VERDICTS = {0: "drop", 1: "accept", -1: "continue", -3: "jump", -4: "goto", -5: "return"}
_STATEMENTS = {"masq": "masquerade", "redir": "redirect", "reject": "reject", "notrack": "notrack"}


def rule_text(expressions, attributes_of):
    """The words of a rule; `expressions` [(name, {attribute: bytes})], `attributes_of(bytes)`: nested ones."""
    words = [_words(name, attributes, attributes_of) for name, attributes in expressions]
    return " ".join(word for word in words if word)


def _words(name, attributes, attributes_of):
    if name in _STATEMENTS:
        return _STATEMENTS[name]
    if name == "comment":
        return 'comment "%s"' % attributes[1].rstrip(b"\0").decode("utf-8", "replace").replace('"', "'")
    if name == "counter":
        return "counter packets %d bytes %d" % (_count(attributes.get(2)), _count(attributes.get(1)))
    if name == "nat":
        return "dnat" if _number(attributes.get(1)) == 1 else "snat"
    if name == "lookup":
        # For a verdict map, NFTA_LOOKUP_DREG is register 0, the verdict.
        text = attributes.get(1, b"").rstrip(b"\0").decode("utf-8", "replace")
        return ("vmap @%s" if _number(attributes.get(3)) == 0 else "@%s") % text
    if name == "immediate":
        if _number(attributes.get(1)) != 0:
            return ""
        verdict = dict(attributes_of(dict(attributes_of(attributes.get(2, b""))).get(2, b"")))
        chain = verdict.get(2, b"").rstrip(b"\0").decode("utf-8", "replace")
        return " ".join([_VERDICTS.get(_number(verdict.get(1)), "verdict")] + ([chain] if chain else []))
    return name


def _count(value):
    return struct.unpack("!Q", value)[0] if value is not None and len(value) == 8 else 0


def _number(value):
    return struct.unpack("!i", value)[0] if value is not None and len(value) == 4 else None
