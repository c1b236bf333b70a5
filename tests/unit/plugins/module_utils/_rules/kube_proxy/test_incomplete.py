# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single deleted rules of kube-proxy, where the remaining rules show the loss."""

import chain_texts as texts
import kube_cluster
import kube_ipvs
import kube_rules
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules import questions
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.incomplete import ask_incomplete

SVC, EXT, SVL = texts.SVC, texts.EXT, texts.SVC.replace("SVC", "SVL")
CLUSTER = ["-j KUBE-MARK-MASQ", "-j " + SVC]
LOCAL = ["-s 10.244.0.0/16 -j " + SVC, "-m addrtype --src-type LOCAL -j KUBE-MARK-MASQ",
         "-m addrtype --src-type LOCAL -j " + SVC, "-j " + SVL]
PORTAL = ('-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "shop/web1:http cluster IP" -m tcp --dport 80 '
          '-j ' + SVC)


def ask(text, **known):
    rule_set = texts.read(text)
    return texts.told(ask_incomplete(rule_set, texts.setting(rule_set, **known)))


def external(rules):
    """The healthy node with these rules for external traffic of its first Service."""
    lines = [line for line in texts.healthy().split("\n") if not line.startswith("-A %s " % EXT)]
    local = [":%s - [0:0]" % SVL, "-A %s -j %s" % (SVL, SVC.replace("SVC", "SEP"))]
    return texts.adding("\n".join(lines), "nat", *(local + ["-A %s %s" % (EXT, rule) for rule in rules]))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_healthy_node_lacks_nothing(family):
    assert ask(texts.healthy(family)) == []


@pytest.mark.parametrize(
    "rules, told", [
        (CLUSTER, False), (LOCAL, False), (CLUSTER[:1], True), (CLUSTER[1:], True), (LOCAL[1:], False),
        (LOCAL[:3], False), (LOCAL[:1] + LOCAL[2:], True), (LOCAL[:2] + LOCAL[3:], True), (LOCAL[1:3], False),
        (["-s 10.244.0.0/16 -j KUBE-MARK-MASQ", "-j " + SVC], True),
    ])
def test_the_rules_of_external_traffic_go_together(rules, told):
    assert ask(external(rules)) == ([("emptied_chain", "nat", EXT)] if told else [])


