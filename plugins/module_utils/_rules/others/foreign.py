# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of others: jumps to chains of Services, missing masquerading, other plugins. PRIVATE to the collection.

The kernel deletes no chain that a rule leads to. Once the Service goes, kube-proxy wants to delete the chain,
iptables-restore refuses the whole input, and from then on every sync of that family fails (seen with 1.30 and 1.36; its
log names the chain, not the rule).

Rules of unknown programs that decide on packets that the node forwards or sends.

Whether they meet pods depends on what a dump does not show (sets, other programs' marks, limits, queues, addresses of
machines), so they are named and not judged. Rules for packets to the node itself (INPUT) are the host's own matter.

Masquerading that exempts ranges in which no pod is.

kubenet exempts one range (kubelet --non-masquerade-cidr, by default 10.0.0.0/8), ip-masq-agent several (by default the
private ones). They are to be the ranges of the cluster: what pods send there keeps the address of the pod, and what
they send to other places, to other pods too, loses it. Sources: kubernetes pkg/kubelet/dockershim/network/kubenet
(ensureMasqRule), kubernetes-sigs/ip-masq-agent cmd/ip-masq-agent.
"""

import itertools
import re

from ..kube_proxy.proxy import has_proxy
from ..model.rule import is_foreign
from ..observation import observe
from ..rules import REFUSALS, plain_value, port_ranges, range_of, states, to_local
from ..services.endpoints import PER_SERVICE
from ..services.services import list_services
from ..tables import BUILT_IN, chains_of, readable, rules_behind, rules_in, rules_of, table_of
from .owners import OTHER, owner_of

_DETAIL = "kube-proxy cannot delete %s when its Service is deleted; from then on each of its syncs of this family fails"
# The last pattern: one chain for each pod, where a CNI configuration has ipMasq.
_CHAIN = re.compile(r"(FLANNEL-POSTRTG|WEAVE|IP-MASQ-AGENT|KIND-MASQ-AGENT|CNI-[0-9a-f]{24})\Z")
# It stays, without a rule and without a jump to it, where AWS_VPC_K8S_CNI_EXTERNALSNAT is set.
_KEPT = "AWS-SNAT-CHAIN-0"
_TRANSLATIONS = ("MASQUERADE", "SNAT")
_PLUGINS = ("aws", "azure_npm", "calico", "cilium", "flannel", "kube_router", "weave")
_TOGETHER = frozenset(
    frozenset(pair) for pair in (
        ("calico", "flannel"), ("flannel", "kube_router"), ("aws", "calico"), ("aws", "cilium"), ("aws", "kube_router"),
        ("azure_npm", "calico"), ("azure_npm", "cilium"), ("azure_npm", "flannel")))
_CANAL = ("calico", "flannel")


def ask_foreign(rule_set, setting):
    """foreign_jump of one rule set: the first such rule of each chain, with their number."""
    table = table_of(rule_set, "nat")
    if table is None or setting.mode not in (None, "iptables"):
        return
    for chain in table.unfolded():
        if owner_of(chain, "nat") != "kube_proxy":
            rules = [rule for rule in table.chains[chain].rules if (rule.target or "").startswith(PER_SERVICE)]
            if rules:
                yield observe("foreign_jump", rule_set, "nat", chain, rules[0].text, len(rules),
                              _DETAIL % rules[0].target)


# Chains of network plugins that masquerade traffic that leaves the cluster.
# Only chains with no other purpose are listed: chains of Calico, Cilium and Antrea exist and are empty where pods keep
# their addresses. Sources: flannel-io/flannel pkg/trafficmngr/iptables, weaveworks/weave net,
# kubernetes-sigs/ip-masq-agent, kubernetes-sigs/kind images/kindnetd, containernetworking/plugins pkg/ip (SetupIPMasq),
# aws/amazon-vpc-cni-k8s pkg/networkutils.
def ask_masquerade(rule_set, _setting):
    """masquerade_missing of one rule set: one for chains that masquerade nothing, one for chains without a jump."""
    chains = chains_of(rule_set, "nat")
    if chains is None:
        yield from _unreferenced(rule_set)
        return
    names = sorted(name for name in chains or () if _CHAIN.match(name) or name == _KEPT)
    if not names:
        return
    reached = {rule.target for rule in rules_in(chains, "POSTROUTING")}
    empty = [name for name in names if not _translates(chains, name) and (name != _KEPT or name in reached)]
    lost = [name for name in names if name not in reached and name not in empty and name != _KEPT]
    for found, detail in ((empty, "none of its rules masquerades"), (lost, "no rule of POSTROUTING jumps to it")):
        if found:
            yield observe("masquerade_missing", rule_set, "nat", found[0], "", len(found), detail)


def _unreferenced(rule_set):
    """The same of a listing of single chains: iptables prints how many rules lead to each."""
    table = table_of(rule_set, "nat")
    lost = sorted(name for of, name in rule_set.unreferenced if table is not None and of == "nat" and _CHAIN.match(name)
                  and name in table.chains and _translates(table.chains, name))
    if lost:
        yield observe("masquerade_missing", rule_set, "nat", lost[0], "", len(lost),
                      "no rule of POSTROUTING jumps to it (0 references)")


def _translates(chains, name):
    """True if a rule of the chain, or of one it leads to, gives packets another source."""
    return any(rule.target in _TRANSLATIONS for rule in rules_behind(chains, name))


# Chains of two network plugins on one node.
# A plugin that was replaced leaves its chains, with jumps from the built-in ones and its refusals, until the node
# reboots. Some plugins work together: Canal is Calico with Flannel, k3s is Flannel with the policies of kube-router,
# and on AWS and Azure another plugin may add policies. Sources: projectcalico docs (Canal), k3s docs (networking),
# Cilium docs (CNI chaining), amazon-vpc-cni-k8s, azure-container-networking.
def ask_other_cni(rule_sets):
    """other_cni: for each two plugins that do not work together, the plugin with fewer rules; of flannel and Calico the
    former, which Calico replaces by a migration of its own. Only the configuration of the network plugin distinguishes
    such a node from Canal, so the check asks for it where a detail names Canal."""
    held = {}
    for rule_set in rule_sets:
        for name, table in readable(rule_set):
            counts = table.rule_counts()
            for chain in sorted(chain for chain in table.chains if counts.get(chain) and chain not in BUILT_IN):
                owner = owner_of(chain, name)
                if owner in _PLUGINS:
                    held.setdefault(owner, []).append((rule_set, name, chain, counts[chain]))
    for pair in itertools.combinations(sorted(held), 2):
        if frozenset(pair) not in _TOGETHER or pair == _CANAL and _masquerades(held["calico"]):
            fewer, more = sorted(pair, key=lambda owner: (pair == _CANAL and owner == "calico",
                                                          sum(row[3] for row in held[owner]), owner))
            rule_set, table, chain, _count = held[fewer][0]
            # At the beginning, because the end of a detail may be cut.
            detail = "%sone of these network plugins is not in use any more: %s, %s" % (
                "unless this is Canal, " if pair == _CANAL else "", _sum(fewer, held), _sum(more, held))
            yield observe("other_cni", rule_set, table, chain, "", len(held[fewer]), detail)


def _masquerades(rows):
    """Whether Calico masquerades for its pools of addresses, as where it has the network of pods. In Canal flannel has
    that network, but calico-node makes a default pool there too, unless NO_DEFAULT_POOLS is set (projectcalico/calico
    node/pkg/lifecycle/startup configureIPPools(), manifests/canal.yaml)."""
    return any(chain == "cali-nat-outgoing" for _rule_set, _table, chain, _count in rows)


def _sum(owner, held):
    chains, rules = len(held[owner]), sum(row[3] for row in held[owner])
    return "%d chain%s of %s with %d rule%s" % (chains, "" if chains == 1 else "s", owner, rules,
                                                "" if rules == 1 else "s")


_HOOKS = ("PREROUTING", "FORWARD", "OUTPUT", "POSTROUTING")
_DECIDES = {"SNAT": "gives packets another source", "NETMAP": "gives packets another network",
            "DNAT": "sends packets to another address", "REDIRECT": "sends packets to a program of this node",
            "TPROXY": "sends packets to a program of this node", "NFQUEUE": "hands packets to a program",
            "QUEUE": "hands packets to a program"}
# Metadata and platform of clouds, multicast and broadcast.
_PLATFORM = ("169.254.169.254/", "168.63.129.16/", "224.", "239.", "240.", "255.255.255.255")
# Of one chain; a list of banned addresses may have thousands.
_MOST = 4


def ask_path_rules(rule_set, setting):
    """other_rule of one rule set: the first rules of each chain, the last of them with the number of the rest."""
    if rule_set.source == "live" and not has_proxy(rule_set) and setting.mode is None:
        return
    for name in ("raw", "mangle", "nat", "filter"):
        table = table_of(rule_set, name)
        for chain in _chains(table, name) if table is not None else ():
            found = [rule for rule in table.chains[chain].rules if _decides(rule, name)]
            for number, rule in enumerate(found[:_MOST], 1):
                yield observe("other_rule", rule_set, name, chain, rule.text, len(found) - _MOST + 1
                              if number == _MOST else 1, _DECIDES.get(rule.target, "refuses packets"))


def _chains(table, name):
    """The built-in chains of the path and the chains of unknown owners that they lead to."""
    found = dict.fromkeys(chain for chain in _HOOKS if chain in table.chains)
    waiting = list(found)
    while waiting:
        targets = dict.fromkeys(rule.target for rule in table.chains[waiting.pop(0)].rules
                                if rule.target in table.chains)
        new = [target for target in targets if target not in found and owner_of(target, name) == OTHER]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _decides(rule, table):
    """Whether a rule may decide on a packet of a pod: no rule for invalid packets, for interfaces of other programs and
    of Weave, for the machine's platform, and none that a packet of the node itself or one address is meant by. Drops
    that refuse all packets are judged (drops.py)."""
    limited, given = states(rule), [rule.options.get(option) for option in ("-i", "-o")]
    if (rule.target not in _DECIDES and (rule.target not in REFUSALS or not rule.has_match)
            or limited and set(limited) == {"INVALID"} or (plain_value(rule, "-d") or "").startswith(_PLATFORM)
            or any(value and (is_foreign(value[0]) or value[0] == "weave") for value in given)):
        return False
    return table != "nat" or rule.target == "SNAT" or not (
        to_local(rule) or plain_value(rule, "-d") or rule.target == "REDIRECT" and port_ranges(rule))


_AGENTS = ("IP-MASQ-AGENT", "KIND-MASQ-AGENT")
# No pods are in these ranges.
_OF_NO_PODS = ("127.", "169.254.", "224.", "240.", "255.255.255.255", "ff0", "fe80:", "::1")
_HARMLESS = ("addrtype", "comment")
# Its pods are never in the network of the host.
_DNS = "kube-system/kube-dns:"


def ask_exempt_ranges(rule_set, setting):
    """masquerade_missing of one rule set, with the rule as its text: pods are in none of the exempt ranges."""
    table = table_of(rule_set, "nat")
    for chain in ("POSTROUTING",) + _AGENTS:
        found = _exempted(rules_of(table, chain), chain)
        if not found or _masqueraded(table):
            continue
        rule, ranges = found
        pods = _pods_outside(rule_set, setting, [range_of(text) for text in ranges])
        if pods:
            yield observe("masquerade_missing", rule_set, "nat", chain, rule.text, 1,
                          "what pods send to %s keeps the address of the pod, as if pods were there; %s" % (
                              ", ".join(ranges[:4]), pods))


def _exempted(rules, chain):
    """(the rule that masquerades all others, [text of the ranges that it or rules before it exempt]), or None."""
    ranges = []
    for rule in rules:
        destination, negated = rule.options.get("-d", (None, False))
        if rule.target in ("RETURN", "ACCEPT") and destination and not negated:
            ranges.append(destination)
        elif rule.target in _TRANSLATIONS and not set(rule.options) - {"-d"} and (negated or not destination) and all(
                name in _HARMLESS for name, _options in rule.matches):
            ranges += [destination] if negated else []
            meant = [text for text in ranges if not text.startswith(_OF_NO_PODS)]
            return (rule, meant) if meant and (negated or chain in _AGENTS) and all(map(range_of, meant)) else None
        elif rule.target in ("RETURN", "ACCEPT"):
            return None
    return None


def _masqueraded(table):
    """Whether a rule of its own, not Docker's, masquerades a network, such as that of pods."""
    return any(rule.target in _TRANSLATIONS and plain_value(rule, "-s") and not _is_of_docker(rule)
               for rule in rules_of(table, "POSTROUTING"))


def _is_of_docker(rule):
    interface, negated = rule.options.get("-o", ("", False))
    return negated and interface.startswith(("docker", "br-"))


def _pods_outside(rule_set, setting, ranges):
    """Which pods are in none of the ranges, as a clause; an empty text where that is not certain."""
    for name, network in setting.pod_networks():
        found = range_of(network)
        if found and (":" in network) == (rule_set.family == "ipv6"):
            return "" if any(_share(found, other) for other in ranges) else (
                "the pods of this node have addresses in %s, on %s" % (network, name))
    services = list_services(rule_set) or ()
    ends = sorted({end[0] for service in services for end in service.endpoints or ()})
    dns = sorted({end[0] for service in services if (service.name or "").startswith(_DNS)
                  for end in service.endpoints or ()} - set(setting.addresses()))
    if not dns or any(_share(range_of(end), other) for end in ends for other in ranges):
        return ""
    return "the pods of kube-system/kube-dns have addresses such as %s" % dns[0]


def _share(one, other):
    return one is None or (one[0] <= other[1] and other[0] <= one[1])
