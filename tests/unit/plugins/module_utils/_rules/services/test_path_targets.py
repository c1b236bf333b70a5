# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that refuse nothing and cut Services off: NOTRACK, marks that are cleared, pods accepted before they are
masqueraded; and similar rules that do no harm."""

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask

# chain_texts' Services are 10.96.0.1 to .3, port 80/tcp, with the endpoints 10.244.1.1 to .3, port 8080.
REAL = pytest.mark.parametrize("name", ["kube-proxy-1.36.3-nft-ipv4", "kube-proxy-1.30.5-legacy-ipv4"])


def found(text, **known):
    rows = ask([texts.read(text)], texts.setting_by(**dict({"kubelet": False}, **known)))[0]
    return [(row["kind"], row["table"], row["chain"], row["text"]) for row in rows]


def node(table, *lines, **how):
    """A healthy node with these lines in one of its tables; the rules come first unless `first=False`."""
    healthy = texts.healthy(how.get("family", "ipv4"))
    if table == "raw":
        return texts.small(table, " ".join(line.split()[0][1:] for line in lines if line[0] == ":"),
                           [line for line in lines if line[0] == "-"]) + healthy
    return texts.adding(healthy, table, *lines, first=how.get("first", True))


@REAL
@pytest.mark.parametrize("table, rule, first, kind",
                         [
                             ("raw", "-A PREROUTING -j CT --notrack", True, "untracked"),
                             ("raw", "-A PREROUTING -d 172.30.0.0/16 -j CT --notrack", True, "untracked"),
                             ("mangle", "-A POSTROUTING -j MARK --set-xmark 0x0/0xffffffff", False, "mark_cleared"),
                             ("nat", "-A POSTROUTING -s 10.128.0.0/14 -j ACCEPT", True, "anchor_shadowed"),
                         ])
def test_the_rules_of_others_on_real_nodes(table, rule, first, kind, name):
    """The rules of others are saved together with kube-proxy's own; without them nothing is reported."""
    healthy = kube_audit.sample(name)
    assert found(healthy) == []
    text = healthy if "*%s\n" % table in healthy else texts.small(table, "", [], "ipv4",
                                                                  "legacy" if "legacy" in name else "nft") + healthy
    assert found(texts.adding(text, table, rule, first=first)) == [(kind, table, rule.split()[1], rule)]


UNTRACKED = ["-j CT --notrack", "-j NOTRACK", "-d 10.96.0.0/12 -j CT --notrack",
             "-d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j CT --notrack", "-p tcp -j CT --notrack"]


@pytest.mark.parametrize("hook", ["PREROUTING", "OUTPUT"])
@pytest.mark.parametrize("rule", UNTRACKED)
def test_packets_that_conntrack_does_not_see(rule, hook):
    rule = "-A %s %s" % (hook, rule)
    assert found(node("raw", rule)) == [("untracked", "raw", hook, rule)]
    assert [row for row in found(node("raw", rule), mode="ipvs")
            if row[0] == "untracked"] == [], "IPVS has connections of its own"
    mine = node("raw", ":MINE - [0:0]", "-A %s -p tcp -j MINE" % hook, rule.replace(hook, "MINE"))
    assert found(mine) == [("untracked", "raw", "MINE", rule.replace(hook, "MINE"))]


@pytest.mark.parametrize("rule", ["-s 10.244.0.0/16 -j CT --notrack", "-d 10.244.0.0/16 -j CT --notrack",
                                  "-s 10.244.1.0/24 -d 10.244.1.0/24 -j CT --notrack"])
def test_pods_that_conntrack_does_not_see_in_either_direction(rule):
    assert found(node("raw", "-A PREROUTING " + rule)) == [("untracked", "raw", "PREROUTING", "-A PREROUTING " + rule)]


@pytest.mark.parametrize(
    "rule", [
        "-i lo -j CT --notrack", "-i docker0 -j CT --notrack", "-p tcp -m tcp --dport 22 -j CT --notrack",
        "-p udp -m udp --dport 8472 -j CT --notrack", "-p udp -m udp --dport 53 -j CT --notrack",
        "-d 192.0.2.0/24 -j CT --notrack", "-s 192.0.2.0/24 -j CT --notrack", "-d 169.254.20.10/32 -j CT --notrack",
        "-m set --match-set untracked dst -j CT --notrack", "-p icmp -j CT --notrack", "-p tcp -j CT --helper ftp",
        "-j CT --zone 1", "-i eth1 -j CT --notrack",
    ])
def test_what_else_is_not_tracked(rule):
    assert found(node("raw", "-A PREROUTING " + rule)) == []


def test_a_dns_cache_that_listens_on_the_address_of_the_clusters_dns():
    raw = ["-A %s -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m comment --comment \"NodeLocal DNS Cache: skip "
           "conntrack\" -j CT --notrack" % hook for hook in ("PREROUTING", "OUTPUT")]
    assert len(found(node("raw", *raw))) == 2
    accept = ("-A INPUT -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -m comment --comment \"NodeLocal DNS Cache: allow DNS "
              "traffic\" -j ACCEPT")
    assert found(texts.adding(node("raw", *raw), "filter", accept, first=True)) == []


@pytest.mark.parametrize("hook", ["FORWARD", "POSTROUTING"])
@pytest.mark.parametrize(
    "rule", [
        "-j MARK --set-xmark 0x0/0xffffffff", "-j MARK --set-xmark 0x1/0xffffffff", "-j MARK --and-mark 0xff",
        "-p tcp -j MARK --set-xmark 0x0/0x4000", "-s 10.244.0.0/16 -j MARK --set-xmark 0x0/0xffffffff",
        "-m mark --mark 0x4000/0x4000 -j MARK --set-xmark 0x0/0x4000",
        "-m mark ! --mark 0x1 -j MARK --set-xmark 0x1/0xffffffff",
    ])