def test_a_cluster_ip_that_only_external_traffic_is_left_of():
    lost = texts.without(texts.healthy(), PORTAL)
    rows = questions.ask([texts.read(lost), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert texts.told(rows) == [("anchor_missing", "nat", EXT)]
    # This node refuses its ClusterIP: the internal traffic policy is Local, and none of its endpoints is on this node.
    refused = ('-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "shop/web1:http has no local endpoints" '
               '-m tcp --dport 80 -j DROP')
    assert ask(texts.adding(lost, "filter", refused)) == []
    assert ask(texts.instead(texts.healthy(), PORTAL, PORTAL.replace(SVC, SVL))) == []
    assert ask(lost[:lost.index("*filter")] + lost[lost.index("*nat"):],
               mode="iptables") == [("anchor_missing", "nat", EXT)]


@pytest.mark.parametrize("chain, lines, what", [
    (texts.OTHER_SVC, ["-A KUBE-SERVICES -d 10.96.0.2/32"], "the ClusterIP of the Service is"),
    (EXT, ["-A KUBE-NODEPORTS -p tcp"], "NodePort and external addresses of the Service are")])
def test_a_service_that_nothing_leads_to_is_told_by_its_name(chain, lines, what):
    # An empty KUBE-NODEPORTS would itself be reported.
    text = texts.adding(texts.healthy(), "nat",
                        "-A KUBE-NODEPORTS -d 192.0.2.1/32 -p tcp -m tcp --dport 30099 -j %s" % texts.THIRD_SVC)
    text = texts.without(text, *[line for line in texts.healthy().split("\n") if line.startswith(tuple(lines))])
    read = [texts.read(text)]
    rows = questions.ask(read, texts.setting_by())[0]
    assert texts.told(rows) == [("anchor_missing", "nat",
                                 chain)] and rows[0]["detail"] == "no rule jumps to it: %s not reached" % what
    # The chain is empty too, so no rule shows that the Service still exists; and in ipvs mode all of these rules are
    # left over.
    empty = "\n".join(line for line in text.split("\n") if not line.startswith("-A %s " % chain))
    assert "anchor_missing" not in [row["kind"] for row in questions.ask([texts.read(empty)], texts.setting_by())[0]]
    assert ("anchor_missing", "nat", chain) not in texts.told(questions.ask(read, texts.setting_by(mode="ipvs"))[0])


def test_before_1_24_a_node_port_leads_to_the_chain_of_the_service():
    text = texts.without(texts.healthy(), PORTAL, ":%s - [0:0]" % EXT)
    text = "\n".join(line for line in text.split("\n")
                     if not line.startswith("-A %s " % EXT)).replace("-j " + EXT, "-j " + SVC)
    assert ask(text) == [("anchor_missing", "nat", SVC)]


def test_a_rule_that_all_other_services_have():
    masquerading = ["-A %s ! -s 10.244.0.0/16 -d 10.96.0.%d/32 -p tcp -m comment --comment \"shop/web%d:http cluster "
                    "IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ" % (chain, number, number)
                    for number, chain in enumerate((SVC, texts.OTHER_SVC, texts.THIRD_SVC), 1)]
    assert ask(texts.without(texts.healthy(), masquerading[0])) == [("emptied_chain", "nat", SVC)]
    assert ask(texts.without(texts.healthy(), *masquerading)) == [], "nothing tells what is local"
    assert ask(texts.without(texts.healthy(), *masquerading[:2])) == [], "nobody knows which is right"
    by_interface = texts.instead(texts.healthy(), "! -s 10.244.0.0/16 -d 10.96.0.1/32", "-d 10.96.0.1/32 ! -i cali+")
    assert ask(by_interface) == []


def ipvs(*gone, **how):
    cluster = kube_cluster.every_kind("ipv4")
    lines = kube_rules.restore_input(how.get("version", (1, 33)), "ipvs", "ipv4", cluster).text().split("\n")
    kept = [line for line in lines if not any(word in line for word in gone)]
    assert len(kept) == len(lines) - len(gone)
    text = "\n".join(kept).replace("-I ", "-A ")
    for table in ("filter", "mangle", "nat"):
        built_in = "".join(":%s ACCEPT [0:0]\n" % chain for chain in texts.CHAINS[table][0].split())
        text = text.replace("*%s\n" % table,
                            "%s*%s\n%s" % (texts.HEADERS["nft"] % texts.WORDS["ipv4"], table, built_in))
    return ask(text, mode=how.get("mode", "ipvs"), kubernetes=how.get("version", (1, 33)))


@pytest.mark.parametrize("version", [(1, 20), (1, 24), (1, 25), (1, 28), (1, 33)])
def test_ipvs_mode_lacks_nothing(version):
    assert ipvs(version=version) == []


@pytest.mark.parametrize("gone, table, chain",
                         [
                             ("--dst-type LOCAL -j KUBE-NODE-PORT", "nat", "KUBE-SERVICES"),
                             ("-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ", "nat", "KUBE-LOAD-BALANCER"),
                             ("-A KUBE-SOURCE-RANGES-FIREWALL -j DROP", "filter", "KUBE-SOURCE-RANGES-FIREWALL"),
                             ("requiring SNAT", "nat", "KUBE-POSTROUTING"),
                             ("-A KUBE-IPVS-FILTER -m set --match-set %s" % kube_ipvs.set_name("CLUSTER-IP", "ipv4"),
                              "filter", "KUBE-IPVS-FILTER"),
                         ])
def test_a_rule_that_ipvs_mode_always_has(gone, table, chain):
    assert ipvs(gone) == [("emptied_chain", table, chain)]
    assert ipvs(gone, mode="iptables") == []
