# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The jumps out of built-in chains to kube-proxy and kubelet, by mode and version. PRIVATE to the collection.

Source: the jump tables of kubernetes pkg/proxy/iptables/proxier.go and pkg/proxy/ipvs/proxier.go, 1.16 to 1.30.
`since`: the first version that has it for certain, None for all; `until`: the first version that no longer has it.

Which versions of kube-proxy may have written these rules.

Where the version is not known the rules decide: only kube-proxy up to 1.19 jumps from INPUT to KUBE-SERVICES, and only
up to 1.18 one rule of KUBE-POSTROUTING both matches the mark and masquerades (kubernetes pkg/proxy/iptables/proxier.go,
pkg/proxy/ipvs/proxier.go). Chains and jumps that came with a version show that kube-proxy is not older. An unknown
version is never judged as the newest.
"""

import collections

from ..rules import uses
from ..setting import proxy_since
from ..tables import rules_of, table_of

Anchor = collections.namedtuple("Anchor", ("table", "chain", "target", "since", "until"))
Anchor.__new__.__defaults__ = (None,)


def _anchors(table, target, since, *chains):
    return tuple(Anchor(table, chain, target, since) for chain in chains)


_BOTH = _anchors("nat", "KUBE-SERVICES", None, "PREROUTING",
                 "OUTPUT") + _anchors("nat", "KUBE-POSTROUTING", None, "POSTROUTING")

ANCHORS = {
    "iptables": (
        _BOTH
        + _anchors("filter", "KUBE-EXTERNAL-SERVICES", (1, 11), "INPUT")
        + _anchors("filter", "KUBE-EXTERNAL-SERVICES", (1, 20), "FORWARD")
        + (Anchor("filter", "INPUT", "KUBE-SERVICES", (1, 14), (1, 20)),)
        + _anchors("filter", "KUBE-SERVICES", (1, 14), "FORWARD")
        + _anchors("filter", "KUBE-SERVICES", None, "OUTPUT")
        + _anchors("filter", "KUBE-FORWARD", (1, 9), "FORWARD")
        # In 1.20 the chain is in nat only; what 1.21 has is not known.
        + _anchors("filter", "KUBE-NODEPORTS", (1, 22), "INPUT")
        + _anchors("filter", "KUBE-PROXY-FIREWALL", (1, 25), "INPUT", "FORWARD", "OUTPUT")
        # kube-proxy's own copy of kubelet's chain; in IPv6 and with localhostNodePorts off it is empty but jumped to.
        + _anchors("filter", "KUBE-FIREWALL", (1, 27), "INPUT", "OUTPUT")),
    "ipvs": (
        _BOTH
        + _anchors("filter", "KUBE-FORWARD", None, "FORWARD")
        + _anchors("filter", "KUBE-NODE-PORT", (1, 22), "INPUT")
        + _anchors("filter", "KUBE-PROXY-FIREWALL", (1, 25), "INPUT", "FORWARD")
        + _anchors("filter", "KUBE-IPVS-FILTER", (1, 26), "INPUT")
        + _anchors("filter", "KUBE-IPVS-OUT-FILTER", (1, 29), "OUTPUT"))}


def comes_with(mode, anchor):
    """True if the target is not older than this jump, so that each version with the chain has the jump."""
    return not any(other[0] == anchor.table and other[2] == anchor.target
                   and (other.since or ()) < (anchor.since or ()) for other in ANCHORS[mode])


# The jumps of kubelet, in every version, wherever it has created the chain (makeIPTablesUtilChains).
KUBELET = _anchors("filter", "KUBE-FIREWALL", None, "INPUT", "OUTPUT")

# Targets in the order of the damage if no rule jumps to them, worst first: chains for all Services and their replies,
# NodePorts, one Service (any other chain of nat), packets that a DROP policy of FORWARD would drop, packets to Services
# that filter refuses. In other tables all targets rank alike.
_NAT = ("KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-NODEPORTS")
_FILTER = ("KUBE-FORWARD", "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-NODE-PORT", "KUBE-EXTERNAL-SERVICES",
           "KUBE-PROXY-FIREWALL")


def breakage(table, chain, text):
    """The rank of a missing anchor in that order, 0 for the worst; `text` is the missing rule, or empty."""
    target = text.rpartition(" -j ")[2] or chain
    known = _NAT if table == "nat" else _FILTER
    return (table == "filter") * 10 + (known.index(target) if target in known else len(known))


# Of kube-proxy in iptables mode; ipvs and nftables mode have none.
CANARY, CANARY_SINCE = "KUBE-PROXY-CANARY", (1, 17)
CANARY_TABLES = ("mangle", "nat", "filter")

# Of kubelet, in mangle: the chain that shows its backend (kubernetes enhancement 3178), and its canary.
HINT, HINT_SINCE = "KUBE-IPTABLES-HINT", (1, 24)
KUBELET_CANARY = "KUBE-KUBELET-CANARY"


# Chains that only newer versions create: beside them a jump that remained after an upgrade proves nothing.
_NEWER = (("filter", ("KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL", "KUBE-NODE-PORT")), ("nat", ("KUBE-EXT-", "KUBE-SVL-")))
_1_20 = (1, 20)
# (version, table, chain): kube-proxy creates that chain from this version on.
_CAME = (((1, 29), "filter", "KUBE-IPVS-OUT-FILTER"), ((1, 26), "filter", "KUBE-IPVS-FILTER"),
         ((1, 25), "filter", "KUBE-PROXY-FIREWALL"), ((1, 21), "filter", "KUBE-NODEPORTS"),
         ((1, 21), "filter", "KUBE-NODE-PORT"), ((1, 17), "mangle", CANARY), ((1, 17), "nat", CANARY),
         ((1, 17), "filter", CANARY))
# (version, target): from this version on, FORWARD of table filter jumps to that chain.
_FORWARDED = (((1, 20), "KUBE-EXTERNAL-SERVICES"), ((1, 14), "KUBE-SERVICES"))


def is_before_1_20(rule_set, setting):
    """True if the version or the rules prove it; False if it is not known."""
    newer = proxy_since(setting, _1_20)
    return not newer if newer is not None else _looks_old(rule_set)


def writes(rule_set, setting, since, until):
    """Whether kube-proxy writes what exists from version `since` on and before `until` (or None); None: not known."""
    ended = None if until is None else proxy_since(setting, until)
    if ended or (until is not None and ended is None and not is_before_1_20(rule_set, setting)):
        return False
    return True if since is None else is_since(rule_set, setting, since)


def is_since(rule_set, setting, version):
    """As proxy_since(); where the version is not known, the rules of kube-proxy may show it."""
    known = proxy_since(setting, version)
    if known is None and _shows(rule_set, version):
        return True
    return False if known is None and version >= _1_20 and is_before_1_20(rule_set, setting) else known


def _shows(rule_set, version):
    """True if a chain or a jump proves that kube-proxy has at least this version."""
    tables = {name: getattr(table_of(rule_set, name), "chains", ()) for name in ("filter", "mangle", "nat")}
    forwarded = {rule.target for rule in rules_of(table_of(rule_set, "filter"), "FORWARD")}
    return (any(first >= version and chain in tables[name] for first, name, chain in _CAME)
            or any(first >= version and target in forwarded for first, target in _FORWARDED))


def masquerades_by_mark(rule):
    """True for the one rule of KUBE-POSTROUTING up to 1.18."""
    return rule.target == "MASQUERADE" and uses(rule, "mark")


def _looks_old(rule_set):
    if any(chain.startswith(names) for name, names in _NEWER
           for chain in getattr(table_of(rule_set, name), "chains", ())):
        return False
    table = table_of(rule_set, "filter")
    return (any(rule.target == "KUBE-SERVICES" for rule in rules_of(table, "INPUT"))
            and not any(rule.target == "KUBE-EXTERNAL-SERVICES" for rule in rules_of(table, "FORWARD"))
            or any(map(masquerades_by_mark, rules_of(table_of(rule_set, "nat"), "KUBE-POSTROUTING"))))
