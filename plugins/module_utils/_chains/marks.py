# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the mark that kube-proxy's rules set is the one they look for. PRIVATE to the collection.

The bit is configurable (masqueradeBit of kube-proxy, iptablesMasqueradeBit of kubelet up to 1.27), so any is right as long as it is the
same everywhere. Both programs may set one of their own, then a packet carries both. Arithmetic: Linux net/netfilter/xt_mark.c.
"""

import re

from .observation import observe
from .proxy import has_proxy
from .rules import match_options
from .tables import chains_of

_MARK = re.compile(r"(0x[0-9a-f]{1,8}|\d{1,10})(?:/(0x[0-9a-f]{1,8}|\d{1,10}))?\Z")
_ALL = 0xffffffff


def ask_marks(rule_set, setting):
    """mark_mismatch of one rule set: what KUBE-MARK-MASQ marks is not masqueraded in KUBE-POSTROUTING, or not accepted in KUBE-FORWARD."""
    nat = chains_of(rule_set, "nat")
    if setting.mode not in (None, "iptables", "ipvs") or not nat or not has_proxy(rule_set):
        return
    mark = _marked(nat["KUBE-MARK-MASQ"].rules) if "KUBE-MARK-MASQ" in nat else None
    if mark is None:
        return
    filters = chains_of(rule_set, "filter") or {}
    for table, chains, chain, find, why in (("nat", nat, "KUBE-POSTROUTING", _unmasqueraded, "what it marks is not masqueraded"),
                                            ("filter", filters, "KUBE-FORWARD", _unaccepted, "what it marks is not accepted")):
        rule = find(chains[chain].rules, mark) if chain in chains else None
        if rule is not None:
            yield observe("mark_mismatch", rule_set, table, chain, rule.text, 1, "KUBE-MARK-MASQ sets the mark 0x%x: %s" % (mark, why))


def _marked(rules):
    """The mark a packet without one has behind these rules; None where it cannot be told, or where none sets it, which is told as that."""
    mark = 0 if any(rule.target == "MARK" for rule in rules) else None
    for rule in rules:
        if rule.target == "MARK":
            mark = None if rule.has_match or mark is None else _changed(mark, rule)
    return mark


def _changed(mark, rule):
    for option, values, _negated in rule.arguments:
        found = _number(values)
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


def _unmasqueraded(rules, mark):
    """The rule of KUBE-POSTROUTING by which a packet with this mark leaves it as it is; None if there is none, or that is not certain."""
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
            # kube-proxy takes the mark away here, behind the RETURN of what has none.
            mark = _changed(mark, rule) if fits else None
        if mark is None or rule.target not in ("MARK", "MASQUERADE", "RETURN", None):
            return None
    return missed


def _unaccepted(rules, mark):
    """The first rule of KUBE-FORWARD that accepts by a mark, if none of them accepts this one."""
    marked = [rule for rule in rules if rule.target == "ACCEPT" and match_options(rule, "mark")]
    return marked[0] if marked and all(_fits(rule, mark) is False for rule in marked) else None


def _fits(rule, mark):
    """True if the rule is for packets with this mark, None if it looks at something else too."""
    for _option, values, negated in match_options(rule, "mark"):
        found = _number(values)
        if found is not None and (mark & found[1] == found[0]) is negated:
            return False
        if found is None:
            return None
    return True if not rule.options and all(name == "mark" for name, _options in rule.matches) else None


def _number(values):
    """(value, mask) of C(0x4000/0x4000)."""
    found = _MARK.match(values[0]) if values else None
    return (int(found.group(1), 0), int(found.group(2), 0) if found.group(2) else _ALL) if found else None
