# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Missing DROP rules by which kube-proxy and kubelet protect Services and the node. PRIVATE to the collection.

Source: kubernetes pkg/proxy/iptables/proxier.go: from 1.25 on KUBE-PROXY-FIREWALL drops the packets that a KUBE-FW
chain did not accept. Before 1.25 the KUBE-FW chain marked them, and kubelet's KUBE-FIREWALL dropped them. KUBE-FIREWALL
protects addresses of the loopback interface, for which a node with route_localnet accepts packets from its neighbours
(pkg/kubelet/kubelet_network_linux.go; kube-proxy's own copy from 1.27 on).
"""

from ..backends import FAMILIES
from ..observation import observe
from ..rules import match_options, states, to_local
from ..services.services import addressed_jumps, refused_in
from ..setting import kubelet_since, proxy_since
from ..tables import chains_of, rules_in
from .anchor_table import KUBELET_CANARY
from .proxy import has_proxy

_FIREWALL, _OF_RANGES, _MARK_DROP = "KUBE-FIREWALL", "KUBE-PROXY-FIREWALL", "KUBE-MARK-DROP"
_LOCALNET_SINCE, _COPY_SINCE = (1, 20), (1, 27)


def ask_guards(rule_set, setting):
    """emptied_chain of one rule set: loadBalancerSourceRanges that are not enforced, unguarded loopback."""
    nat, filters = chains_of(rule_set, "nat"), chains_of(rule_set, "filter")
    if not nat or not filters:
        return []
    limited = [jump for jump in addressed_jumps(rule_set.tables["nat"])
               if jump[4].startswith("KUBE-FW-")] if setting.mode in (None, "iptables") else []
    found = []
    if limited and _OF_RANGES in filters:
        found = list(_unrefused(rule_set, filters, limited))
    elif limited and not proxy_since(setting, (1, 25)):
        found = list(_unmarked(rule_set, setting, nat, filters, limited))
    return found + list(_unguarded(rule_set, setting, nat, filters))


def _unrefused(rule_set, filters, limited):
    rules = filters[_OF_RANGES].rules
    refused = refused_in(rules)
    lost = sorted([(jump[5] or jump[4], jump[4]) for jump in limited if jump[1:4] not in refused])
    # A rule that lost its address or port is reported as lost_match.
    if len(lost) > sum(1 for rule in rules if rule.target == "DROP") - len(refused):
        yield observe("emptied_chain", rule_set, "filter", _OF_RANGES, "", len(lost),
                      "loadBalancerSourceRanges of %s are not enforced: no rule drops the packets that %s does not "
                      "accept"
                      % (lost[0][0].partition(" ")[0], lost[0][1]))


def _unmarked(rule_set, setting, nat, filters, limited):
    """The same for kube-proxy up to 1.24; the mark and the rule that drops it are kubelet's."""
    lost = sorted({jump[4] for jump in limited if jump[4] in nat and nat[jump[4]].rules
                   and not any(rule.target == _MARK_DROP for rule in nat[jump[4]].rules)})
    if lost:
        yield observe("emptied_chain", rule_set, "nat", lost[0], "", len(lost),
                      "loadBalancerSourceRanges are not enforced: the packets that it does not accept never reach %s"
                      % _MARK_DROP)
    elif setting.kubelet is not True:
        return
    elif _MARK_DROP in nat and not any(rule.target == "MARK" for rule in nat[_MARK_DROP].rules):
        yield observe("emptied_chain", rule_set, "nat", _MARK_DROP,
                      detail="loadBalancerSourceRanges are not enforced: none of its rules sets the mark")
    elif _FIREWALL in filters and not any(rule.target == "DROP" and (not rule.has_match or match_options(rule, "mark"))
                                          for rule in filters[_FIREWALL].rules):
        yield observe("emptied_chain", rule_set, "filter", _FIREWALL,
                      detail="loadBalancerSourceRanges are not enforced: no rule drops marked packets")


def _unguarded(rule_set, setting, nat, filters):
    """There is no such rule for IPv6."""
    if rule_set.family != "ipv4" or _FIREWALL not in filters:
        return
    since = kubelet_since(setting, _LOCALNET_SINCE)
    by_kubelet = (setting.kubelet is True and KUBELET_CANARY in (chains_of(rule_set, "mangle") or ())
                  and (since or since is None and _masks_marks(nat)))
    by_proxy = setting.mode == "iptables" and proxy_since(setting, _COPY_SINCE) and _serves_localhost(nat)
    if (by_kubelet or by_proxy) and not any(
            rule.target == "DROP" and (not rule.has_match or rule.options.get("-d", ("",))[0].startswith("127."))
            for rule in filters[_FIREWALL].rules):
        yield observe("emptied_chain", rule_set, "filter", _FIREWALL,
                      detail="packets of other hosts to 127.0.0.0/8 are not dropped: its rule for them is missing")


def _masks_marks(nat):
    """True where kubelet is 1.19 or newer: its chain for masquerading ends early for packets without the mark."""
    return any(rule.target == "RETURN" for rule in rules_in(nat, "KUBE-POSTROUTING"))


def _serves_localhost(nat):
    """True where NodePorts are served on 127.0.0.1 too (localhostNodePorts): the jump to them does not exclude it."""
    return any(rule.target == "KUBE-NODEPORTS" and to_local(rule) and not rule.options
               for rule in rules_in(nat, "KUBE-SERVICES"))


def ask_invalid(rule_sets, setting_by):
    """emptied_chain of KUBE-FORWARD without its rule against INVALID packets.

    kube-proxy does not write it where nf_conntrack_tcp_be_liberal was set when kube-proxy started. It starts both
    families together. So where that setting cannot be read, a family that has the rule proves that the other family
    lost it.
    """
    forwards = [(rule_set, rules_in(chains_of(rule_set, "filter"), "KUBE-FORWARD")) for rule_set in rule_sets
                if setting_by(rule_set).mode == "iptables" and has_proxy(rule_set)]
    having = {rule_set.family for rule_set, rules in forwards if _drops(rules)}
    for rule_set, rules in forwards:
        liberal = setting_by(rule_set).liberal
        if rules and not _drops(rules) and (liberal is False
                                            or (liberal is None and having.intersection(FAMILIES) - {rule_set.family})):
            yield observe("emptied_chain", rule_set, "filter", "KUBE-FORWARD",
                          detail="its rule that drops packets in the state INVALID is missing")


def _drops(rules):
    """True if a rule drops INVALID packets, or all of them, which is reported as lost_match."""
    return any(rule.target == "DROP" and (not rule.has_match or "INVALID" in states(rule)) for rule in rules)
