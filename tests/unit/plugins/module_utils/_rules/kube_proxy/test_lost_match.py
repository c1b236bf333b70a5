# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules whose match was lost, and rules that rightly have none."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.lost_match import ask_lost_match


def ask(text):
    rule_set = texts.read(text)
    return list(ask_lost_match(rule_set, texts.setting(rule_set)))


def chain(name, table, *rules):
    """A table with one user chain, and others its rules may lead to."""
    return texts.small(table, name + " X KUBE-MARK-MASQ KUBE-MARK-DROP", ["-A %s %s" % (name, rule) for rule in rules])


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_a_healthy_node_has_lost_nothing(family, backend):
    assert ask(texts.healthy(family, backend)) == []


@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize(
    "old, new, chain_name", [
        (texts.LOCALNET, '-A KUBE-FIREWALL -m comment --comment "block incoming localnet connections" -j DROP',
         "KUBE-FIREWALL"),
        (texts.LOCALNET, '-A KUBE-FIREWALL -m comment --comment "-m conntrack --ctstate INVALID -s 127.0.0.0/8" -j '
                         'DROP', "KUBE-FIREWALL"),
        (texts.LOCALNET, "-A KUBE-FIREWALL -j DROP", "KUBE-FIREWALL"),
        (texts.UNMARKED, "-A KUBE-POSTROUTING -j RETURN", "KUBE-POSTROUTING"),
        (texts.MARKED, '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -j ACCEPT', "KUBE-FORWARD"),
        (texts.INVALID, "-A KUBE-FORWARD -j DROP", "KUBE-FORWARD"),
        ("-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", "-A KUBE-MARK-MASQ -j MARK", "KUBE-MARK-MASQ"),
    ])
def test_a_stripped_rule_is_told_alone(backend, old, new, chain_name):
    rows = ask(texts.instead(texts.healthy("ipv4", backend), old, new))
    assert [(row["kind"], row["chain"], row["text"]) for row in rows] == [("lost_match", chain_name, new)]
    assert ("nft list table" in rows[0]["detail"]) == (backend == "nft")


def test_without_the_check_of_the_mark_everything_is_masqueraded():
    assert texts.told(ask(texts.without(texts.healthy(),
                                        texts.UNMARKED))) == [("lost_match", "nat", "KUBE-POSTROUTING")]


def test_a_check_of_the_mark_that_lets_the_wrong_packets_go():
    text = texts.instead(texts.healthy(), texts.UNMARKED, texts.UNMARKED.replace("! --mark", "--mark"))
    assert texts.told(ask(text)) == [("lost_match", "nat", "KUBE-POSTROUTING")]


@pytest.mark.parametrize(
    "rules", [
        # Up to 1.18 the mark is on the rule itself.
        ['-m comment --comment "kubernetes service traffic requiring SNAT" -m mark --mark 0x4000/0x4000 -j MASQUERADE'],
        # ipvs mode looks at the loop-back set first.
        ["-m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE", "-m mark ! --mark 0x4000/0x4000 -j RETURN",
         "-j MARK --set-xmark 0x4000/0x0", "-j MASQUERADE --random-fully"],
    ])
def test_other_versions_and_modes_masquerade_soundly(rules):
    assert ask(chain("KUBE-POSTROUTING", "nat", *rules)) == []


def test_older_kubelets_rule_for_marked_packets():
    whole = ('-m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j '
             'DROP')
    assert ask(chain("KUBE-FIREWALL", "filter", whole)) == []
    assert len(ask(chain("KUBE-FIREWALL", "filter", whole.replace("-m mark --mark 0x8000/0x8000 ", "")))) == 1


