# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that have lost the match of their canonical form. PRIVATE to the collection.

iptables 1.8.7 prints rules of 1.8.9 without their marks and ports, and restores the rules as it printed them. A comment
that is still there proves nothing. Built-in chains are not judged: a rule without a match may be intended there, and a
native nft rule prints as one.
"""

import collections
import itertools
import re

from ..observation import observe
from ..others.owners import OF_SERVICES
from ..rules import REFUSALS, TRANSLATIONS, VERDICTS, match_options, plain_value, port_ranges, to_local, uses
from ..tables import BUILT_IN, readable
from .proxy import PORTALS, SERVICE_CHAIN, is_portal

# A match that nft shows, of a rule that iptables-save prints with its other matches.
# A pasted piece of the chain may lack the rule with the mark.
NO_MARK = "neither it nor a rule before it matches the mark: all traffic is masqueraded"
NO_PORT, NO_SET = "the destination port is missing", "the match of the ipset is missing"
_HINT = {"nft": "; nft list table may show a match that this iptables-save does not"}
# tables: names or None for any. inner: only where rules follow in the chain, because the last rule may be bare.
Form = collections.namedtuple("Form", ("tables", "chain", "targets", "inner"))


def ask_lost_match(rule_set, setting):
    """lost_match of one rule set, whatever mode runs here: the owner of a chain decides which rules are canonical.

    A verdict in the chain of a Service is reported as unexpected_drop; it is found here because this is the only pass
    over all chains.
    """
    hint = _HINT.get(rule_set.backend, "")
    for name, table in readable(rule_set):
        for chain in [chain for chain in table.unfolded() if chain not in BUILT_IN]:
            rules = table.chains[chain].rules
            if chain[:9] not in OF_SERVICES and not SERVICE_CHAIN.match(chain):
                kinds = [kind for kind in _of_chain(name, chain, rules, setting)
                         if table.chains[chain].declared or kind[-1] != NO_MARK]
            elif name == "nat":
                kinds = _of_service(table.services, chain, rules, setting)
            else:
                continue
            for kind, rule, count, why in kinds:
                yield observe(kind, rule_set, name, chain, rule.text, count, why + hint)


def _of_chain(table, chain, rules, setting):
    """(kind, rule, how many like it, why) of a chain that is not of a single Service."""
    for rule, why in lost_rules(table, chain, rules, setting):
        yield "lost_match", rule, 1, why
    if table == "nat" and chain in MARKING:
        for rule in rules:
            if rule.target == "MARK" and not any(rule.value(option) for option in MARK_ARGUMENTS):
                yield "lost_match", rule, 1, "the mark to set is missing"
    ports, jumps, refusals = [_targets(forms, table, chain) for forms in (PORT_FORMS, JUMP_FORMS, ADDRESS_FORMS)]
    sets = table == "nat" and chain in SET_CHAINS and setting.mode == "ipvs"
    portals = (table, chain) == ("nat", "KUBE-SERVICES") and is_portal(rules, setting)
    for why, applies, lacks in (
            (NO_PORT, ports, lambda rule: _lacks_port(rule, ports)),
            (NO_PORT, refusals, lambda rule: _refuses_all_ports(rule, refusals)),
            ("a jump to this chain always has a match here", jumps,
             lambda rule: not rule.has_match and _leads_to(rule, jumps)),
            ("the virtual address is missing", portals, _lacks_address),
            ("the source or the state is missing", (table, chain) == ("filter", "KUBE-FIREWALL"), _lacks_source),
            (NO_SET, sets, _lacks_set)):
        # A node has one such rule for each Service: the first stands for all.
        first, count = _first_of(lacks, rules) if applies else (None, 0)
        if first:
            yield "lost_match", first, count, why


def _first_of(is_one, rules):
    """(the first rule for which `is_one` holds, or None; the number of such rules)."""
    first, count = None, 0
    for rule in rules:
        if is_one(rule):
            first, count = first or rule, count + 1
    return first, count


def _of_service(services, chain, rules, setting):
    """The same of a chain of a single Service or endpoint."""
    balances = chain.startswith(("KUBE-SVC-", "KUBE-SVL-"))
    if balances:
        bare, count = _first_of(lambda rule: rule.target == "KUBE-MARK-MASQ" and not rule.has_match, rules)
        if bare:
            yield "lost_match", bare, count, "its rules to KUBE-MARK-MASQ always name address and port"
        ports = _targets(PORT_FORMS, "nat", chain)
        rule, count = _first_of(lambda rule: rule.target == "KUBE-MARK-MASQ" and _lacks_port(rule, ports), rules)
        if rule:
            yield "lost_match", rule, count, NO_PORT
    early = _early_jump(rules) if not balances else None
    if early:
        yield "lost_match", early, 1, "sends on all traffic before the rules after it"
    first, count = _first_of(lambda rule: rule.target in VERDICTS, rules)
    if not first or setting.mode not in (None, "iptables"):
        return
    # Balancing and translation stand behind all other folded rules. Up to 1.24 a chain of a Local policy that
    # refuses packets has none.
    if chain.startswith("KUBE-SEP-") and not first.has_match:
        return  # An endpoint without a DNAT, which is reported as unsound_endpoint.
    folded = (chain in services.balancing
              or chain in services.endpoints) and services.rules_in(chain) > first.folded_before
    behind = itertools.dropwhile(lambda rule: rule != first, rules)
    if folded or any((rule.target or "").startswith("KUBE-S") or rule.target == "DNAT" for rule in behind):
        yield ("unexpected_drop", first, count,
               "ends the chain of a Service before its last %s" % ("endpoint" if balances else "rule"))


def _early_jump(rules):
    """A jump without a match that is not the last of a chain for external traffic: only the last takes all packets."""
    jumps = [rule for rule in rules if SERVICE_CHAIN.match(rule.target or "")]
    return next((rule for rule in jumps if not rule.has_match and rule.text != jumps[-1].text), None)


def lost_rules(table, chain, rules, setting):
    """(rule, why) of the rules of a chain that have lost their match, as they have none; one pass over the chain."""
    forms = [form for form in FORMS if (form.tables is None or table in form.tables) and form.chain.match(chain)]
    added = _added(table, chain, rules, setting)
    masquerades, returned = (table, chain) == ("nat", "KUBE-POSTROUTING"), False
    last = len(rules) - 1
    for index, rule in enumerate(rules):
        returned = returned or (rule.target == "RETURN" and _of_unmarked(rule))
        if rule.has_match or rule.target is None:
            continue
        if masquerades and rule.target == "MASQUERADE":
            # Up to 1.18 it carries the mark; since then a RETURN for unmarked packets stands before it.
            if not returned:
                yield rule, NO_MARK
        elif rule.target not in added and any(rule.target in form.targets and not (form.inner and index == last)
                                              for form in forms):
            yield rule, "a rule with this target always has a match in this chain"


def _of_unmarked(rule):
    """True for the RETURN of packets that kube-proxy has not marked, even if the RETURN has lost its match."""
    marks = match_options(rule, "mark")
    return not rule.has_match or not marks or any(negated for _option, _values, negated in marks)


def _added(table, chain, rules, setting):
    """Targets of rules without a match that were added beside the canonical rule: these rules have not lost a match."""
    if (table, chain) == ("filter", "KUBE-SERVICES"):
        return ("DROP",)  # kube-proxy writes REJECT there.
    if (table, chain) == ("filter", "KUBE-FORWARD") and any(rule.target == "DROP" and rule.has_match for rule in rules):
        return ("DROP",)
    return VERDICTS if table == "nat" and chain in PORTALS and is_portal(rules, setting) else ()


def _targets(rows, table, chain):
    return [target for where, which, target in rows if where == table and which.match(chain)]


def _leads_to(rule, targets):
    return any(target.match(rule.target or "") for target in targets)


def _lacks_port(rule, targets):
    """True for a rule that has to name a port and does not; one with other matches belongs to another program."""
    return (rule.has_match and _leads_to(rule, targets) and port_ranges(rule) is None
            and not any(uses(rule, name) for name in ("set", "mark", "addrtype", "conntrack")))


def _refuses_all_ports(rule, targets):
    """True for a refusal that has lost its port: that of a NodePort without endpoints then closes the whole node."""
    return (rule.has_match and _leads_to(rule, targets) and port_ranges(rule) is None
            and bool(plain_value(rule, "-d") or to_local(rule))
            and not any(uses(rule, name) for name in ("set", "mark", "conntrack")))


def _lacks_address(rule):
    """True for a rule that sends a port of every address to a Service, or all addresses to the NodePorts."""
    if not rule.has_match or plain_value(rule, "-d") is not None:
        return False
    if rule.target == "KUBE-NODEPORTS":
        return not to_local(rule)
    return bool(SERVICE_CHAIN.match(rule.target or "")) and port_ranges(rule) is not None


def _lacks_source(rule):
    """True for the rule against packets of other hosts to loopback, if it has lost its source or its state."""
    if rule.target != "DROP" or not (plain_value(rule, "-d") or "").startswith(("127.", "::1")):
        return False
    return not rule.options.get("-s", ("", False))[1] or not any(match_options(rule, match)
                                                                 for match in ("conntrack", "state"))


def _lacks_set(rule):
    """True for a rule of ipvs mode that has lost its set: it names at most other sources and the protocol."""
    if rule.target != "KUBE-MARK-MASQ" or not rule.has_match or rule.matches:
        return False
    return all(negated or option == "-p" for option, (_value, negated) in rule.options.items())


# Rules that always have a match in their chain, by chain and target.
# Read from kubernetes pkg/proxy/{iptables,ipvs}, pkg/kubelet; calico felix/rules; cilium pkg/datapath/iptables;
# kube-router pkg/controllers/netpol; weave prog/weave-npc and net/; azure-container-networking
# npm/pkg/dataplane/policies; amazon-vpc-cni-k8s pkg/networkutils; containernetworking plugins; flannel pkg/trafficmngr.
# A rule that is not listed may have no match, for instance the DROP of KUBE-SOURCE-RANGES-FIREWALL, the jump to
# KUBE-MARK-MASQ of KUBE-LOAD-BALANCER, nearly all of nat KUBE-FIREWALL (ipvs), the last DROP of Calico's endpoint and
# dispatch chains, cali-wl-to-host, AZURE-NPM-ACCEPT, CNI-HOSTPORT-SETMARK, DOCKER-USER's RETURN.
def _form(tables, chain, targets, inner=False):
    return Form(tables and tuple(tables.split()), re.compile("(?:%s)$" % chain), frozenset(targets), inner)


_HASH = "[A-Z2-7]{16}"

FORMS = (
    _form("filter", "KUBE-(FIREWALL|FORWARD|SERVICES|EXTERNAL-SERVICES|NODEPORTS|PROXY-FIREWALL|NODE-PORT|IPVS-FILTER|"
                    "IPVS-OUT-FILTER)", VERDICTS),
    _form("filter", "KUBE-SOURCE-RANGES-FIREWALL", ("RETURN",)),
    _form("nat", "KUBE-(SERVICES|NODEPORTS|NODE-PORT)", VERDICTS | TRANSLATIONS),
    _form("nat", "KUBE-(POSTROUTING|MARK-MASQ)", VERDICTS),
    _form("nat", "KUBE-LOAD-BALANCER", ("RETURN", "ACCEPT")),
    # The mark of a packet that a policy let pass is 0x10000, the REJECT is for packets without it.
    _form("filter", "KUBE-POD-FW-%s" % _HASH, VERDICTS),
    _form("filter", "KUBE-NWPLCY-(%s|DEFAULT|COMMON)" % _HASH, VERDICTS),
    _form("filter", "KUBE-ROUTER-(INPUT|FORWARD|OUTPUT|SERVICES)", VERDICTS),
    _form(None, "cali-(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING)", VERDICTS | TRANSLATIONS),
    _form("filter", "cali-(failsafe-in|failsafe-out|cidr-block)", VERDICTS),
    _form("nat", "cali-nat-outgoing", TRANSLATIONS),
    _form("filter", "cali-(tw|fw|th|fh|from-wl-dispatch|to-wl-dispatch|from-host-endpoint|to-host-endpoint)(-.*)?",
          VERDICTS, True),
    _form(None, "(OLD_)?CILIUM_[A-Za-z_]+", VERDICTS | TRANSLATIONS),
    _form("filter", "FLANNEL-FWD", VERDICTS),
    _form("nat", "FLANNEL-POSTRTG", VERDICTS | TRANSLATIONS),
    _form("filter nat", "WEAVE|WEAVE-EXPOSE|WEAVE-NPC(-DEFAULT|-INGRESS|-EGRESS|-EGRESS-DEFAULT|-EGRESS-CUSTOM)?",
          VERDICTS | TRANSLATIONS),
    _form("nat mangle", r"AWS-(SNAT|CONNMARK)-CHAIN-\d+", VERDICTS | TRANSLATIONS),
    _form("filter", "AZURE-NPM(-.*)?", REFUSALS),
    _form("nat", "CNI-(HOSTPORT-MASQ|DN-[0-9a-f]+|[0-9a-f]{24})", TRANSLATIONS | frozenset(("ACCEPT",))),
    _form("filter", "CNI-ISOLATION-STAGE-2", REFUSALS),
    _form("filter", "CNI-FORWARD", VERDICTS))


def _jumps(*rows):
    return tuple((table, re.compile(chain), re.compile(target)) for table, chain, target in rows)


# Rules that always name a destination port: table, chain, target.
PORT_FORMS = _jumps(
    ("nat", "KUBE-(SERVICES|NODEPORTS)$", "KUBE-(SVC|SVL|EXT|FW|XLB)-"),
    ("nat", "CNI-HOSTPORT-DNAT$", "CNI-DN-"),
    ("nat", "CNI-DN-", "DNAT$"),
    ("nat", "KUBE-SV[CL]-", "KUBE-MARK-MASQ$"),
    ("filter", "KUBE-NODEPORTS$", "ACCEPT$"))

# Refusals of a virtual address, or on every address of the node, that always name a port.
ADDRESS_FORMS = _jumps(("filter", "KUBE-(SERVICES|EXTERNAL-SERVICES|PROXY-FIREWALL)$", "(DROP|REJECT)$"))

# Jumps that always have a match: table, chain, target. Where all traffic of a Service is masqueraded, its chain still
# names the address and the port. In KUBE-EXT, KUBE-FW, KUBE-XLB and KUBE-LOAD-BALANCER the bare jump to KUBE-MARK-MASQ
# is canonical.
JUMP_FORMS = _jumps(
    ("nat", "KUBE-(SERVICES|NODEPORTS)$", "KUBE-(SVC|SVL|EXT|FW|XLB)-"),
    ("nat", "KUBE-(SERVICES|NODEPORTS|NODE-PORT)$", "KUBE-MARK-MASQ$"),
    ("nat", "KUBE-SERVICES$", "KUBE-NODEPORTS$"),
    # For the interfaces of pods; packets of other interfaces that get there are dropped.
    ("filter", "cali-FORWARD$", "cali-(from|to)-wl-dispatch$"),
    ("filter", "cali-INPUT$", "cali-wl-to-host$"))

# Chains in which ipvs mode masquerades by sets.
SET_CHAINS = ("KUBE-SERVICES", "KUBE-NODE-PORT")

# A rule with the target MARK needs one of these options; without them it marks nothing.
MARK_ARGUMENTS = ("--set-xmark", "--set-mark", "--or-mark", "--and-mark", "--xor-mark")
MARKING = ("KUBE-MARK-MASQ", "KUBE-MARK-DROP", "KUBE-POSTROUTING")
