# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that lost one of several matches, and verdicts that kube-proxy does not write."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.lost_match import ask_lost_match


def ask(text):
    rule_set = texts.read(text)
    return list(ask_lost_match(rule_set, texts.setting(rule_set)))


SVC, EXT = texts.SVC, texts.EXT


PARTLY = [
    ("nat", SVC, "! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -j KUBE-MARK-MASQ", "-m tcp --dport 80 "),
    ("nat", "KUBE-SERVICES", "-p tcp -m tcp --dport 80 -j " + SVC, "-d 10.96.0.9/32 "),
    ("nat", "KUBE-SERVICES", "-j KUBE-NODEPORTS", "-m addrtype --dst-type LOCAL "),
    ("nat", "KUBE-SERVICES", "! -d 127.0.0.0/8 -j KUBE-NODEPORTS", "-m addrtype --dst-type LOCAL "),
    ("nat", "KUBE-SERVICES", "-j KUBE-NODEPORTS", "-d 192.0.2.11/32 "),
    ("filter", "KUBE-SERVICES", "-d 10.96.0.9/32 -p tcp -j REJECT --reject-with icmp-port-unreachable",
     "-m tcp --dport 80 "), ("filter", "KUBE-PROXY-FIREWALL", "-d 203.0.113.9/32 -p tcp -j DROP", "-m tcp --dport 80 "),
    ("filter", "KUBE-EXTERNAL-SERVICES", "-d 203.0.113.9/32 -p udp -j DROP", "-m udp --dport 53 "),
    ("filter", "KUBE-FIREWALL", "-d 127.0.0.0/8 -j DROP",
     "! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT "),
    ("filter", "KUBE-FIREWALL", "! -s 127.0.0.0/8 -d 127.0.0.0/8 -j DROP",
     "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT "),
    ("filter", "cali-FORWARD", "-j cali-from-wl-dispatch", "-i cali+ "),
    ("filter", "cali-INPUT", "-g cali-wl-to-host", "-i cali+ "),
]


@pytest.mark.parametrize("table, name, rule, lost", PARTLY)
def test_a_rule_that_lost_one_of_its_matches(table, name, rule, lost):
    def asked(line):
        chains = " ".join([name] + [target for target in (SVC, "KUBE-NODEPORTS", "KUBE-MARK-MASQ",
                                                          "cali-from-wl-dispatch", "cali-wl-to-host")
                                    if target != name])
        return [(row["kind"], row["text"]) for row in ask(texts.small(table, chains, [line]))]
    stripped = "-A %s %s" % (name, rule)
    assert asked(stripped) == [("lost_match", stripped)]
    before, option, target = stripped.rpartition("-g " if " -g " in stripped else "-j ")
    assert asked(before + lost + option + target) == []


@pytest.mark.parametrize("rules, told",
                         [
                             (["-s 10.244.0.0/16 -j " + SVC, "-m addrtype --src-type LOCAL -j KUBE-MARK-MASQ",
                               "-m addrtype --src-type LOCAL -j " + SVC, "-j KUBE-SVL-AAAAAAAAAAAAAAAA"], None),
                             (["-s 10.244.0.0/16 -j " + SVC, "-j " + SVC, "-j KUBE-SVL-AAAAAAAAAAAAAAAA"], 1),
                             (["-j " + SVC, "-j KUBE-SVL-AAAAAAAAAAAAAAAA"], 0),
                             (["-j KUBE-MARK-MASQ", "-j " + SVC], None), (["-s 10.244.0.0/16 -j " + SVC], None),
                         ])
def test_a_way_of_external_traffic_that_everybody_takes(rules, told):
    ext = "KUBE-EXT-AAAAAAAAAAAAAAAA"
    rows = ask(texts.small("nat", " ".join((ext, SVC, "KUBE-SVL-AAAAAAAAAAAAAAAA KUBE-MARK-MASQ")),
                           ["-A %s %s" % (ext, rule) for rule in rules]))
    assert [(row["kind"], row["text"])
            for row in rows] == ([] if told is None else [("lost_match", "-A %s %s" % (ext, rules[told]))])