LOST = [
    ("nat", "KUBE-NODE-PORT", "-j RETURN"),
    ("filter", "KUBE-SERVICES", "-j REJECT --reject-with icmp-port-unreachable"),
    ("filter", "KUBE-PROXY-FIREWALL", "-j DROP"), ("filter", "KUBE-EXTERNAL-SERVICES", "-j DROP"),
    ("filter", "KUBE-NODEPORTS", "-j ACCEPT"), ("filter", "KUBE-IPVS-FILTER", "-j RETURN"),
    ("filter", "KUBE-SOURCE-RANGES-FIREWALL", "-j RETURN"), ("nat", "KUBE-LOAD-BALANCER", "-j RETURN"),
    ("filter", "KUBE-POD-FW-AAAAAAAAAAAAAAAA", "-j REJECT --reject-with icmp-port-unreachable"),
    ("filter", "KUBE-NWPLCY-AAAAAAAAAAAAAAAA", "-j RETURN"), ("filter", "KUBE-ROUTER-FORWARD", "-j ACCEPT"),
    ("filter", "cali-FORWARD", "-j ACCEPT"), ("raw", "cali-PREROUTING", "-j ACCEPT"),
    ("mangle", "cali-POSTROUTING", "-j RETURN"), ("filter", "cali-failsafe-in", "-j ACCEPT"),
    ("nat", "cali-nat-outgoing", "-j MASQUERADE --random-fully"),
    ("filter", "CILIUM_INPUT", '-m comment --comment "cilium: ACCEPT for proxy traffic" -j ACCEPT'),
    ("nat", "OLD_CILIUM_POST_nat", "-j MASQUERADE"), ("filter", "FLANNEL-FWD", "-j ACCEPT"),
    ("nat", "FLANNEL-POSTRTG", "-j RETURN"), ("nat", "FLANNEL-POSTRTG", "-j MASQUERADE"),
    ("filter", "WEAVE-NPC-EGRESS", "-j DROP"), ("filter", "WEAVE-NPC", "-j ACCEPT"), ("nat", "WEAVE", "-j MASQUERADE"),
    ("nat", "AWS-SNAT-CHAIN-0", "-j RETURN"),
    ("nat", "AWS-SNAT-CHAIN-1", "-j SNAT --to-source 192.0.2.1 --random-fully"),
    ("filter", "AZURE-NPM-INGRESS", "-j DROP"), ("filter", "AZURE-NPM-EGRESS", "-j DROP"),
    ("nat", "CNI-HOSTPORT-MASQ", "-j MASQUERADE"), ("nat", "CNI-da496b9a098ae9e1e87cd049", "-j MASQUERADE"),
    ("filter", "CNI-ISOLATION-STAGE-2", "-j DROP"),
    ("nat", "CNI-DN-4b4398da9cebdf54f85fe", "-j DNAT --to-destination 10.244.1.9:80"),
]


@pytest.mark.parametrize("table, name, rule", LOST)
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_these_never_go_without_a_match(family, table, name, rule):
    text = texts.small(table, name, ["-A %s %s" % (name, rule)], family)
    assert [(row["kind"], row["family"], row["chain"], row["text"])
            for row in ask(text)] == [("lost_match", family, name, "-A %s %s" % (name, rule))]
    matched = "-A %s -m mark --mark 0x1/0x1 %s" % (name, rule)
    if " DNAT " not in rule:
        assert ask(texts.small(table, name, [matched], family)) == []


