# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets of Services and pods that are dropped or rejected without a known reason. PRIVATE to the collection."""

import itertools

from ..kube_proxy.anchor_table import ANCHORS
from ..kube_proxy.lost_match import lost_rules
from ..kube_proxy.proxy import PORTALS, carries_services, has_proxy, is_portal
from ..model.rule import is_foreign
from ..observation import cut, observe
from ..rules import (
    REFUSALS, VERDICTS, ends_chain, is_limit, match_options, plain_value, port_ranges, states, to_local, uses,
)
from ..services.service_path import ask_service_path
from ..services.services import list_services
from ..tables import chains_of, rules_of, table_of
from .first_chains import accepts_pods, ask_first_chains, pardon_sets
from .owners import owner_of

# Addresses that offer no service to pods: a rule against them is good practice. 168.63.129.16 is Azure's virtual
# machine platform, which AKS blocks for pods.
_NEVER_SERVICES = ("127.", "168.63.129.16/", "169.254.", "224.", "239.", "240.", "255.255.255.255", "::1", "fe80:",
                   "ff0")
# Built-in chains that packets of Services pass.
_PASSED = ("PREROUTING", "FORWARD", "OUTPUT", "POSTROUTING")
# Programs that set the policy of FORWARD to DROP (moby libnetwork, ufw DEFAULT_FORWARD_POLICY, firewalld while it
# starts).
_SETTERS = (("docker", "Docker"), ("ufw", "ufw"), ("firewalld", "firewalld"))


def ask_drops(rule_set, setting, services=None):
    """unexpected_drop and forward_drop of one rule set; nothing where no traffic of Services or pods passes through it.

    `services`: [Service] of the node where they are known from another source than this rule set.
    """
    if not _serves(rule_set, setting, services):
        yield from _dropped(rule_set)
        return
    noted, judged, table = set(), {}, table_of(rule_set, "filter")
    rows = [_early(rule_set), _portals(rule_set, setting)]
    if table is not None:
        # A rule that accepts pod traffic may be in the part of a table that was not read.
        policy = _policy(rule_set, table) if chains_of(rule_set, "filter") is not None else ()
        rows += [_refusing_all(rule_set, table, setting), policy, ask_first_chains(rule_set, table, services)]
    for row in itertools.chain.from_iterable(rows):
        noted.add((row["table"], row["chain"], row["text"]))
        yield row
    if table is not None:
        judged = _judged(rule_set, table, services, setting)
        for chain in sorted(judged):
            for rule, doubted in zip(rules_of(table, chain), judged[chain]):
                if doubted:
                    yield observe("unexpected_drop", rule_set, "filter", chain, rule.text, 1,
                                  "refuses traffic to pods and Services%s" % (
                                      ", because %s is in its set" % doubted if isinstance(doubted, str) else ""))
        yield from _own(rule_set, table, setting)

    def is_noted(name, chain, index, rule):
        return (name == "filter" and chain in judged and judged[chain][index]) or (name, chain, cut(rule.text)) in noted
    yield from ask_service_path(rule_set, services, is_noted, setting.mode, setting.lacks)


def ask_policy(rule_set, setting):
    """forward_drop where only a part of table filter is known, and that part shows that no rule accepts pod traffic;
    otherwise dropped_by_policy: packets that the policy of FORWARD dropped, while a rule for pod traffic may exist."""
    table = table_of(rule_set, "filter")
    forward = table.chains.get("FORWARD") if table is not None else None
    if forward is None or forward.policy != "DROP" or chains_of(rule_set, "filter") is not None:
        return
    if _is_whole(table, forward) and not accepts_pods(table, forward.rules):
        yield from _policy(rule_set, table)
    else:
        yield observe("dropped_by_policy", rule_set, "filter", "FORWARD", ":FORWARD DROP", 1,
                      "policy DROP of FORWARD%s; whether a rule accepts pod traffic is not known, because only a part "
                      "of table filter was read" % (" has dropped %d packet%s" % (
                          forward.packets, "" if forward.packets == 1 else "s") if forward.packets else ""))


def _is_whole(table, forward):
    """Whether all rules of FORWARD were read, as rules of a later chain were, and lead to no chain that accepts
    pods."""
    after = list(table.chains)[list(table.chains).index("FORWARD") + 1:]
    return any(table.chains[name].rules for name in after) and all(
        rule.target in VERDICTS or owner_of(rule.target or "", "filter") in ("kube_proxy", "kubelet", "docker")
        for rule in forward.rules)


def _dropped(rule_set):
    """forward_drop of a dump whose policy dropped packets, or drops all: one without any chain of Kubernetes, as after
    iptables -F, or one of IPv6 without Services, whose pods people ask about. With chains of kubelet alone kube-proxy
    writes to the other backend."""
    table = table_of(rule_set, "filter") if rule_set.source != "live" else None
    forward = table.chains.get("FORWARD") if table is not None and chains_of(rule_set, "filter") is not None else None
    return _policy(rule_set, table) if forward is not None and (forward.packets or not forward.rules or any(
        name.startswith("KUBE-") for name in table.chains)) else ()