def test_a_mark_that_is_cleared(rule, hook):
    rule = "-A %s %s" % (hook, rule)
    assert found(node("mangle", rule)) == [("mark_cleared", "mangle", hook, rule)]
    assert [row for row in found(node("mangle", rule), mode="ipvs") if row[0] == "mark_cleared"] == []


@pytest.mark.parametrize("rule", [
    # Rules of Calico, Cilium, Tailscale and flow offloading have masks; a traffic shaper marks only packets without a
    # mark, or only one interface.
    "-A POSTROUTING -j MARK --set-xmark 0x0/0xf0000", "-A FORWARD -j MARK --set-xmark 0x200/0xf00",
    "-A FORWARD -j MARK --set-xmark 0x40000/0xff0000",
    "-A POSTROUTING -m mark --mark 0x0 -j MARK --set-xmark 0x1/0xffffffff",
    "-A POSTROUTING -o eth1 -j MARK --set-xmark 0x0/0xffffffff",
    "-A POSTROUTING -d 192.0.2.0/24 -j MARK --set-xmark 0x0/0xffffffff",
    "-A PREROUTING -j MARK --set-xmark 0x0/0xffffffff",
    "-A OUTPUT -j MARK --set-xmark 0x0/0xffffffff", "-A POSTROUTING -j MARK --or-mark 0x1",
    "-A INPUT -j MARK --set-xmark 0x0/0xffffffff",
    "-A POSTROUTING -p udp -j MARK --set-xmark 0x0/0xffffffff",
    "-A POSTROUTING -m mark --mark 0x1/0x1 -j MARK --set-xmark 0x0/0xffffffff",
])
def test_a_mark_that_stays(rule):
    assert found(node("mangle", rule)) == []


@pytest.mark.parametrize("family, pods", [("ipv4", "10.244.0.0/16"), ("ipv6", "fd00:10:244::/56")])
@pytest.mark.parametrize("end", ["-s", "-d"])
@pytest.mark.parametrize("target", ["ACCEPT", "RETURN"])
def test_pods_that_are_never_masqueraded(target, end, family, pods):
    rule = "-A POSTROUTING %s %s -j %s" % (end, pods, target)
    assert found(node("nat", rule, family=family)) == [("anchor_shadowed", "nat", "POSTROUTING", rule)]
    assert found(node("nat", rule, family=family, first=False)) == [], "behind kube-proxy's"
    mine = node("nat", ":MINE - [0:0]", "-A POSTROUTING -p tcp -j MINE", "-A MINE %s %s -j ACCEPT" % (end, pods),
                family=family)
    assert found(mine) == [("anchor_shadowed", "nat", "MINE", "-A MINE %s %s -j ACCEPT" % (end, pods))]


@pytest.mark.parametrize("lines", [
    # Flannel before 0.21, a CNI configuration with ipMasq, Cilium, Calico's jump, Docker, IPsec, a company's network,
    # loopback.
    ["-A POSTROUTING -s 10.244.0.0/16 -d 10.244.0.0/16 -m comment --comment \"flanneld masq\" -j RETURN",
     "-A POSTROUTING -s 10.244.0.0/16 ! -d 224.0.0.0/4 -m comment --comment \"flanneld masq\" -j MASQUERADE "
     "--random-fully"],
    [":CNI-0123456789abcdef01234567 - [0:0]", "-A POSTROUTING -s 10.244.1.1/32 -j CNI-0123456789abcdef01234567",
     "-A CNI-0123456789abcdef01234567 -d 10.244.1.0/24 -j ACCEPT",
     "-A CNI-0123456789abcdef01234567 ! -d 224.0.0.0/4 -j MASQUERADE"],
    [":CILIUM_POST_nat - [0:0]", "-A POSTROUTING -j CILIUM_POST_nat",
     "-A CILIUM_POST_nat -m mark --mark 0xa00/0xe00 -j ACCEPT",
     "-A CILIUM_POST_nat -s 10.244.1.0/24 -m set --match-set cilium_node_set_v4 dst -j ACCEPT"],
    ["-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j ACCEPT"],
    ["-A POSTROUTING -s 10.244.0.0/16 -d 192.0.2.0/24 -j ACCEPT"],
    ["-A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j ACCEPT"],
    ["-A POSTROUTING -m policy --dir out --pol ipsec -j ACCEPT"],
    ["-A POSTROUTING -s 192.0.2.0/24 -j ACCEPT"], ["-A POSTROUTING -o lo -j ACCEPT"],
    ["-A POSTROUTING -o docker0 -j RETURN"],
    ["-A POSTROUTING -s 10.244.0.0/16 -j MASQUERADE"], ["-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"],
    ["-A POSTROUTING -p udp -j ACCEPT"], ["-A POSTROUTING -d 10.96.0.0/12 -j ACCEPT"],
])
def test_what_else_stands_before_the_masquerade(lines):
    assert [row for row in found(node("nat", *lines)) if row[0] != "masquerade_missing"] == []


@pytest.mark.parametrize("table, rule", [("raw", "-A PREROUTING -j CT --notrack"),
                                         ("mangle", "-A POSTROUTING -j MARK --set-xmark 0x0/0xffffffff"),
                                         ("nat", "-A POSTROUTING -s 10.244.0.0/16 -j ACCEPT")])
def test_a_table_that_breaks_off(table, rule):
    text = node(table, rule)
    end = text.index("COMMIT", text.index("*%s\n" % table))
    assert [row for row in found(text[:end]) if row[0] in ("untracked", "mark_cleared", "anchor_shadowed")] == []