BARE = [
    ("filter", "KUBE-SOURCE-RANGES-FIREWALL",
     ["-m set --match-set KUBE-LOAD-BALANCER-SOURCE-IP dst,dst,src -j RETURN", "-j DROP"]),
    ("nat", "KUBE-LOAD-BALANCER", ["-m set --match-set KUBE-LOAD-BALANCER-LOCAL dst,dst -j RETURN",
                                   "-j KUBE-MARK-MASQ"]), ("nat", "KUBE-FIREWALL", ["-j KUBE-MARK-DROP"]),
    ("nat", "KUBE-FW-AAAAAAAAAAAAAAAA", ['-m comment --comment "other traffic will be dropped"']),
    ("nat", "KUBE-FW-AAAAAAAAAAAAAAAA", ["-j KUBE-MARK-DROP"]),
    ("nat", "KUBE-MARK-DROP", ["-j MARK --set-xmark 0x8000/0x8000"]),
    ("filter", "cali-wl-to-host", ["-j X", '-m comment --comment "Configured DefaultEndpointToHostAction" -j ACCEPT']),
    ("filter", "cali-tw-cali1234",
     ["-m mark --mark 0x10000/0x10000 -j RETURN", '-m comment --comment "Drop if no profiles matched" -j DROP']),
    ("filter", "cali-fw-cali1234", ['-m comment --comment "Endpoint admin disabled" -j DROP']),
    ("filter", "cali-from-wl-dispatch", ["-i cali1234 -g X", '-m comment --comment "Unknown interface" -j DROP']),
    ("filter", "cali-pi-_policy", ["-j DROP", "-m mark --mark 0x10000/0x10000 -j RETURN"]),
    ("raw", "cali-PREROUTING", ["-j MARK --set-xmark 0x0/0xf0000"]),
    ("filter", "cali-FORWARD", ["-j X", "-m mark --mark 0x0/0x10000 -j X"]),
    ("filter", "AZURE-NPM-ACCEPT", ["-j MARK --set-xmark 0x0/0xffffffff", "-j ACCEPT"]),
    ("filter", "AZURE-NPM", ["-j RETURN", "-j X"]),
    ("filter", "KUBE-NWPLCY-DEFAULT", ["-j MARK --set-xmark 0x10000/0x10000"]),
    ("filter", "KUBE-POD-FW-AAAAAAAAAAAAAAAA", ["-j MARK --set-xmark 0x0/0x10000"]),
    ("filter", "WEAVE-NPC-EGRESS-ACCEPT", ["-j MARK --set-xmark 0x40000/0x40000"]),
    ("nat", "AWS-CONNMARK-CHAIN-0", ["-j CONNMARK --set-xmark 0x80/0x80"]),
    ("nat", "CNI-HOSTPORT-SETMARK", ["-j MARK --set-xmark 0x2000/0x2000"]),
    ("filter", "CNI-ISOLATION-STAGE-1", ["-i br0 ! -o br0 -j X", "-j RETURN"]),
    ("filter", "CNI-ISOLATION-STAGE-2", ["-o br0 -j DROP", "-j RETURN"]), ("filter", "DOCKER-USER", ["-j RETURN"]),
    ("filter", "MY-FIREWALL", ["-j DROP"]), ("filter", "ufw-skip-to-policy-input", ["-j DROP"]),
    ("filter", "FWDI_public", ["-j DROP"]), ("filter", "FORWARD", ["-j DROP"]), ("filter", "INPUT", ["-j ACCEPT"]),
    ("nat", "KUBE-SEP-AAAAAAAAAAAAAAAA", ["-j KUBE-MARK-MASQ"]),
    ("nat", "KUBE-EXT-AAAAAAAAAAAAAAAA", ["-j KUBE-MARK-MASQ", "-j KUBE-SVC-AAAAAAAAAAAAAAAA"]),
]


@pytest.mark.parametrize("table, name, rules", BARE)
def test_these_may_be_bare(table, name, rules):
    user = "X KUBE-MARK-MASQ KUBE-MARK-DROP" if name in ("FORWARD", "INPUT") else "X KUBE-MARK-MASQ " + name
    assert ask(texts.small(table, user, ["-A %s %s" % (name, rule) for rule in rules])) == []


@pytest.mark.parametrize("rule", ["-j DROP", "-j RETURN", "-j ACCEPT"])
def test_in_calicos_chain_of_a_workload_only_the_last_may_be_bare(rule):
    rows = ask(chain("cali-tw-cali1234", "filter", "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", rule,
                     "-j X"))
    assert [row["text"] for row in rows] == ["-A cali-tw-cali1234 " + rule]


def test_a_drop_beside_the_canonical_one_was_added_by_somebody():
    assert ask(texts.adding(texts.healthy(), "filter", "-A KUBE-FORWARD -j DROP")) == []
    assert ask(texts.adding(texts.healthy(), "filter", "-A KUBE-SERVICES -j DROP")) == []
    assert len(ask(texts.adding(texts.healthy(), "filter", "-A KUBE-FORWARD -j ACCEPT"))) == 1


