# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refusals that guard Services and the node: deleted, or rightly not there."""

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting

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
@pytest.mark.parametrize("start, place",
                         [
                             ("-A KUBE-PROXY-FIREWALL ", RANGES), ("-A KUBE-FIREWALL ", FIREWALL),
                             ("-A KUBE-FW-", ("nat", "KUBE-FW-IE4GFHGZSXCYMQ3K"))])
def test_what_was_deleted_on_a_real_node(start, place, name, kubernetes):
    ipv4, ipv6 = [kube_audit.sample(name % family) for family in ("ipv4", "ipv6")]
    assert found(ipv4, ipv6, kubernetes=kubernetes) == []
    assert found(without(ipv4, start), ipv6, kubernetes=kubernetes) == [("emptied_chain",) + place]


@REAL
def test_invalid_packets_of_a_real_node(name, kubernetes):
    ipv4, ipv6 = [kube_audit.sample(name % family) for family in ("ipv4", "ipv6")]
    bare = [without(text, "-A KUBE-FORWARD -m conntrack --ctstate INVALID") for text in (ipv4, ipv6)]
    lost = ("emptied_chain", "filter", "KUBE-FORWARD")
    for liberal in (False, None):
        assert found(bare[0], ipv6, kubernetes=kubernetes,
                     liberal=liberal) == found(ipv4, bare[1], kubernetes=kubernetes, liberal=liberal) == [lost]
    assert found(*bare, kubernetes=kubernetes, liberal=False) == [lost, lost]
    assert found(*bare, kubernetes=kubernetes) == [], "nobody knows whether conntrack is liberal"
    assert found(*bare, kubernetes=kubernetes,
                 liberal=True) == found(bare[0], ipv6, kubernetes=kubernetes, liberal=True) == []
    assert found(bare[0], kubernetes=kubernetes) == [], "the other family was not read"
    assert ("emptied_chain", "filter",
            "KUBE-FORWARD") not in found(*bare, kubernetes=kubernetes, mode="ipvs", liberal=False)


def test_who_guards_the_loopback_interface():
    emptied = without(texts.healthy(), "-A KUBE-FIREWALL ")
    assert found(emptied, kubelet=True) == [("emptied_chain",)
                                            + FIREWALL], "kubelet does, also where NodePorts are not served there"
    assert found(emptied, kubelet=None) == found(
        emptied, kubelet=False) == [], "kube-proxy does only where it serves NodePorts there"
    served = emptied.replace("! -d 127.0.0.0/8 ", "")
    assert found(served, kubelet=False) == [("emptied_chain",) + FIREWALL]
    assert found(served, kubelet=False,
                 kubernetes=(1, 26)) == found(served, kubelet=False, kubernetes=None) == [], "it came with 1.27"
    marked = texts.adding(emptied, "filter", "-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP")
    assert found(marked, kubelet=True) == [("emptied_chain",) + FIREWALL], "the rule of old kubelets is another one"
    failed = without(emptied, ":KUBE-KUBELET-CANARY")
    assert [row for row in found(failed, kubelet=True) if row[0] == "emptied_chain"] == [], "kubelet never came so far"
    assert found(without(texts.healthy("ipv6"), ":KUBE-IPTABLES-HINT"), kubelet=False) == [], "IPv6 has no such rule"


def ranges(refusal, version="new", more=()):
    """A load balancer at 203.0.113.9 for clients of 198.51.100.0/24."""
    lines = ["-A KUBE-SERVICES -d 203.0.113.9/32 -p tcp -m comment --comment \"shop/web1:http loadbalancer IP\" -m tcp "
             "--dport 443 -j %s" % FW,
             "-A %s -s 198.51.100.0/24 -m comment --comment \"shop/web1:http loadbalancer IP\" -j %s" % (FW, texts.EXT)]
    text = texts.adding(texts.healthy(), "nat", ":%s - [0:0]" % FW,
                        *(lines + ([refusal] if version == "old" and refusal else []) + list(more)))
    if version == "new":
        return texts.adding(text, "filter", *([refusal] if refusal else []))
    for line in [line for line in text.split("\n") if "KUBE-PROXY-FIREWALL" in line]:
        text = texts.without(text, line)
    return text


def test_source_ranges_that_are_enforced():
    drop = "-A KUBE-PROXY-FIREWALL -d 203.0.113.9/32 -p tcp -m tcp --dport 443 -j DROP"
    assert found(ranges(drop)) == []
    for other in ("", drop.replace("443", "80"), drop.replace("113.9", "113.8"), drop.replace("DROP", "RETURN")):
        kinds = found(ranges(other))
        assert ("emptied_chain",) + RANGES in kinds, other
    stripped = [row for row in found(ranges("-A KUBE-PROXY-FIREWALL -d 203.0.113.9/32 -p tcp -j DROP"))
                if row[0] == "emptied_chain"]
    assert stripped == [], "a rule that lost its port is told as that"


def test_source_ranges_of_older_versions():
    marking = [":KUBE-MARK-DROP - [0:0]", "-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000"]
    refusal = "-A %s -j KUBE-MARK-DROP" % FW
    dropping = ("-A KUBE-FIREWALL -m comment --comment \"kubernetes firewall for dropping marked packets\" -m mark "
                "--mark 0x8000/0x8000 -j DROP")

    def asked(text, drop=dropping, **known):
        return found(texts.adding(text, "filter", drop) if drop else text,
                     **dict({"kubernetes": (1, 24), "kubelet": True}, **known))
    assert asked(ranges(refusal, "old", marking)) == []
    assert asked(ranges("", "old", marking)) == [("emptied_chain", "nat", FW)]
    assert asked(ranges(refusal, "old", marking[:1])) == [("emptied_chain", "nat", "KUBE-MARK-DROP")]
    assert asked(ranges(refusal, "old", marking), drop=None) == [("emptied_chain",) + FIREWALL]
    assert asked(ranges(refusal, "old", marking[:1]), drop=None, kubelet=False) == [], "the mark is kubelet's"


def test_a_dump_that_ends_anywhere_lost_nothing():
    text = ranges("-A KUBE-PROXY-FIREWALL -d 203.0.113.9/32 -p tcp -m tcp --dport 443 -j DROP")
    for at in range(0, len(text), 397):
        rows = found(text[:at], kubelet=True, liberal=False)
        assert [row for row in rows if row[0] == "emptied_chain"] == [], at
