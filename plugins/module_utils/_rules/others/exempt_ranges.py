# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masquerading that exempts ranges in which no pod is. PRIVATE to the collection.

kubenet exempts one range (kubelet --non-masquerade-cidr, by default 10.0.0.0/8), ip-masq-agent several (by default the
private ones). They are to be the ranges of the cluster: what pods send there keeps the address of the pod, and what
they send to other places, to other pods too, loses it. Sources: kubernetes pkg/kubelet/dockershim/network/kubenet
(ensureMasqRule), kubernetes-sigs/ip-masq-agent cmd/ip-masq-agent.
"""

from ..addresses import range_of
from ..observation import observe
from ..rules import plain_value
from ..services.services import list_services
from ..tables import rules_of, table_of

_AGENTS = ("IP-MASQ-AGENT", "KIND-MASQ-AGENT")
_TRANSLATIONS = ("MASQUERADE", "SNAT")
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
    return any(rule.target in _TRANSLATIONS and plain_value(rule, "-s")
               and not (negated and interface.startswith(("docker", "br-"))) for rule in rules_of(table, "POSTROUTING")
               for interface, negated in [rule.options.get("-o", ("", False))])


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
