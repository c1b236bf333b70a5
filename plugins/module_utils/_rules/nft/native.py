# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of other programs that see the traffic of Services before or beside kube-proxy's chains. PRIVATE to
the collection.

A packet passes the base chains of a hook in the order of their priorities, whatever their tables; an accept ends one
base chain, a drop ends the packet (Linux net/netfilter/core.c nf_hook_slow()). The first address translation counts:
chains of prerouting and output with a priority of dstnat (-100) or lower run before kube-proxy's chains, or beside
them. Conntrack works at -200, so only a notrack before that counts. After the translation a packet goes to an endpoint
and passes forward; an input chain that refuses NodePorts does not affect the pods of any other node.
"""

import ipaddress

from ..._parse.nft.statements import Condition, Statement, parse_rule
from .meets import Judge, Packet

DSTNAT, CONNTRACK, SRCNAT = -100, -200, 100
# kube-proxy's mark for masquerading (masqueradeBit 14, the default).
MASQUERADE_MARK = 0x4000
# The maximum number of tests of a rule with a packet in one table. Packets that do not differ in the properties that
# the rule matches count as one. A rule that needs no test counts too: where each of 16 chains jumps 400 times to the
# next one, a packet meets more rules than any machine can follow.
WORK_LIMIT = 50000
SOURCES_LIMIT = 100
_DEPTH = 16
_KINDS = {"drop": "unexpected_drop", "reject": "unexpected_drop", "dnat": "anchor_shadowed",
          "redirect": "anchor_shadowed", "notrack": "untracked", "mark": "mark_cleared"}
_EFFECTS = {"drop": "drops", "reject": "rejects", "dnat": "translates before kube-proxy",
            "redirect": "redirects before kube-proxy",
            "notrack": "exempts from conntrack, and so from kube-proxy's DNAT,",
            "mark": "clears kube-proxy's mark for masquerading on"}
# The packet goes on to the next rule.
_PASSING = ("continue", "mark", "notrack")
# Packets of a pod whose address is not known, to a pod on another node: no rule of kube-proxy translates them.
_FORWARDED = tuple(Packet(family, None, None, "tcp", False) for family in ("ip", "ip6"))


class TooMuch(Exception):
    """A table with more rules than can be judged."""


def judge_table(table, services, own=()):
    """([(kind, chain, text, detail)], the reason why a part could not be judged, or None) of a listing.Table;
    `services` [Service].

    `own`: the addresses of the node, None where they are not known. A packet to an endpoint on these addresses is not
    forwarded.
    """
    walk = _Walk(table, services, own)
    for name in sorted(table.chains):
        chain = table.chains[name]
        if chain.is_base and chain.priority is not None:
            try:
                walk.base_chain(chain)
            except TooMuch:
                walk.doubts.append("chain %s has too many rules to judge" % name)
        elif chain.is_base:
            walk.doubts.append("the priority of chain %s is not known" % name)
    return walk.rows, walk.doubts[0] if walk.doubts else None


def judge_forwarding(table):
    """[(kind, chain, text, detail)] of rules and policies that refuse all traffic between pods, whatever their
    addresses and interfaces are; for dumps that show no Service."""
    walk = _Walk(table, (), None)
    walk.behind = [packet for packet in _FORWARDED if table.family in ("inet", packet.family)]
    for name in sorted(table.chains):
        chain = table.chains[name]
        if chain.is_base and chain.hook == "forward" and chain.priority is not None:
            try:
                walk.base_chain(chain)
            except TooMuch:
                walk.rows.append(("unjudged_table", "", "", "chain %s has too many rules to judge" % name))
    return walk.rows


def _family(service):
    return "ip6" if service.family == "ipv6" else "ip"


class _Walk:
    def __init__(self, table, services, own):
        self.table, self.rows, self.doubts, self._work = table, [], [], 0
        self._parsed, self._seen, self._returning = {}, set(), {}
        families = ("ip", "ip6") if table.family == "inet" else (table.family,)
        self._own_known, own = own is not None, own or ()
        services = [service for service in services if _family(service) in families and service.has_endpoints]
        self.before = [Packet(_family(service), _address(service.address), service.port, service.protocol, False)
                       for service in services]
        ends = sorted({(_family(service),) + end for service in services for end in service.endpoints or ()})
        self.behind = [Packet(family, _address(address), port, protocol, True)
                       for family, address, port, protocol in ends if address not in own]
        sources = {family: [packet.address for packet in self.behind if packet.family == family]
                   for family in ("ip", "ip6")}
        self._judge = Judge(
            table.sets, {family: found[::len(found) // SOURCES_LIMIT + 1] for family, found in sources.items()},
            {"ip": [address for address in map(_address, own) if address is not None and address.version == 4],
             "ip6": [address for address in map(_address, own) if address is not None and address.version == 6]})

    def base_chain(self, chain):
        early = chain.hook in ("prerouting", "output") and chain.priority <= DSTNAT
        if chain.hook == "input":
            self._input(chain)
        if chain.hook not in ("prerouting", "output", "forward", "postrouting"):
            return
        self._base, self._early = chain, early
        packets = self.before if early else self.behind
        left, doubtful = self._through(chain, packets, [], 0)
        if chain.policy == "drop":
            self._harmed("drop", chain, "policy drop", left, doubtful)

    def _input(self, chain):
        """The purpose of an input chain is to close the node's own ports, so only a chain that lets no packet pass is
        reported."""
        rules = self._rules(chain)
        if (chain.policy == "drop" and not rules) or (rules and not rules[0].conditions
                                                      and rules[0].statement.action in ("drop", "reject")):
            self._row("unexpected_drop", chain, rules[0].text if rules else "policy drop",
                      "refuses all packets to the node itself")

    def _rules(self, chain):
        if chain.name not in self._parsed:
            self._parsed[chain.name] = [rule for text in chain.texts for rule in parse_rule(text)]
            if self._cut(chain):
                self.doubts.append("chain %s has too many rules to read" % chain.name)
        return self._parsed[chain.name]

    @staticmethod
    def _cut(chain):
        return chain.rules is None or chain.rules > len(chain.texts)

    def _through(self, chain, packets, doubtful, depth):
        """(packets that reach the end of a chain, packets that may reach it)."""
        returned, returned_doubtful = [], []
        for rule in (rule for packed in self._rules(chain) for rule in self._expanded(packed)):
            if not packets and not doubtful:
                break
            action, harms = rule.statement.action, self._harms(rule.statement)
            if action in _PASSING and not harms:
                self._spend()
                continue
            yes, maybe, no, perhaps = self._split(rule, packets, doubtful, harms)
            if harms:
                self._harmed(action, chain, rule.text, yes, maybe)
            if action in _PASSING:
                continue
            if action in ("jump", "goto"):
                target = self.table.chains.get(rule.statement.argument)
                out = yes, maybe
                if target is not None and depth < _DEPTH:
                    # Zones of firewalld: which of them a packet enters is not known, but each of them returns it.
                    passing = [packet for packet in yes
                               if packet in _FORWARDED and self._returns(target, packet, depth)]
                    out = self._through(target, [packet for packet in yes if packet not in passing] if passing else yes,
                                        maybe, depth + 1)
                    out = (out[0] + passing, out[1]) if passing else out
                if action == "goto":
                    returned, returned_doubtful, packets, doubtful = (returned + out[0], returned_doubtful + out[1], no,
                                                                      perhaps)
                elif len(out[0]) < len(yes) or len(out[1]) < len(maybe):
                    kept = set(maybe)
                    packets, doubtful = no + out[0], [packet for packet in perhaps if packet not in kept] + out[1]
                continue
            if action == "return":
                returned, returned_doubtful = returned + yes, returned_doubtful + maybe
            packets, doubtful = no, perhaps
        packets, doubtful = packets + returned, doubtful + returned_doubtful
        # The rules that were not read may have taken any of these packets.
        return ([], packets + doubtful) if self._cut(chain) else (packets, doubtful)

    def _spend(self):
        self._work += 1
        if self._work > WORK_LIMIT:
            raise TooMuch()

    def _returns(self, chain, packet, depth):
        """Whether a chain returns a packet, whichever of its rules match."""
        key = chain.name, packet
        if key not in self._returning:
            # This is the answer where the chain leads back to itself.
            self._returning[key] = False
            self._returning[key] = not self._cut(chain) and self._returns_from(chain, packet, depth)
        return self._returning[key]

    def _returns_from(self, chain, packet, depth):
        for rule in (rule for packed in self._rules(chain) for rule in self._expanded(packed)):
            self._spend()
            action = rule.statement.action
            held = False if action in _PASSING else self._judge.holds(rule, packet, False)
            if held is False:
                continue
            if action in ("jump", "goto"):
                target = self.table.chains.get(rule.statement.argument)
                if target is None or depth >= _DEPTH or not self._returns(target, packet, depth + 1):
                    return False
            elif action != "return":
                return False
            if held and action != "jump":
                return True
        return True

    def _split(self, rule, packets, doubtful, harms):
        """(matched, perhaps matched, not matched, perhaps not matched) of packets. Packets of `doubtful` may have ended
        before the rule."""
        if not rule.conditions:
            self._spend()
            return packets, doubtful, [], []
        keys = [key for condition in rule.conditions for key in condition.keys]
        by_address, by_port = (any(key.endswith("daddr") for key in keys),
                               any(key.endswith(("dport", "l4proto", "protocol", "nexthdr")) for key in keys))
        yes, maybe, no, perhaps, known = [], [], [], [], {}
        for group, sure in ((packets, True), (doubtful, False)):
            for packet in group:
                alike = (packet.family, packet.address if by_address else packet.address is None,
                         by_port and packet[2:4])
                if alike not in known:
                    self._spend()
                    known[alike] = self._judge.holds(rule, packet, harms)
                held = known[alike]
                if held is not False:
                    (yes if held and sure else maybe).append(packet)
                if not held:
                    (no if sure and held is False else perhaps).append(packet)
        return yes, maybe, no, perhaps

    def _expanded(self, rule):
        """A verdict map as one rule for each of its elements."""
        if rule.statement.action != "vmap":
            return [rule]
        keys, elements = rule.statement.argument
        if isinstance(elements, str):
            held = self.table.sets.get(elements[1:])
            elements = [(element.key, element.verdict, element.target)
                        for element in held.elements] if held is not None else []
        return [rule._replace(conditions=rule.conditions + [Condition(keys, False, [words])],
                              statement=Statement(verdict, target or "")) for words, verdict, target in elements]

    def _harms(self, statement):
        """Whether the action of a rule is harmful at this hook and priority."""
        if statement.action not in _KINDS:
            return False
        hook, priority = self._base.hook, self._base.priority
        if statement.action in ("dnat", "redirect"):
            return self._early and self._base.type == "nat"
        if statement.action == "notrack":
            return hook in ("prerouting", "output") and priority < CONNTRACK
        if statement.action == "mark":
            between = (priority > DSTNAT if hook in ("prerouting", "output") else hook == "forward"
                       or (hook == "postrouting" and priority < SRCNAT))
            return between and _clears(statement.argument)
        return True

    def _harmed(self, action, chain, text, yes, maybe):
        if self._may_be_own(yes, text):
            yes, maybe = [], yes
        if yes:
            others = " and to %d others" % (len(set(yes)) - 1) if len(set(yes) - set(_FORWARDED)) > 1 else ""
            self._row(_KINDS[action], chain, text,
                      "%s %s%s (hook %s, priority %d)" % (
                          "this policy drops" if text == "policy drop" else "this rule " + _EFFECTS[action],
                          _text(yes[0]), others, self._base.hook, self._base.priority))
        elif maybe:
            self.doubts.append("whether the rule \"%s\" of chain %s matches Service traffic cannot be judged"
                               % (text[:120], chain.name))

    def _may_be_own(self, packets, text):
        """True if the only address of a family may be an address of the node: the node's addresses are not known, and
        the rule does not name it."""
        ends = {(packet.family, str(packet.address)) for packet in packets if packet.translated}
        alone = len(ends) == len({family for family, _address in ends})
        return bool(ends) and alone and not self._own_known and not any(address in text for _family, address in ends)

    def _row(self, kind, chain, text, detail):
        if (chain.name, text) not in self._seen:
            self._seen.add((chain.name, text))
            self.rows.append((kind, chain.name, text, detail))


def _clears(expression):
    """Whether `meta mark set EXPRESSION` clears kube-proxy's mark."""
    words = expression.replace("meta ", "").replace("and", "&").replace("or", "|").split(" ")
    numbers = [int(word, 0) for word in words if word[:1].isdigit()]
    if len(words) == 1 and numbers:
        return not numbers[0] & MASQUERADE_MARK
    return words[:2] == ["mark", "&"] and bool(numbers) and not any(number & MASQUERADE_MARK for number in numbers)


def _address(text):
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _text(packet):
    if packet in _FORWARDED:
        return "all forwarded traffic that no rule before it accepts, such as between pods of different nodes"
    place = "NodePort" if packet.address is None else str(packet.address)
    return "traffic to %s port %d/%s" % (place, packet.port, packet.protocol)