@pytest.mark.parametrize(
    "table, old, new", [
        ("nat", "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA",
         "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j KUBE-SVC-AAAAAAAAAAAAAAAA"),
        ("nat", "-A KUBE-NODEPORTS -p tcp -m tcp --dport 30080 -j KUBE-EXT-AAAAAAAAAAAAAAAA",
         "-A KUBE-NODEPORTS -p tcp -m tcp -j KUBE-EXT-AAAAAAAAAAAAAAAA"),
        ("nat", "-A CNI-DN-4b4398da9cebdf54f85fe -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.1.9:80",
         "-A CNI-DN-4b4398da9cebdf54f85fe -p tcp -j DNAT --to-destination 10.244.1.9:80"),
        ("filter", "-A KUBE-NODEPORTS -p tcp -m tcp --dport 32000 -j ACCEPT", "-A KUBE-NODEPORTS -p tcp -j ACCEPT"),
        ("filter", "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j REJECT",
         "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j REJECT"),
        # The rule of a NodePort without endpoints: without its port it closes the whole node.
        ("filter", "-A KUBE-EXTERNAL-SERVICES -p tcp -m addrtype --dst-type LOCAL -m tcp --dport 30023 -j DROP",
         "-A KUBE-EXTERNAL-SERVICES -p tcp -m addrtype --dst-type LOCAL -m tcp -j DROP"),
    ])
def test_a_lost_port_is_a_lost_match(table, old, new):
    user = ("KUBE-SERVICES KUBE-NODEPORTS KUBE-EXTERNAL-SERVICES KUBE-SVC-AAAAAAAAAAAAAAAA KUBE-EXT-AAAAAAAAAAAAAAAA "
            "CNI-DN-4b4398da9cebdf54f85fe")
    assert ask(texts.small(table, user, [old])) == []
    rows = ask(texts.small(table, user, [new, new.replace("-p tcp", "-p udp", 1)]))
    assert [(row["text"], row["detail"].split(";")[0], row["count"])
            for row in rows] == [(new, "the destination port is missing", 2)]


@pytest.mark.parametrize("at", range(0, 3000, 61))
def test_what_was_read_of_a_table_that_is_cut_off_is_judged(at):
    whole = texts.small("filter", "KUBE-FIREWALL", ["-A KUBE-FIREWALL -j DROP"])
    assert ask(texts.instead(whole, "COMMIT\n", "")) == ask(whole) != []
    assert ask(texts.healthy()[:at]) == []


def test_the_folded_service_rules_stay_out_of_it():
    assert ask(texts.adding(texts.healthy(), "nat", "-A KUBE-SERVICES -d 10.96.0.9/32 -j KUBE-MARK-MASQ")) == []


SVC, EXT = texts.SVC, texts.EXT
JUMPS = [("KUBE-SERVICES", SVC), ("KUBE-SERVICES", EXT), ("KUBE-SERVICES", "KUBE-FW-AAAAAAAAAAAAAAAA"),
         ("KUBE-NODEPORTS", EXT), ("KUBE-NODEPORTS", SVC), ("KUBE-NODEPORTS", "KUBE-XLB-AAAAAAAAAAAAAAAA"),
         ("KUBE-SERVICES", "KUBE-MARK-MASQ"), ("KUBE-NODEPORTS", "KUBE-MARK-MASQ"),
         ("KUBE-NODE-PORT", "KUBE-MARK-MASQ"), (SVC, "KUBE-MARK-MASQ"), ("KUBE-SVL-AAAAAAAAAAAAAAAA", "KUBE-MARK-MASQ")]
MASQUERADING = "-A %s -d 10.96.0.1/32 -p tcp -m comment --comment web -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC


@pytest.mark.parametrize("name, target", JUMPS)
@pytest.mark.parametrize("mode", ["iptables", "ipvs", None])
@pytest.mark.parametrize("comment", ["", '-m comment --comment "shop/web:http -d 10.96.0.1/32" '])
def test_a_bare_jump_to_a_chain_of_services(name, target, mode, comment):
    rule = "-A %s %s-j %s" % (name, comment, target)
    rule_set = texts.read(texts.small("nat", " ".join(sorted({name, target})), [rule, rule.replace("-d ", "-s ")]))
    rows = list(ask_lost_match(rule_set, texts.setting(rule_set, mode=mode)))
    assert [(row["kind"], row["chain"], row["text"], row["count"]) for row in rows] == [("lost_match", name, rule, 2)]


