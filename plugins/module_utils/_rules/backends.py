# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each iptables backend holds, and whether rules of the two backends conflict. PRIVATE to the collection.

The kernel passes every packet through the rules of both backends, and a DROP in either is final. So rules left in the
other backend still act, and a listing of one backend does not show them.
"""

from .others.owners import KUBERNETES, owner_of

BACKENDS = ("nft", "legacy")
FAMILIES = ("ipv4", "ipv6")
# A backend has more than empty tables if it has one of these: rules, or marks (chains without rules by which other
# programs detect the backend of the node).
_CONTENT = ("rules", "drops", "hint", "kubelet_canary", "proxy_canary")
# Canaries are in three tables, the hint is in mangle (kubernetes pkg/util/iptables).
_MARKS = {"hint": "KUBE-IPTABLES-HINT", "kubelet_canary": "KUBE-KUBELET-CANARY", "proxy_canary": "KUBE-PROXY-CANARY"}


def backend_evidence(rule_sets, unread=()):
    """`{"sets", "kubelet_backend", "kube_proxy_backend", "mixing"}` of one reading of the kernel.

    `unread` lists the (backend, family, why) of rules that could not be read. In a set that is not readable, the
    numbers count only the rules that were read, and a mark that was not seen has the value None instead of False.
    """
    sets = [_set_of(rules) for rules in rule_sets if rules.backend in BACKENDS and rules.family in FAMILIES]
    known = {(row["backend"], row["family"]) for row in sets}
    for backend, family, _why in unread:
        if (backend, family) not in known:
            known.add((backend, family))
            sets.append(dict(_nothing(backend, family), readable=False, rules=None, kube_rules=None, drops=None,
                             **dict.fromkeys(_MARKS)))
    for row in sets:
        if any((row["backend"], row["family"]) == where[:2] for where in unread):
            _doubt(row)
    kubelet = {family: _used(sets, family, lambda row: row["hint"] or row["kubelet_canary"]) for family in FAMILIES}
    proxy = {family: _used(sets, family, _marks_of_kube_proxy) for family in FAMILIES}
    verdict, because = judge_mixing(sets, kubelet, proxy, [why for _backend, _family, why in unread])
    rows = [{key: row[key] for key in row if key not in ("tables", "proxy_jumps")} for row in sets]
    return {
        "sets": sorted(rows, key=lambda row: (BACKENDS.index(row["backend"]), row["family"])),
        "kubelet_backend": kubelet, "kube_proxy_backend": proxy, "mixing": {"verdict": verdict, "because": because}}


def _nothing(backend, family):
    return {"backend": backend, "family": family, "readable": True, "rules": 0, "kube_rules": 0, "drops": 0,
            "tables": 0, "hint": False, "kubelet_canary": False, "proxy_canary": False, "proxy_jumps": False}


def _set_of(rules):
    row = _nothing(rules.backend, rules.family)
    tables = [(name, table) for name, table in sorted(rules.tables.items()) if name not in rules.unreadable]
    for name, table in tables:
        for chain, count in table.rule_counts().items():
            row["rules"] += count
            # On a big node most chains are of endpoints; `owner_of` is called for the others only.
            if chain.startswith("KUBE-SEP-") or (chain.startswith("KUBE-") and owner_of(chain, name) in KUBERNETES):
                row["kube_rules"] += count
        for chain in table.chains.values():
            row["drops"] += chain.policy == "DROP"
            for rule in chain.rules:
                row["drops"] += rule.target == "DROP"
                row["proxy_jumps"] = row["proxy_jumps"] or rule.target == "KUBE-SERVICES"
        for mark, chain in _MARKS.items():
            row[mark] = row[mark] or chain in table.chains
    row["tables"] = len(tables)
    if rules.unreadable or not all(table.complete for _name, table in tables):
        _doubt(row)
    return row


def _doubt(row):
    """Part of the set was not read, so a mark that was not seen may exist."""
    row["readable"] = False
    for mark in _MARKS:
        row[mark] = row[mark] or None


def _marks_of_kube_proxy(row):
    """True if packets reach rules of kube-proxy there. A backend that it left keeps the canary; ipvs mode has none."""
    return row["proxy_jumps"] or (row["proxy_canary"] and bool(row["kube_rules"]))


def _used(sets, family, marks):
    """nft, legacy, both or none; None where the backend is not known."""
    rows = [row for row in sets if row["family"] == family]
    found = [row["backend"] for row in rows if marks(row)]
    if len(found) > 1:
        return "both"
    return found[0] if found else "none" if all(row["readable"] for row in rows) else None


def judge_mixing(sets, kubelet, proxy, doubts):
    """(none | harmless | suspicious | conflicting | unknown, one sentence). `doubts`: why rules could not be read."""
    conflict = _conflict(sets, kubelet, proxy)
    if conflict:
        return "conflicting", conflict
    if doubts or not all(row["readable"] for row in sets):
        return "unknown", "not all rules could be read: %s" % (doubts or ["a table is incompatible with iptables, or a "
                                                                          "dump is damaged"])[0]
    held = [backend for backend in BACKENDS
            if any(row[key] for row in sets if row["backend"] == backend for key in _CONTENT)]
    if len(held) > 1:
        main = max(BACKENDS, key=lambda backend: (_total(sets, backend, "kube_rules"), _total(sets, backend, "rules")))
        other = BACKENDS[1 - BACKENDS.index(main)]
        return "suspicious", "there are %s and %s" % (_amount(sets, main), _amount(sets, other))
    empty = [backend for backend in BACKENDS if backend not in held and _total(sets, backend, "tables")]
    if held and empty:
        return "harmless", "the tables of the %s backend exist and are empty" % empty[0]
    return "none", "all rules are in the %s backend" % held[0] if held else "there are no rules"


def _amount(sets, backend):
    """A DROP policy is a verdict without a rule."""
    return "%d rules of the %s backend (%d of them of Kubernetes, %d DROP verdicts)" % (
        _total(sets, backend, "rules"), backend, _total(sets, backend, "kube_rules"), _total(sets, backend, "drops"))


def _total(sets, backend, key):
    return sum(row[key] or 0 for row in sets if row["backend"] == backend)


def _conflict(sets, kubelet, proxy):
    """A certain conflict, in one sentence, or None."""
    for family in FAMILIES:
        nft, legacy = [next((row for row in sets if (row["backend"], row["family"]) == (backend, family)), None)
                       for backend in BACKENDS]
        title = "IP" + family[2:]
        if kubelet[family] in BACKENDS and proxy[family] in BACKENDS and kubelet[family] != proxy[family]:
            return "kubelet has its %s chains in the %s backend, but kube-proxy has its own in the %s backend" % (
                title, kubelet[family], proxy[family])
        if nft and legacy and nft["kube_rules"] and legacy["kube_rules"]:
            return "%s rules of Kubernetes are in both backends: %d in nft, %d in legacy" % (title, nft["kube_rules"],
                                                                                             legacy["kube_rules"])
        if nft and legacy and nft["drops"] and legacy["drops"]:
            return "%s packets are dropped in both backends: %d DROP verdicts in nft, %d in legacy" % (
                title, nft["drops"], legacy["drops"])
    return None
