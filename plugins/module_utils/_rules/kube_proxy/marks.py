# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether kube-proxy's rules match the same mark that they set. PRIVATE to the collection.

The bit is configurable (masqueradeBit of kube-proxy, iptablesMasqueradeBit of kubelet up to 1.27), so any bit is right
as long as it is the same everywhere. Each of the two programs may set a bit of its own; a packet then carries both.

Marks of packets as rules write them.

Arithmetic: Linux net/netfilter/xt_mark.c. iptables-save prints every option that sets a mark as `--set-xmark
value/mask`.

Tunnels whose mark holds the bit by which kubelet drops packets.

kubelet up to 1.27 drops packets with the mark 0x8000 in OUTPUT (kubernetes pkg/kubelet/kubelet_network_linux.go). A
tunnel marks its encrypted packets, to route them past itself: wg-quick with 51820, which is 0xca6c.
"""

import re

from ..observation import observe
from ..rules import match_options
from ..tables import chains_of, rules_in, rules_of, table_of
from .proxy import has_proxy

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


def ask_marks(rule_set, setting):
    """mark_mismatch of one rule set: what KUBE-MARK-MASQ marks is not masqueraded, or not accepted in KUBE-FORWARD."""
    nat, mark = chains_of(rule_set, "nat"), service_mark(rule_set)
    if setting.mode not in (None, "iptables", "ipvs") or mark is None or not has_proxy(rule_set):
        return
    for table, chains, chain, find, why in (
            ("nat", nat, "KUBE-POSTROUTING", _unmasqueraded, "what it marks is not masqueraded"),
            ("filter", chains_of(rule_set, "filter"), "KUBE-FORWARD", _unaccepted, "what it marks is not accepted")):
        rule = find(rules_in(chains, chain), mark)
        if rule is not None:
            yield observe("mark_mismatch", rule_set, table, chain, rule.text, 1,
                          "KUBE-MARK-MASQ sets the mark 0x%x: %s" % (mark, why))


def service_mark(rule_set):
    """The mark of packets that kube-proxy masquerades; None where it is not known, or not set (mark_mismatch)."""
    return mark_of(rules_in(chains_of(rule_set, "nat"), "KUBE-MARK-MASQ"))


def mark_of(rules):
    """The mark of an unmarked packet after these rules; None where it is not known, or where no rule sets one."""
    mark = 0 if any(rule.target == "MARK" for rule in rules) else None
    for rule in rules:
        if rule.target == "MARK":
            mark = None if rule.has_match or mark is None else changed_mark(mark, rule)
    return mark


def _unmasqueraded(rules, mark):
    """The rule of KUBE-POSTROUTING that certainly prevents masquerading of a packet with this mark, or None."""
    missed = None
    for rule in rules:
        fits = _fits(rule, mark)
        if rule.target == "MASQUERADE":
            if fits:
                return None
            missed = rule if fits is False else missed
        elif rule.target == "RETURN" and fits is not False:
            return rule if fits and rule.has_match else None
        elif rule.target == "MARK" and fits is not False:
            # kube-proxy clears the mark here, behind the RETURN for unmarked packets.
            mark = changed_mark(mark, rule) if fits else None
        if mark is None or rule.target not in ("MARK", "MASQUERADE", "RETURN", None):
            return None
    return missed


def _unaccepted(rules, mark):
    """The first rule of KUBE-FORWARD that accepts by a mark, if none of them accepts this one."""
    marked = [rule for rule in rules if rule.target == "ACCEPT" and match_options(rule, "mark")]
    return marked[0] if marked and all(_fits(rule, mark) is False for rule in marked) else None


def _fits(rule, mark):
    """True if the rule matches all packets with this mark, False if none of them, None if it has other matches too."""
    for _option, values, negated in match_options(rule, "mark"):
        found = mark_value(values)
        if found is not None and (mark & found[1] == found[0]) is negated:
            return False
        if found is None:
            return None
    return True if not rule.options and all(name == "mark" for name, _options in rule.matches) else None


_CHAIN = "KUBE-FIREWALL"


def ask_tunnel_marks(rule_set, setting):
    """mark_mismatch of one rule set: the rule of kubelet that drops the packets of a tunnel."""
    table = table_of(rule_set, "filter")
    dropping = [rule for rule in rules_of(table, _CHAIN) if rule.target == "DROP"]
    if not any(match_options(rule, "mark") for rule in dropping) or not _is_reached(rule_set, table):
        return
    for name, mark in setting.tunnel_marks():
        rule = next((rule for rule in dropping if _drops(rule, mark)), None)
        if rule is not None:
            yield observe("mark_mismatch", rule_set, "filter", _CHAIN, rule.text, 1,
                          "%s puts the mark 0x%x on its encrypted packets, and this rule of kubelet drops them" % (
                              name, mark))


def _drops(rule, mark):
    """Whether a rule drops all packets with a mark."""
    if rule.options or any(name not in ("mark", "comment") for name, _options in rule.matches):
        return False
    marks = [(mark_value(values), negated) for _option, values, negated in match_options(rule, "mark")]
    return bool(marks) and all(found is not None and (mark & found[1] == found[0]) is not negated
                               for found, negated in marks)


def _is_reached(rule_set, table):
    """Whether OUTPUT jumps to the chain, as kubelet has it; people paste the chain alone, too."""
    rules = rules_of(table, "OUTPUT")
    if any(rule.target == _CHAIN for rule in rules):
        return True
    return chains_of(rule_set, "filter") is None and not rules