def _serves(rule_set, setting, services):
    """True if traffic of Services or pods passes here. In IPv6 kube-proxy has chains even without Services."""
    if rule_set.family == "ipv6":
        return carries_services(rule_set) or any(service.family == "ipv6" for service in services or ())
    return has_proxy(rule_set) or setting.mode is not None or _leads_to_proxy(rule_set)


def _leads_to_proxy(rule_set):
    """True if FORWARD jumps to a chain of kube-proxy: people paste that chain alone."""
    return any(owner_of(rule.target or "", "filter") == "kube_proxy"
               for rule in rules_of(table_of(rule_set, "filter"), "FORWARD"))


def _early(rule_set):
    """Drops before table filter, or after it, in tables that usually filter nothing."""
    for name in ("raw", "mangle"):
        table = table_of(rule_set, name)
        for chain in _PASSED:
            rules = rules_of(table, chain)
            end = next((rule for rule in rules if ends_chain(rule)), None)
            if end is not None and end.target in REFUSALS:
                count = sum(1 for rule in rules if rule.target in REFUSALS and not rule.has_match)
                yield observe("unexpected_drop", rule_set, name, chain, end.text, count,
                              "refuses all packets, Service traffic too")


def _portals(rule_set, setting):
    """A verdict in nat KUBE-SERVICES or KUBE-NODEPORTS; a RETURN after all other rules has no effect."""
    table = table_of(rule_set, "nat")
    for chain in PORTALS:
        rules = rules_of(table, chain)
        if not any(rule.target in VERDICTS for rule in rules) or not is_portal(rules, setting):
            continue
        folded, last = table.services.rules_in(chain), len(rules) - 1
        bare = matched = None
        bare_count = matched_count = 0
        for index, rule in enumerate(rules):
            if rule.target not in VERDICTS:
                continue
            if rule.has_match:
                matched, matched_count = matched or rule, matched_count + 1
            elif rule.target != "RETURN" or index < last or folded > rule.folded_before:
                bare, bare_count = bare or rule, bare_count + 1
        if bare:
            yield observe("unexpected_drop", rule_set, "nat", chain, bare.text, bare_count,
                          "packets do not reach the virtual addresses after it")
        if matched:
            yield observe("unexpected_drop", rule_set, "nat", chain, matched.text, matched_count,
                          "it hides the Services behind it from packets that it matches")


def _judged(rule_set, table, services, setting):
    """{chain: [for each rule whether it is a refusal of unknown purpose]} of the built-in chains in which each such
    rule is unexpected; for a rule that names a set the address of an endpoint that is in it.

    Where Services are known, INPUT and OUTPUT are left out: packets to the Services show whether a rule there refuses
    them. A rule of FORWARD that names one source is the ban of a client, if no endpoint has that address.
    """
    def known():
        return list_services(rule_set) if services is None else services
    judged = {chain: [rule.target in REFUSALS and rule.has_match and not _is_known(rule, chain)
                      for rule in rules_of(table, chain)] for chain in ("FORWARD", "INPUT", "OUTPUT")}
    _pardon_clients(rules_of(table, "FORWARD"), judged["FORWARD"], known)
    pardon_sets(rules_of(table, "FORWARD"), judged["FORWARD"], setting, known)
    if any(judged["INPUT"] + judged["OUTPUT"]) and known():
        del judged["INPUT"], judged["OUTPUT"]
    return judged


def _pardon_clients(rules, judged, services):
    """Removes the bans of clients from `judged`; `services()` returns [Service], or None where they are not known."""
    serving = None
    for index, rule in enumerate(rules):
        # Options of a packed rule are parsed at each access.
        address, _slash, bits = (judged[index] and plain_value(rule, "-s") or "").partition("/")
        if bits not in ("32", "128"):
            continue
        if serving is None:
            known = services()
            # Without `deep`, chains of endpoints of a large cluster in nftables mode are not read.
            if known is None or any(service.endpoints is None for service in known):
                return
            serving = {endpoint[0] for service in known for endpoint in service.endpoints}
        judged[index] = address in serving


def _refusing_all(rule_set, table, setting):
    for chain in ("INPUT", "FORWARD", "OUTPUT"):
        rules = rules_of(table, chain)
        index, count = _bare(chain, rules, setting)
        known = count and (chain != "FORWARD" or chains_of(rule_set, "filter") is not None
                           or not _leads_on(table, rules[:index]) or accepts_pods(table, rules[index:]))
        why = _why(table, chain, rules, index) if known else None
        if why:
            yield observe("unexpected_drop", rule_set, "filter", chain, rules[index].text, count, why)
    if chains_of(rule_set, "filter") is None:
        yield from _in_first_chains(rule_set, table)


def _in_first_chains(rule_set, table):
    """The same in the chains that FORWARD jumps to with all packets, where people paste these chains alone."""
    rules = rules_of(table, "FORWARD")
    for at, jump in enumerate(rules):
        owner = owner_of(jump.target or "", "filter")
        inner = rules_of(table, jump.target) if not jump.has_match and owner in ("docker", "other") else []
        index = next((index for index, rule in enumerate(inner)
                      if rule.target in REFUSALS and not rule.has_match), None)
        if index is not None and not accepts_pods(table, rules[:at]) and not accepts_pods(table, inner[:index]):
            yield observe("unexpected_drop", rule_set, "filter", jump.target, inner[index].text, 1,
                          "refuses all forwarded packets, and no rule before it accepts pod traffic")


