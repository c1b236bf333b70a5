# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deleted rules of kube-proxy: refusals that guard Services and the node, and single rules that the others miss."""

import chain_texts as texts
import kube_audit
import kube_cluster
import kube_rules
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy.emptied import ask_incomplete
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting

# Refusals that guard Services and the node: deleted, or rightly not there.

REAL = pytest.mark.parametrize("name, kubernetes",
                               [("kube-proxy-1.36.3-nft-%s", (1, 36)), ("kube-proxy-1.30.5-legacy-%s", (1, 30))])
FIREWALL, RANGES = ("filter", "KUBE-FIREWALL"), ("filter", "KUBE-PROXY-FIREWALL")
FW = "KUBE-FW-AAAAAAAAAAAAAAAA"


def found(*dumps, **known):
    def setting_by(rule_set):
        fields = dict({"mode": "iptables", "kubernetes": (1, 30), "kubelet": False, "ports": {}}, **known)
        return Setting(rule_set.family, rule_set.backend, **fields)
    rows = ask([texts.read(text) for text in dumps], setting_by)[0]
    return [(row["kind"], row["table"], row["chain"]) for row in rows]


def without(text, *starts):
    kept = [line for line in text.split("\n") if not line.startswith(starts)]
    assert len(kept) < len(text.split("\n"))
    return "\n".join(kept)


@REAL
@cases
def test_what_was_deleted_on_a_real_node(start, place, name, kubernetes):
    ipv4, ipv6 = [kube_audit.sample(name % family) for family in ("ipv4", "ipv6")]
    assert found(ipv4, ipv6, kubernetes=kubernetes) == []
    assert found(without(ipv4, start), ipv6, kubernetes=kubernetes) == [("emptied_chain",) + place]


@REAL
def test_invalid_packets_of_a_real_node(name, kubernetes):
    ipv4, ipv6 = [kube_audit.sample(name % family) for family in ("ipv4", "ipv6")]
    bare = [without(text, "-A KUBE-FORWARD -m conntrack --ctstate INVALID") for text in (ipv4, ipv6)]
    lost = ("emptied_chain", "filter", "KUBE-FORWARD")

    def asked(*texts_of_families, **more):
        return found(*texts_of_families, kubernetes=kubernetes, **more)
    for liberal in (False, None):
        assert asked(bare[0], ipv6, liberal=liberal) == asked(ipv4, bare[1], liberal=liberal) == [lost]
    assert asked(*bare, liberal=False) == [lost, lost]
    assert asked(*bare) == [], "nobody knows whether conntrack is liberal"
    assert asked(*bare, liberal=True) == asked(bare[0], ipv6, liberal=True) == []
    assert asked(bare[0]) == [], "the other family was not read"
    assert lost not in asked(*bare, mode="ipvs", liberal=False)


def test_who_guards_the_loopback_interface():
    emptied, lost = without(texts.healthy(), "-A KUBE-FIREWALL "), [("emptied_chain",) + FIREWALL]
    assert found(emptied, kubelet=True) == lost, "kubelet does, also where NodePorts are not served there"
    assert found(emptied, kubelet=None) == found(emptied) == [], "kube-proxy does only where it serves NodePorts there"
    served = emptied.replace("! -d 127.0.0.0/8 ", "")
    assert found(served) == lost
    assert found(served, kubernetes=(1, 26)) == found(served, kubernetes=None) == [], "it came with 1.27"
    marked = texts.adding(emptied, "filter", "-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP")
    assert found(marked, kubelet=True) == lost, "the rule of old kubelets is another one"
    failed = without(emptied, ":KUBE-KUBELET-CANARY")
    assert [row for row in found(failed, kubelet=True) if row[0] == "emptied_chain"] == [], "kubelet never came so far"
    assert found(without(texts.healthy("ipv6"), ":KUBE-IPTABLES-HINT")) == [], "IPv6 has no such rule"