@pytest.mark.parametrize("name, rule, behind",
                         [
                             (SVC, "-s 198.51.100.1/32 -j RETURN", "-j KUBE-SEP-AAAAAAAAAAAAAAAA"),
                             ("KUBE-SVL-AAAAAAAAAAAAAAAA", "-i eth1 -j ACCEPT", "-j KUBE-SEP-AAAAAAAAAAAAAAAA"),
                             ("KUBE-EXT-AAAAAAAAAAAAAAAA", "-j RETURN", "-j " + SVC),
                             ("KUBE-EXT-AAAAAAAAAAAAAAAA", "-s 198.51.100.1/32 -j ACCEPT", "-j " + SVC),
                             ("KUBE-FW-AAAAAAAAAAAAAAAA", "-j RETURN", "-s 203.0.113.0/24 -j " + SVC),
                             ("KUBE-SEP-BBBBBBBBBBBBBBBB", "-s 198.51.100.1/32 -j RETURN",
                              "-p tcp -m tcp -j DNAT --to-destination 10.244.1.9:80"),
                         ])
def test_a_verdict_in_the_chain_of_a_service_is_not_of_kube_proxy(name, rule, behind):
    def asked(*rules):
        chains = " ".join(sorted({name, SVC, "KUBE-SEP-AAAAAAAAAAAAAAAA"}))
        return texts.told(ask(texts.small("nat", chains, ["-A %s %s" % (name, one) for one in rules])))
    assert asked(rule, behind) == [("unexpected_drop", "nat", name)]
    assert asked(behind, rule) == [], "nothing is behind it"


@pytest.mark.parametrize("mode, told", [("iptables", []), ("ipvs", ["lost_match"]), (None, [])])
@pytest.mark.parametrize("target", ["RETURN", "ACCEPT"])
def test_a_verdict_in_kube_services_lost_a_match_in_ipvs_mode_only(mode, told, target):
    """In iptables mode it is reported as unexpected_drop."""
    rule_set = texts.read(texts.small("nat", "KUBE-SERVICES", ["-A KUBE-SERVICES -j " + target]))
    assert [row["kind"] for row in ask_lost_match(rule_set, texts.setting(rule_set, mode=mode))] == told
    of_ipvs = texts.read(texts.small("nat", "KUBE-SERVICES", ["-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP "
                                                              "dst,dst -j ACCEPT", "-A KUBE-SERVICES -j " + target]))
    assert len(list(ask_lost_match(of_ipvs, texts.setting(of_ipvs, mode=None)))) == 1, "its sets tell"


@pytest.mark.parametrize(
    "table, name, rule", [
        ("filter", "KUBE-FORWARD", "-m comment --comment %d -j DROP"), ("nat", "KUBE-POSTROUTING", "-j MASQUERADE"),
        ("nat", "KUBE-SERVICES", "-j " + SVC), ("filter", "cali-tw-cali1234", "-j ACCEPT"),
        ("nat", SVC, "-j KUBE-MARK-MASQ"), ("nat", SVC, "-j RETURN"),
    ])
def test_twenty_thousand_rules_are_gone_through_once(table, name, rule):
    class Counted(list):
        passed = 0

        def __iter__(self):
            for item in list.__iter__(self):
                Counted.passed += 1
                yield item

        def __getitem__(self, index):
            Counted.passed += len(range(*index.indices(len(self)))) if isinstance(index, slice) else 1
            return list.__getitem__(self, index)

    lines = ["-A %s %s" % (name, rule % number if "%d" in rule else rule) for number in range(20000)]
    rule_set = texts.read(texts.small(table, name + " X", lines))
    chain_read = rule_set.tables[table].chains[name]
    chain_read.rules = Counted(chain_read.rules)
    list(ask_lost_match(rule_set, texts.setting(rule_set)))
    assert 20000 <= Counted.passed <= 10 * 20000