def _bare(chain, rules, setting):
    """(index of the first rule that refuses all packets, their number), without those before an anchor."""
    anchors = {anchor.target for anchor in ANCHORS.get(setting.mode, ())
               if (anchor.table, anchor.chain) == ("filter", chain)}
    first, count = None, 0
    for index, rule in enumerate(rules):
        if rule.target in anchors:
            first, count = None, 0
        if rule.target in REFUSALS and not rule.has_match:
            first, count = index if first is None else first, count + 1
    return first, count


def _leads_on(table, rules):
    """True where a rule jumps to a chain of another program, which a truncated table may show only a part of."""
    return any(rule.target in table.chains and owner_of(rule.target, "filter") not in ("kube_proxy", "kubelet")
               for rule in rules)


def _why(table, chain, rules, index):
    """Why a rule that refuses all packets is unexpected, or None."""
    if chain == "FORWARD":
        if accepts_pods(table, rules[:index]):
            return None
        return "refuses all forwarded packets, and %s" % (
            "the rules that accept pod traffic stand behind it" if accepts_pods(table, rules[index:])
            else "no rule before it accepts pod traffic")
    # The last rule of a host's firewall is its default; a rule after it would have no effect.
    return "refuses all packets, so the rules after it have no effect" if index < len(rules) - 1 else None


def _is_known(rule, chain):
    """True for a rule that does not concern traffic of Services, or whose mark or set another program decided on."""
    limited = states(rule)
    destination = plain_value(rule, "-d")
    of_others = uses(rule, "mark") or uses(rule, "rpfilter") or is_limit(rule)
    if (limited and "NEW" not in limited) or (destination or "").startswith(_NEVER_SERVICES) or of_others:
        return True
    if chain != "FORWARD":
        # A host's firewall may refuse any port, source and interface; only a destination may be a Service address.
        return destination is None or port_ranges(rule) is not None or plain_value(rule, "-s") is not None
    interfaces = [plain_value(rule, option) or "" for option in ("-i", "-o")]
    # Weave drops what its policy chain did not accept; no pods are behind the bridges of other programs.
    return any(name.startswith("weave") or is_foreign(name) for name in interfaces)


def _own(rule_set, table, setting):
    """Refusals in chains of kube-proxy and kubelet, except their own."""
    for chain in sorted(table.chains):
        if owner_of(chain, "filter") not in ("kube_proxy", "kubelet"):
            continue
        rules = table.chains[chain].rules
        lost = (rule for rule, _why_lost in lost_rules("filter", chain, rules, setting))
        next_lost = next(lost, None)
        for rule in rules:
            if rule == next_lost:
                next_lost = next(lost, None)
            elif rule.target in REFUSALS and not _is_own(chain, rule):
                yield observe("unexpected_drop", rule_set, "filter", chain, rule.text, 1,
                              "kube-proxy and kubelet write no such rule there")


def _is_own(chain, rule):
    if chain == "KUBE-FORWARD":
        return "INVALID" in states(rule)  # Since 1.31 it also has a counter of nfacct.
    if chain in ("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL"):
        return "-d" in rule.options or to_local(rule) or uses(rule, "set")
    if chain == "KUBE-METADATA-SERVER":
        return True  # Nodes of GCE hide the metadata server from pods (kubernetes cluster/gce/gci/configure-helper.sh).
    if chain == "KUBE-FIREWALL":
        # Marked packets up to 1.27, or packets to loopback addresses from other hosts.
        return bool(match_options(rule, "mark")) or (plain_value(rule, "-d") or "").startswith(("127.", "::1"))
    if chain == "KUBE-SOURCE-RANGES-FIREWALL":
        return not rule.has_match
    return chain in ("KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER") and (uses(rule, "set") or uses(rule, "ipvs"))


def _policy(rule_set, table):
    chain = table.chains.get("FORWARD")
    if (chain is None or chain.policy != "DROP" or accepts_pods(table, chain.rules)
            or any(ends_chain(rule) for rule in chain.rules)):
        return
    yield observe("forward_drop", rule_set, "filter", "FORWARD", ":FORWARD DROP",
                  detail="packets that no rule accepts are dropped%s, and no rule accepts pod traffic; %s" % (
                      " (%d packets so far)" % chain.packets if chain.packets else "", _setter(table)))


def _setter(table):
    """Which program sets the policy of FORWARD, as far as the chains of the table show."""
    owners = {owner_of(chain, "filter") for chain in table.chains}
    owners |= {owner_of(rule.target or "", "filter") for rule in rules_of(table, "FORWARD")}
    names = [name for owner, name in _SETTERS if owner in owners]
    if not names:
        return "no chain of Docker, ufw or firewalld, which set this policy, is in the table"
    return "chains of %s, which set%s this policy, are in the table" % (
        " and ".join(names), "" if names[1:] else "s")
