# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals of new connections to pods in a chain that FORWARD leads to first: DOCKER-USER, where administrators and
ufw-docker add their rules. PRIVATE to the collection.

They are meant for Docker's containers, and refuse connections to NodePorts and load balancers too, which kube-proxy has
translated before. A firewall with an exception for new connections is meant as it is, whatever it refuses.

Whether the FORWARD chain lets pod traffic through.

A rule limited to replies, to marked Service traffic, to ICMP, to single ports or to the bridges of other
programs does not. Any other ACCEPT counts.

Refusals by an ipset: a list of banned addresses, or of addresses that may pass.

A list of the internet may hold the private networks that pods have addresses of. kube-router rejects all packets to the
node that its sets do not let in (cloudnativelabs/kube-router pkg/controllers/proxy/network_services_controller.go).
"""

import functools
import re

from ..model.rule import is_foreign
from ..observation import observe
from ..rules import REFUSALS, match_options, plain_value, port_ranges, range_of, states, within
from ..tables import rules_of, table_of
from .owners import CNI, OTHER, owner_of

_ICMP = ("icmp", "icmpv6", "ipv6-icmp", "1", "58")


def accepts_pods(table, rules):
    """True if one of these rules of FORWARD, or of the chains they lead to, accepts traffic of pods."""
    seen, waiting = set(), [rules]
    while waiting:
        for rule in waiting.pop():
            if rule.target == "ACCEPT":
                if _counts(table, rule):
                    return True
            elif rule.target in table.chains and rule.target not in seen and not _of_bridge(rule):
                seen.add(rule.target)
                waiting.append(table.chains[rule.target].rules)
    return False


def _counts(table, rule):
    limited = states(rule)
    if (limited
            and "NEW" not in limited) or rule.chain == "KUBE-FORWARD" or owner_of(rule.chain, table.name) == "docker":
        return False
    return not _of_bridge(rule) and plain_value(rule, "-p") not in _ICMP and port_ranges(rule) is None


def _of_bridge(rule):
    return any(is_foreign(plain_value(rule, option) or "") for option in ("-i", "-o"))


_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
# All ports, or all of UDP that ufw-docker refuses (chaifeng/ufw-docker after.rules).
_MANY_PORTS = 32767
# Rules of a chain that are looked at.
_RULES_LIMIT = 200
# Of the many options and matches of iptables-extensions(8) these alone leave it known that the first packets of most
# connections are meant: Docker's manual itself has narrow rules, as with --ctorigdstport.
_OPTIONS = {"-i", "-d", "-p"}
_PORTS = {"--dport", "--dports", "--ports", "--destination-port", "--destination-ports"}
_MATCHES = {"tcp": _PORTS | {"--tcp-flags", "--syn"}, "udp": _PORTS, "multiport": _PORTS,
            "conntrack": {"--ctstate"}, "state": {"--state"}}
_PORT_OF_SENDER = re.compile(r"--(?:sport|source-port)s?\Z")


def ask_first_chains(rule_set, table, services=None):
    """unexpected_drop: the first rule of each such chain that refuses new connections to pods."""
    seen, pods = set(), functools.lru_cache(maxsize=1)(lambda: _networks(table, services))
    for jump in rules_of(table, "FORWARD"):
        place = jump.target, jump.has_match
        if place in seen:
            continue
        if jump.target in table.chains:
            seen.add(place)
            owner = owner_of(jump.target, "filter") if not jump.has_match else None
            inner = table.chains[jump.target].rules[:_RULES_LIMIT] if owner in ("docker", "other") else ()
            for index, rule in enumerate(inner):
                why = _why(table, inner, index, pods) if rule.has_match and _refuses(table, rule) else None
                if why:
                    yield observe("unexpected_drop", rule_set, "filter", jump.target, rule.text, 1, why)
                    break
        if accepts_pods(table, [jump]):
            return


def _refuses(table, rule):
    """Whether the packets of a rule are refused, at once or in a chain that only logs before."""
    if rule.target in REFUSALS:
        return True
    end = next((each for each in rules_of(table, rule.target) if each.target not in ("LOG", "NFLOG")), None)
    return end is not None and end.target in REFUSALS and not end.has_match


def _why(table, rules, index, pods):
    rule = rules[index]
    limited, ports = states(rule), port_ranges(rule)
    if (not _is_broad(rule) or limited and "NEW" not in limited
            or ports is not None and not any(last - first >= _MANY_PORTS for first, last in ports)):
        return None
    network, interface = plain_value(rule, "-d"), plain_value(rule, "-i")
    if interface is not None:
        meant = is_foreign(interface) or owner_of(rule.chain, "filter") != "docker" or {"-d", "-p"} & set(rule.options)
    else:
        meant = network is None or not _holds_pods(table, rules, network, pods)
    if meant or any(_is_exception(table, rule, each) for each in rules[:index]):
        return None
    if interface is not None:
        return "refuses all new connections that come in on %s, those to Services and pods too" % interface
    return ("refuses new connections to addresses of pods, as of clients of NodePorts and load balancers, whose "
            "packets kube-proxy has sent to a pod before")


def _is_broad(rule):
    """Whether a rule has nothing beside its ports and states that may limit it to some of the new connections."""
    protocol, negated = rule.options.get("-p", (None, False))
    return not negated and protocol in (None, "all", "tcp", "udp") and _OPTIONS.issuperset(rule.options) and all(
        _is_plain(name, *option) for name, options in rule.matches for option in options or [("", [], False)])


def _is_plain(match, option, values, negated):
    if option == "--tcp-flags" and values[1:] != ["SYN"]:  # Of packets that no connection begins with.
        return False
    return match in _MATCHES and not negated and (not option or option in _MATCHES[match])


def _is_exception(table, refusal, rule):
    """Whether a rule lets new connections pass, but those of private networks, DNS replies, other interfaces."""
    if rule.target in table.chains:
        return any(each.target == "ACCEPT" and _is_exception(table, refusal, each)
                   for each in table.chains[rule.target].rules[:_RULES_LIMIT])
    limited, interface = states(rule), plain_value(rule, "-i")
    if rule.target not in ("ACCEPT", "RETURN") or limited and "NEW" not in limited or _names_sender_port(rule):
        return False
    mine = plain_value(refusal, "-i")
    if interface is not None and (is_foreign(interface) or mine not in (None, interface)):
        return False
    return mine is not None or plain_value(rule, "-s") not in _PRIVATE


def _names_sender_port(rule):
    return any(_PORT_OF_SENDER.match(option) and not negated
               for _name, options in rule.matches for option, _values, negated in options)


def _holds_pods(table, rules, network, pods):
    """Whether pods have addresses in a network; where none is known: a private network, if all three are refused."""
    outer, known = range_of(network), pods().get(":" in network)
    if outer is None:
        return False
    if known:
        return any(outer[0] <= first and last <= outer[1] for first, last in known)
    return network in _PRIVATE and {plain_value(rule, "-d") for rule in rules if _refuses(table, rule)}.issuperset(
        _PRIVATE)


def _networks(table, services):
    """{whether IPv6: [(first, last) number]} of endpoints and of networks in the rules of a network plugin."""
    known = {plain_value(rule, option) for name, chain in table.chains.items() if owner_of(name, "filter") in CNI
             for rule in chain.rules for option in ("-s", "-d")}
    known.update(end[0] for service in services or () for end in service.endpoints or ())
    found = {version: map(range_of, sorted(each for each in known if each and (":" in each) is version))
             for version in (False, True)}
    return {version: [ends for ends in rows if ends is not None and ends[0]] for version, rows in found.items()}


# Members and endpoints that are compared.
_MOST_MEMBERS, _MOST_ENDPOINTS = 20000, 20


def pardon_sets(rules, judged, setting, services):
    """Replaces each True in `judged` of a rule that bans the sources in a set: by the address of an endpoint in it, or
    False; `services()` returns [Service], or None where they are not known."""
    for index, rule in enumerate(rules):
        name = _set_of(rule, "src", False) if judged[index] is True else None
        if name is None:
            continue
        members = (setting.members(name) or ())[:_MOST_MEMBERS]
        addresses = dict.fromkeys(endpoint[0] for service in (services() or () if members else ())
                                  for endpoint in service.endpoints or ())
        judged[index] = next((address for address in list(addresses)[:_MOST_ENDPOINTS]
                              if any(within(address, member) for member in members)), False)


def ask_sets(rule_set, setting):
    """unexpected_drop of a rule that refuses packets that are not in a set, and the set is empty."""
    table = table_of(rule_set, "filter")
    for chain in table.unfolded() if table is not None else ():
        if owner_of(chain, "filter") not in ("kube_router", OTHER):
            continue
        for rule in table.chains[chain].rules:
            name = _set_of(rule, None, True) if rule.target in REFUSALS else None
            if name is not None and setting.members(name) == ():
                yield observe("unexpected_drop", rule_set, "filter", chain, rule.text, 1,
                              "refuses all packets that no rule before it accepts, because the set %s is empty" % name)


def _set_of(rule, direction, negated):
    """The name of the one set that a rule matches, or None; `direction`: the only one that counts."""
    found = [(values, inverted) for option, values, inverted in match_options(rule, "set") if option == "--match-set"]
    if len(found) != 1 or len(found[0][0]) < 2 or bool(found[0][1]) is not negated:
        return None
    return found[0][0][0] if direction in (None, found[0][0][1]) else None
