# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of the section beside the questions to rule sets: host ports that portmap wrote with nft, matches that only nft
prints, what dumps do not show, shared networks and tunnels."""

import types

import pytest
from case_rows import cases
from fake_tools import script, unpacked
from node_processes import in_own_network, needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import answers, rule_sets
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.answers import shared_networks
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.dump_forms import (
    backend_doubt, take_name, uncovered,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.nftables import confirmed
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import Rules
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.ruleset import RuleSet
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import KubeTables
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy import lost_match
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.node_packets import tunnel_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import interfaces as bundle_interfaces

TABLE = """
table %s cni_hostport {
    comment "CNI portmap plugin"
    chain hostports { %s }
    chain hostip_hostports { ip daddr 192.0.2.77 tcp dport 10250 dnat to 10.244.1.9:80; }
    chain prerouting { type nat hook prerouting priority dstnat; jump hostip_hostports; jump hostports; }
}
"""


def hostports(text):
    def ask():
        rules = rule_sets.Rules("live")
        rules.nf_tables = "ok"
        found = answers.nft_hostports(Host("/"), rules, {("tcp", 10250): "kubelet", ("tcp", 6443): "the API server"})
        return [[[row[key] for key in ("family", "table", "chain", "text")] for row in found], rules.unread]
    return in_own_network(ask, "nft '%s'" % text)


@needs_root
def test_what_nft_lists():
    rules = "".join('tcp dport %d dnat to 10.244.1.9:80 comment "a\\tb"; ' % port
                    for port in (80, 10250, 10251)) + "udp dport 6443 dnat to 10.244.1.9:53; "
    six = TABLE.replace("ip daddr 192.0.2.77", "ip6 daddr 2001:db8::7").replace("10.244.1.9:80", "[fd00::9]:80") % (
        "ip6", "tcp dport 6443 dnat to [fd00::9]:80;")
    assert hostports(TABLE % ("ip", rules) + six) == [[
        ["ipv4", "ip cni_hostport", "hostports", "tcp dport 10250 dnat to 10.244.1.9:80"],
        ["ipv6", "ip6 cni_hostport", "hostports", "tcp dport 6443 dnat to [fd00::9]:80"]], []]
    assert hostports(TABLE % ("ip", "")) == hostports("table ip other { }") == [[], []]


def nft(tmp_path, text, status="ok", ports=True):
    rules = rule_sets.Rules("live")
    rules.nf_tables = status
    host = unpacked(tmp_path, {"usr/sbin/nft": script(text)})
    known = {("tcp", 10250): "kubelet"} if ports else {}
    return len(answers.nft_hostports(host, rules, known)), len(rules.unread), len(host.ran)


@cases
def test_what_nft_may_say(text, status, told, tmp_path):
    assert nft(tmp_path, text, status) == told


def test_nobody_is_asked_for_nothing(tmp_path):
    assert nft(tmp_path, "exit 0", ports=False) == (0, 0, 0)


# A rule that only seems to have no match: nft prints the match that iptables-save cannot print.

JUMP = "iptables-nft -N KUBE-FIREWALL; iptables-nft -A INPUT -j KUBE-FIREWALL"
SET = "nft add set ip filter bad '{ type ipv4_addr; }'; nft insert rule ip filter INPUT ip saddr @bad drop"


def confirm(*commands, **changes):
    """[how many of two rows stay (the row, and the same row of the legacy backend), unread sources] after these
    commands; `nft`: whether there is the program."""
    has_nft = changes.pop("nft", True)
    row = dict({"kind": "anchor_shadowed", "family": "ipv4", "backend": "nft", "table": "filter", "chain": "INPUT",
                "text": "-A INPUT -j DROP", "count": 1, "detail": ""}, **changes)

    def ask():
        host, rules = Host("/"), rule_sets.Rules("live")
        if not has_nft:
            host.find_binary = lambda name: None
        kept = confirmed(host, rules, [row, dict(row, backend="legacy")], {})[0]
        return [len(kept), [[missed["source"], missed["table"]] for missed in rules.unread]]
    return in_own_network(ask, *commands)


@needs_root
@cases
def test_only_what_nft_shows_without_a_match_stays(commands, kept):
    assert confirm(*commands) == [kept, []]


@needs_root
@pytest.mark.parametrize("rule", ["-A INPUT -s 198.51.100.0/24 -j DROP",
                                  "-A INPUT -d 10.96.0.0/12 -p tcp -m tcp --dport 443 -j DROP"])
def test_a_rule_that_refuses_by_its_match_needs_no_confirmation(rule):
    """nft does not have to be asked: it prints that match too."""
    for nft in (True, False):
        assert confirm(JUMP, "iptables-nft " + rule, nft=nft, kind="unexpected_drop", text=rule) == [2, []]


PORT = "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp%s -j KUBE-SVC-A"
CHAINS = "iptables-nft -t nat -N KUBE-SERVICES; iptables-nft -t nat -N KUBE-SVC-A; iptables-nft -t nat "


@needs_root
@pytest.mark.parametrize("there, kept", [(" -m tcp --dport 443", 1), (" -m multiport --dports 443,80", 1), ("", 2),
                                         (" -m comment --comment 'the dport @home'", 2)])
def test_a_port_that_was_lost_in_print_only(there, kept):
    assert confirm(CHAINS + PORT % there, kind="lost_match", table="nat", chain="KUBE-SERVICES", text=PORT % "",
                   detail=lost_match.NO_PORT) == [kept, []]


@needs_root
def test_what_nobody_can_confirm_is_not_known():
    assert confirm(JUMP, nft=False) == [1, [["nft_ipv4", "filter"]]]


@needs_root
@pytest.mark.parametrize("there, kept", [(" -m tcp --dport 30023", 1), ("", 2)])
def test_a_node_port_that_was_lost_in_print_only(there, kept):
    rule = "-A KUBE-EXTERNAL-SERVICES -p tcp -m addrtype --dst-type LOCAL%s -j DROP"
    assert confirm("iptables-nft -N KUBE-EXTERNAL-SERVICES; iptables-nft " + rule % there, kind="lost_match",
                   chain="KUBE-EXTERNAL-SERVICES", text=rule % "", detail=lost_match.NO_PORT) == [kept, []]


# What dumps do not show: backends, tables and families.

@pytest.mark.parametrize("name, before, after, misnamed", [
    ("iptables-nft-save.txt", None, "nft", False), ("ip6tables_legacy.txt", None, "legacy", False),
    ("iptables-legacy-save.txt", "nft", None, True), ("iptables.txt", "nft", "nft", False),
    ("draft.txt", None, None, False), ("iptables-legacy-and-nft.txt", "nft", "nft", False),
    ("iptables-legacy-and-nft.txt", None, None, False)])
def test_the_backend_in_the_name_of_a_file(name, before, after, misnamed):
    rules, found = Rules("files"), RuleSet(name, "ipv4", before)
    take_name(rules, name, [found])
    assert (found.backend, bool(rules.misnamed)) == (after, misnamed)


@pytest.mark.parametrize("sets, doubt", [
    ([("ipv4", "nft"), ("ipv4", "legacy")], None), ([("ipv4", "nft"), (None, "legacy")], None),
    ([("ipv4", "nft"), ("ipv4", "legacy"), ("ipv6", "nft")], None), ([("ipv4", "nft")], "of the nft backend only"),
    ([("ipv4", "nft"), ("ipv6", "legacy")], "no family has dumps of both"), ([("ipv4", None)], "is not known"),
    ([], "no dump shows rules of iptables")])
def test_dumps_of_both_backends(sets, doubt):
    rules = Rules("files")
    rules.rule_sets = [RuleSet("a.txt", family, backend) for family, backend in sets]
    assert doubt in backend_doubt(rules) if doubt else backend_doubt(rules) is None


@pytest.mark.parametrize("ipv6, subjects", [(None, ["table ip6 kube-proxy"]), (False, ["table ip6 kube-proxy"]),
                                            (True, [])])
def test_the_table_of_the_other_family(ipv6, subjects):
    rules = Rules("files")
    rules.nftables = KubeTables()
    rules.nftables.tables, rules.nftables.ipv6 = {"ipv4": None}, ipv6
    found = uncovered(rules, types.SimpleNamespace(mode="nftables"))
    assert [row["subject"] for row in found if row["table"] == "family"] == subjects


# Networks of interfaces in which the API server has an address, and its Service, too.

ROUTES = ("default via 10.0.2.2 dev eth0\n10.0.2.0/24 dev eth0 scope link\n%s dev eth1 scope link\n"
          "10.200.2.0/24 via 10.32.0.22 dev eth1\n")


def kubernetes(address, *servers, name="default/kubernetes:https"):
    return Service("ipv4", address, 443, "tcp", name, [(server, 6443, "tcp") for server in servers], True, True)


@pytest.mark.parametrize("network, service, shares", [
    ("10.32.0.0/24", kubernetes("10.32.0.1", "10.32.0.10", "10.32.0.11"), True),
    ("10.32.0.0/16", kubernetes("10.32.0.1", "10.32.7.10"), True),
    ("192.168.7.0/24", kubernetes("10.32.0.1", "192.168.7.10"), False),
    # The API server is elsewhere, or a load balancer, or the network is that of a whole company.
    ("10.32.0.0/24", kubernetes("10.32.0.1", "172.16.0.10"), False), ("10.32.0.0/24", kubernetes("10.32.0.1"), False),
    ("10.0.0.0/8", kubernetes("10.32.0.1", "10.4.0.10"), False),
    # Only a route through a gateway leads there.
    ("192.168.7.0/24", kubernetes("10.200.2.1", "10.200.2.10"), False),
    # MetalLB gives addresses of the nodes' network.
    ("10.32.0.0/24", kubernetes("10.32.0.200", "10.32.0.21", name="shop/web:http"), False),
    ("10.32.0.0/24", kubernetes("nodeport", "10.32.0.21"), False)])
def test_a_network_with_the_api_server_and_its_service(tmp_path, network, service, shares):
    (tmp_path / "proc/net").mkdir(parents=True)
    files = bundle_interfaces.routes_of_text(ROUTES % network, True)
    (tmp_path / "proc/net/route").write_text(files["/proc/net/route"])
    found = shared_networks(Host(str(tmp_path)), [service], [])
    assert found == ([{"network": network, "interface": "eth1", "address": "10.32.0.1",
                       "server": service.endpoints[0][0]}] if shares else [])


def test_a_node_whose_routes_are_not_known(tmp_path):
    assert shared_networks(Host(str(tmp_path), False), [kubernetes("10.32.0.1", "10.32.0.10")], []) == []


# The tunnel of the network plugin, by the interfaces and routes of a node.

@pytest.mark.parametrize("interfaces, routed, tunnel", [
    (["tunl0", "eth0"], ["tunl0"], "tunl0"), (["tunl0", "eth0"], ["eth0"], None),
    (["tunl0", "vxlan.calico"], ["tunl0", "vxlan.calico"], "vxlan.calico"),
    (["tunl0", "vxlan.calico"], ["tunl0"], "tunl0"), (["vxlan.calico"], ["eth0"], None),
    (["flannel.1", "cni0"], ["eth0", "cni0"], None), (["flannel.1"], ["eth0", "flannel.1"], "flannel.1"),
    (["flannel.1"], [], "flannel.1"), (["flannel.1", "flannel-v6.1"], ["flannel.1"], "flannel.1"),
    (["flannel-v6.1"], ["eth0"], None), (["flannel.1", "vxlan.calico"], ["vxlan.calico"], "vxlan.calico"),
    (["cilium_vxlan"], ["eth0"], "cilium_vxlan"), (["wireguard.cali"], ["eth0"], "wireguard.cali"),
    (["vxlan-6784"], ["eth0"], "vxlan-6784"), (["genev_sys_6081"], ["eth0"], "genev_sys_6081"),
    (["flannel.ipip"], [], "flannel.ipip"),
    (["tun-1721630212", "kube-bridge"], [], "tun-1721630212"), (["tun-office1", "eth0"], [], None),
    (["flannel.1", "vxlan.calico"], [], None)])
def test_which_tunnel_is_in_use(interfaces, routed, tunnel):
    found = tunnel_of(set(interfaces), set(routed))
    assert (found and found[0]) == tunnel
