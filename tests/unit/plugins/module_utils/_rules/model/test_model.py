# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The neutral rule: the same condition of iptables and nft has one answer; interfaces; and the walk through chains,
which is compared with all ways in which unknown conditions can turn out."""

import functools
import itertools

import pytest
from case_rows import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.ruleset import Rule as Printed
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save_rule import read_rule
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.listing import ListingReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.model.of_iptables import conditions_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.model.of_nft import NftRules
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.model.rule import (
    CONTINUE, END, GOTO, JUMP, RETURN, UNKNOWN, Condition, Packet, Sender, carries_pods, holds, rule_of,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.model.walk import TooMuch, Walk
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.rules import number_of

NEW, TRANSLATED = frozenset(["NEW"]), frozenset(["NEW", "DNAT"])
ANY = Packet(family="ip", states=NEW)
VIRTUAL = Packet(family="ip", sources=(number_of("10.244.3.9"),), destinations=(number_of("10.96.0.2"),),
                 protocol="tcp", port=80, states=NEW, destination="10.96.0.2", original="10.96.0.2", original_port=80,
                 destination_type="UNICAST")
ENDPOINT = VIRTUAL._replace(destinations=(number_of("10.244.1.2"),), port=8080, states=TRANSLATED,
                            destination="10.244.1.2", destination_type=None)
NODE_PORT = Packet(family="ip", protocol="tcp", port=30080, states=NEW)
UNSEEN = VIRTUAL._replace(states=None)
MARKED = ENDPOINT._replace(mark=0x4000)
SENT = Packet(family="ip", destinations=(number_of("192.0.2.1"),), protocol="tcp", port=6443, states=NEW,
              from_node=True, sender=Sender(0, 0, "/kubepods/pod1", None))
ROUTED = "wg0"


def of_nft(text):
    """The neutral rule of a line of nft."""
    reader = ListingReader(texts=(500, 2000))
    reader.feed(("table inet guard {\nset closed {\ntype ipv4_addr\nelements = { 10.244.1.2 }\n}\n"
                 "chain own {\n%s drop\n}\n}\n" % text).encode())
    rules = NftRules(reader.close()["inet", "guard"], {"ip": [], "ip6": []}, tuple, pytest.fail)
    rule, = rules.rules_of("own")
    return rule


def of_iptables(text):
    """The conditions of a rule of iptables."""
    text = "-A MINE %s -j DROP" % text
    return conditions_of(Printed("MINE", text, read_rule(text)))


@cases
def test_whether_a_condition_holds(packet, expected, iptables, nft):
    if iptables:
        assert holds(of_iptables(iptables), packet) is expected
    if nft:
        assert holds(of_nft(nft).conditions, packet) is expected


def test_an_unknown_owner_is_what_is_asked_for():
    sent = SENT._replace(sender=SENT.sender._replace(otherwise=True))
    assert holds(of_iptables("-m owner --uid-owner root"), sent) is True


@cases
def test_what_takes_the_packets_of_all_clients(nft, accepts, harms):
    conditions, packet = of_nft(nft).conditions, ENDPOINT._replace(of_all=True)
    assert (holds(conditions, packet), holds(conditions, packet, True)) == (accepts, harms)


@cases
def test_whose_interface_it_is(carries, names):
    assert [name for name in names.split() if carries_pods(name, lambda: [ROUTED]) is not carries] == []


def test_only_a_tunnel_is_looked_for_among_the_routes():
    assert carries_pods("eth0", pytest.fail) is None and carries_pods("docker0", pytest.fail) is False
    assert carries_pods("wg0") is None


# What becomes of the packet: it passes the chain, may pass it, or does not.
PASSES, MAY_PASS, ENDS = "passes", "may pass", "ends"
VERDICTS = {"drop": END, "accept": END, "return": RETURN, "jump": JUMP, "goto": GOTO, "mark": CONTINUE}
CONDITIONS = {"yes": [], "no": [Condition(("fixed",), False, [(False,)])], "maybe": [UNKNOWN]}


def walked(chains):
    """(rules that the packet certainly meets, rules that it may meet, what becomes of it) of {chain: [rule]}."""
    made = {name: [rule_of(CONDITIONS[rule.split()[0]], VERDICTS[rule.split()[1]], (rule, "%s %d" % (name, number)),
                           "".join(rule.split()[2:])) for number, rule in enumerate(rules)]
            for name, rules in chains.items()}
    sure, perhaps = [], []

    def met(rule, _chain, certainly, maybe):
        sure.extend([rule.origin[1]] * len(certainly))
        perhaps.extend([rule.origin[1]] * len(maybe))
    walk = Walk(lambda name: made.get(name, ()), [ANY], lambda rule: rule.origin[0].split()[1] in ("drop", "mark"), met,
                10000, True)
    passed, lost = walk.through("base")
    assert not (passed and lost)
    return sure, perhaps, PASSES if passed else MAY_PASS if lost else ENDS


@cases
def test_where_a_packet_comes_to(chains, met, perhaps, left):
    assert walked(chains) == (met, perhaps, left)


def followed(chains, true, name="base"):
    """The rule at which a packet ends, `accept`, or None where it passes, if of the rules that may match only `true`
    do."""
    for number, rule in enumerate(chains[name]):
        place, (condition, verdict, *target) = "%s %d" % (name, number), rule.split()
        if condition == "no" or (condition == "maybe" and place not in true):
            continue
        if verdict == "return":
            return None
        if verdict in ("drop", "accept"):
            return place if verdict == "drop" else verdict
        end = followed(chains, true, target[0])
        if end or verdict == "goto":
            return end
    return None


LAYERS = ("base", "a", "b", "c")


@functools.lru_cache(maxsize=None)
def rules_of(layer):
    """A strategy for the rules of a chain, which lead to later chains only."""
    verdicts = ["drop", "accept", "return"] + ["%s %s" % (verb, name) for name in LAYERS[layer + 1:]
                                               for verb in ("jump", "goto")]
    rules = st.builds("{} {}".format, st.sampled_from(sorted(CONDITIONS)), st.sampled_from(verdicts))
    return st.lists(rules, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.tuples(*map(rules_of, range(len(LAYERS)))))
def test_what_is_certain_is_true_in_any_case(lists):
    chains = dict(zip(LAYERS, lists))
    unknown = ["%s %d" % (name, number) for name, rules in chains.items()
               for number, rule in enumerate(rules) if rule.startswith("maybe")][:8]
    chains = {name: [rule if "%s %d" % (name, number) in unknown else rule.replace("maybe", "no")
                     for number, rule in enumerate(rules)] for name, rules in chains.items()}
    sure, perhaps, left = walked(chains)
    ends = {followed(chains, true) for size in range(len(unknown) + 1)
            for true in itertools.combinations(unknown, size)}
    assert ends - {None, "accept"} <= set(sure + perhaps), "each rule where it may end is shown"
    if sure:
        assert not ends & {None, "accept"}, "it certainly ends at a rule"
    if left == PASSES:
        assert "accept" not in ends, "it passes, unless a rule takes it"
    if None in ends:
        assert left != ENDS


def test_a_walk_has_an_end():
    rules = {"c%d" % number: [rule_of([], JUMP, None, "c%d" % (number + 1))] * 40 for number in range(15)}
    walk = Walk(lambda name: rules.get(name, ()), [ANY], lambda rule: False, None, 50000)
    with pytest.raises(TooMuch):
        walk.through("c0")


def test_packets_that_do_not_differ_for_a_rule_are_tried_once():
    packets = [ENDPOINT._replace(destinations=(number,), port=number % 3) for number in range(3000)]
    rules = [of_nft("tcp dport %d" % number) for number in (1, 2, 3)]
    met = []
    walk = Walk({"base": rules}.get, packets, lambda rule: True,
                lambda rule, chain, sure, perhaps: met.append(len(sure)), 100)
    assert len(walk.through("base")[0]) == 1000 and met == [1000, 1000, 0] and walk.left > 90