@pytest.mark.parametrize("name", ["KUBE-FW-AAAAAAAAAAAAAAAA", "KUBE-XLB-AAAAAAAAAAAAAAAA", EXT,
                                  "KUBE-SEP-AAAAAAAAAAAAAAAA", "KUBE-LOAD-BALANCER"])
def test_where_all_is_masqueraded_the_jump_is_bare(name):
    assert ask(texts.small("nat", "KUBE-MARK-MASQ " + name, ["-A %s -j KUBE-MARK-MASQ" % name])) == []


def test_a_service_masquerades_its_own_address_only():
    text = texts.instead(texts.healthy(), "-A %s -m comment" % SVC, MASQUERADING + "\n-A %s -m comment" % SVC)
    assert ask(text) == [], "also where everything that goes to a Service is masqueraded"
    bare = "-A %s -j KUBE-MARK-MASQ" % SVC
    assert [(row["kind"], row["text"])
            for row in ask(texts.instead(text, MASQUERADING, bare))] == [("lost_match", bare)]


@pytest.mark.parametrize("rule",
                         ["KUBE-SERVICES ! -s 10.244.0.0/16", "KUBE-SERVICES ! -i cni0", "KUBE-NODE-PORT -p tcp"])
def test_in_ipvs_mode_a_rule_that_masquerades_looks_at_a_set(rule):
    def asked(mode, matched):
        line = "-A %s %s-j KUBE-MARK-MASQ" % (rule, matched)
        rule_set = texts.read(texts.small("nat", rule.split()[0] + " KUBE-MARK-MASQ", [line]))
        return [(row["kind"], row["text"] == line)
                for row in ask_lost_match(rule_set, texts.setting(rule_set, mode=mode))]
    assert asked("ipvs", " ") == [("lost_match", True)]
    assert asked("ipvs", " -m set --match-set KUBE-CLUSTER-IP dst,dst ") == []
    assert asked("iptables", " ") == [], "there it is no rule of kube-proxy"


def service(*rules):
    return "\n".join(["-A %s %s" % (SVC, rule) for rule in rules] + ["-A %s -m comment" % SVC])


@pytest.mark.parametrize("target", ["DROP", "RETURN"])
def test_a_service_that_ends_before_its_balancing(target):
    for first in (("-j " + target,), ("-m comment --comment mine -j " + target, "-s 198.51.100.1/32 -j ACCEPT")):
        rows = ask(texts.instead(texts.healthy(), "-A %s -m comment" % SVC, service(*first)))
        assert [(row["kind"], row["table"], row["chain"], row["text"])
                for row in rows] == [("unexpected_drop", "nat", SVC, "-A %s %s" % (SVC, first[0]))]
    before = ("-A %s -m comment --comment other -m statistic --mode random --probability 0.5 -j "
              "KUBE-SEP-AAAAAAAAAAAAAAAA" % SVC)
    rows = ask(texts.small("nat", SVC + " KUBE-SEP-AAAAAAAAAAAAAAAA", ["-A %s -j %s" % (SVC, target), before]))
    assert texts.told(rows) == [("unexpected_drop", "nat", SVC)], "what comes behind it need not be folded"


@pytest.mark.parametrize("name, rules", [
    ("KUBE-SVL-AAAAAAAAAAAAAAAA", ["-j DROP"]), ("KUBE-SVL-AAAAAAAAAAAAAAAA", ["-j KUBE-MARK-DROP"]),
    (SVC, ["-j KUBE-SEP-AAAAAAAAAAAAAAAA", "-j RETURN"]),
])
def test_a_service_chain_that_may_end_so(name, rules):
    user = "KUBE-MARK-DROP KUBE-SEP-AAAAAAAAAAAAAAAA " + name
    assert ask(texts.small("nat", user, ["-A %s %s" % (name, rule) for rule in rules])) == []