def ranges(refusal, version="new", more=()):
    """A load balancer at 203.0.113.9 for clients of 198.51.100.0/24."""
    lines = ["-A KUBE-SERVICES -d 203.0.113.9/32 -p tcp -m comment --comment \"shop/web1:http loadbalancer IP\" -m tcp "
             "--dport 443 -j %s" % FW,
             "-A %s -s 198.51.100.0/24 -m comment --comment \"shop/web1:http loadbalancer IP\" -j %s" % (FW, texts.EXT)]
    refusals = [refusal] if refusal else []
    text = texts.adding(texts.healthy(), "nat", ":%s - [0:0]" % FW, *lines, *more)
    if version == "new":
        return texts.adding(text, "filter", *refusals)
    text = "\n".join(line for line in text.split("\n") if "KUBE-PROXY-FIREWALL" not in line)
    return texts.adding(text, "nat", *refusals)


def test_source_ranges_that_are_enforced():
    drop = "-A KUBE-PROXY-FIREWALL -d 203.0.113.9/32 -p tcp -m tcp --dport 443 -j DROP"
    assert found(ranges(drop)) == []
    for other in ("", drop.replace("443", "80"), drop.replace("113.9", "113.8"), drop.replace("DROP", "RETURN")):
        assert ("emptied_chain",) + RANGES in found(ranges(other)), other
    kinds = [row[0] for row in found(ranges("-A KUBE-PROXY-FIREWALL -d 203.0.113.9/32 -p tcp -j DROP"))]
    assert "emptied_chain" not in kinds, "a rule that lost its port is told as that"


def test_source_ranges_of_older_versions():
    marking = [":KUBE-MARK-DROP - [0:0]", "-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000"]
    refusal = "-A %s -j KUBE-MARK-DROP" % FW
    dropping = ("-A KUBE-FIREWALL -m comment --comment \"kubernetes firewall for dropping marked packets\" -m mark "
                "--mark 0x8000/0x8000 -j DROP")

    def asked(text, drop=dropping, kubelet=True):
        return found(texts.adding(text, "filter", drop) if drop else text, kubernetes=(1, 24), kubelet=kubelet)
    assert asked(ranges(refusal, "old", marking)) == []
    assert asked(ranges("", "old", marking)) == [("emptied_chain", "nat", FW)]
    assert asked(ranges(refusal, "old", marking[:1])) == [("emptied_chain", "nat", "KUBE-MARK-DROP")]
    assert asked(ranges(refusal, "old", marking), drop=None) == [("emptied_chain",) + FIREWALL]
    assert asked(ranges(refusal, "old", marking[:1]), drop=None, kubelet=False) == [], "the mark is kubelet's"


# Single deleted rules of kube-proxy, where the remaining rules show the loss.

SVC, EXT, SVL = texts.SVC, texts.EXT, texts.SVC.replace("SVC", "SVL")
CLUSTER = ["-j KUBE-MARK-MASQ", "-j " + SVC]
LOCAL = ["-s 10.244.0.0/16 -j " + SVC, "-m addrtype --src-type LOCAL -j KUBE-MARK-MASQ",
         "-m addrtype --src-type LOCAL -j " + SVC, "-j " + SVL]
PORTAL = ('-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "shop/web1:http cluster IP" -m tcp --dport 80 '
          '-j ' + SVC)
ask_of_incomplete = texts.asking(ask_incomplete, "kind table chain")


def external(rules):
    """The healthy node with these rules for external traffic of its first Service."""
    local = [":%s - [0:0]" % SVL, "-A %s -j %s" % (SVL, SVC.replace("SVC", "SEP"))]
    lines = ["-A %s %s" % (EXT, rule) for rule in rules]
    return texts.adding(without(texts.healthy(), "-A %s " % EXT), "nat", *local, *lines)


@cases
def test_the_rules_of_external_traffic_go_together(rules, told):
    assert ask_of_incomplete(external(rules)) == ([("emptied_chain", "nat", EXT)] if told else [])


def test_a_cluster_ip_that_only_external_traffic_is_left_of():
    lost = texts.without(texts.healthy(), PORTAL)
    rows = ask([texts.read(lost), texts.read(texts.healthy("ipv6"))], texts.setting_by())[0]
    assert texts.told(rows) == [("anchor_missing", "nat", EXT)]
    # This node refuses its ClusterIP: the internal traffic policy is Local, and none of its endpoints is on this node.
    refused = ('-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "shop/web1:http has no local endpoints" '
               '-m tcp --dport 80 -j DROP')
    assert ask_of_incomplete(texts.adding(lost, "filter", refused)) == []
    assert ask_of_incomplete(texts.instead(texts.healthy(), PORTAL, PORTAL.replace(SVC, SVL))) == []
    assert ask_of_incomplete(lost[:lost.index("*filter")] + lost[lost.index("*nat"):], mode="iptables") == [
        ("anchor_missing", "nat", EXT)]


@pytest.mark.parametrize("chain, lines, what", [
    (texts.OTHER_SVC, ["-A KUBE-SERVICES -d 10.96.0.2/32"], "the ClusterIP of the Service is"),
    (EXT, ["-A KUBE-NODEPORTS -p tcp -m comment"], "NodePort and external addresses of the Service are")])
def test_a_service_that_nothing_leads_to_is_told_by_its_name(chain, lines, what):
    # An empty KUBE-NODEPORTS would itself be reported.
    text = texts.adding(texts.healthy(), "nat",
                        "-A KUBE-NODEPORTS -d 192.0.2.1/32 -p tcp -m tcp --dport 30099 -j %s" % texts.THIRD_SVC)
    text = without(text, *lines)
    read = [texts.read(text)]
    rows = ask(read, texts.setting_by())[0]
    assert texts.told(rows) == [("anchor_missing", "nat", chain)]
    assert rows[0]["detail"] == "no rule jumps to it: %s not reached" % what
    # The chain is empty too, so no rule shows that the Service still exists; and in ipvs mode all of these rules are
    # left over.
    empty = texts.read(without(text, "-A %s " % chain))
    assert "anchor_missing" not in [row["kind"] for row in ask([empty], texts.setting_by())[0]]
    assert ("anchor_missing", "nat", chain) not in texts.told(ask(read, texts.setting_by(mode="ipvs"))[0])


def test_before_1_24_a_node_port_leads_to_the_chain_of_the_service():
    text = without(texts.healthy(), PORTAL, ":%s - [0:0]" % EXT, "-A %s " % EXT).replace("-j " + EXT, "-j " + SVC)
    assert ask_of_incomplete(text) == [("anchor_missing", "nat", SVC)]


def test_a_rule_that_all_other_services_have():
    masquerading = ["-A %s ! -s 10.244.0.0/16 -d 10.96.0.%d/32 -p tcp -m comment --comment \"shop/web%d:http cluster "
                    "IP\" -m tcp --dport 80 -j KUBE-MARK-MASQ" % (chain, number, number)
                    for number, chain in enumerate((SVC, texts.OTHER_SVC, texts.THIRD_SVC), 1)]
    assert ask_of_incomplete(texts.without(texts.healthy(), masquerading[0])) == [("emptied_chain", "nat", SVC)]
    assert ask_of_incomplete(texts.without(texts.healthy(), *masquerading)) == [], "nothing tells what is local"
    assert ask_of_incomplete(texts.without(texts.healthy(), *masquerading[:2])) == [], "nobody knows which is right"
    by_interface = texts.instead(texts.healthy(), "! -s 10.244.0.0/16 -d 10.96.0.1/32", "-d 10.96.0.1/32 ! -i cali+")
    assert ask_of_incomplete(by_interface) == []


def ipvs(*gone, **how):
    cluster = kube_cluster.every_kind("ipv4")
    lines = kube_rules.restore_input(how.get("version", (1, 33)), "ipvs", "ipv4", cluster).text().split("\n")
    kept = [line for line in lines if not any(word in line for word in gone)]
    assert len(kept) == len(lines) - len(gone)
    text, header = "\n".join(kept).replace("-I ", "-A "), texts.HEADERS["nft"] % texts.WORDS["ipv4"]
    for table in ("filter", "mangle", "nat"):
        built_in = "".join(":%s ACCEPT [0:0]\n" % chain for chain in texts.CHAINS[table][0].split())
        text = text.replace("*%s\n" % table, "%s*%s\n%s" % (header, table, built_in))
    return ask_of_incomplete(text, mode=how.get("mode", "ipvs"), kubernetes=how.get("version", (1, 33)))


@pytest.mark.parametrize("version", [(1, 20), (1, 24), (1, 25), (1, 28), (1, 33)])
def test_ipvs_mode_lacks_nothing(version):
    assert ipvs(version=version) == []


@cases
def test_a_rule_that_ipvs_mode_always_has(gone, table, chain):
    assert ipvs(gone) == [("emptied_chain", table, chain)]
    assert ipvs(gone, mode="iptables") == []
