# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables beside kube-proxy's, made by the real nft: what refuses, redirects or marks traffic of Services, and what looks like it."""

import json
import os
import subprocess
import sys

import pytest

import kube_cluster
import kube_dumps
import kube_nft
from node_processes import needs_root, python_path

pytestmark = needs_root
LOOK = """\
import json, os, subprocess, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils import _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.iptables_chains import collect_iptables_chains
node, found = {"place": "live", "kernel_release": os.uname()[2]}, []
given = json.load(sys.stdin)
# The API server's endpoint is this node's own: what goes there is not forwarded.
subprocess.check_call("ip link set lo up && ip address add %s/32 dev lo" % given["own"], shell=True)
for text in given["tables"]:
    subprocess.run(["nft", "flush", "ruleset"], check=True)
    for name, rules in given["kube"]:
        subprocess.run([name], input=rules.encode(), check=True, shell=True)
    subprocess.run(["nft", "-f", "-"], input=text.encode(), check=True)
    section = collect_iptables_chains(_host.Host("/"), node, {"deep": False, "proxy_mode": given["mode"]})
    found.append([(row["kind"], row["table"], row["chain"], row["text"], row["detail"]) for row in section["observations"]
                  if "kube" not in row["table"] or "kube-proxy's" in row["detail"]])
print(json.dumps(found))
"""
CLUSTER = kube_cluster.every_kind("ipv4")
PODS = kube_cluster.POD_CIDR["ipv4"]
WEB = next(service for service in CLUSTER.services if service.protocol == "tcp" and service.endpoints and service.name != "kubernetes")
NODE_PORT = next(service.node_port for service in CLUSTER.services if service.node_port and service.protocol == "tcp" and service.endpoints)


def kube(mode):
    if mode == "nftables":
        return [("nft -f -", "".join(kube_nft.table(kube_cluster.every_kind(family)).text() for family in kube_dumps.FAMILIES))]
    return [(name + "-nft-restore", kube_dumps.node_dump((1, 30), "iptables", "nft", kube_cluster.every_kind(family))[0])
            for name, family in (("iptables", "ipv4"), ("ip6tables", "ipv6"))]


def looks(mode, *tables):
    """[[(kind, table, chain, text, detail)]] of a node with each of these tables beside kube-proxy's."""
    process = subprocess.Popen(["unshare", "-n", "-pf", "--mount-proc", sys.executable, "-c", LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, PYTHONPATH=python_path()))
    lines = [table.replace("; ", ";\n").replace("} }", "}\n}").replace("}  ", "}\n") for table in tables]
    out = process.communicate(json.dumps({"tables": lines, "kube": kube(mode), "mode": mode, "own": kube_cluster.NODE_IP["ipv4"]}).encode())[0]
    assert process.returncode == 0
    return json.loads(out.decode("utf-8"))


def chain(hook, priority, *rules, **options):
    return "table %s guard { %s  chain own { type %s hook %s priority %s; policy %s; %s } }" % (
        options.get("family", "inet"), options.get("more", ""), options.get("type", "filter"), hook, priority, options.get("policy", "accept"),
        " ".join(rule + ";" for rule in rules))


HARMFUL = [
    ("unexpected_drop", chain("forward", 0, policy="drop")),
    ("unexpected_drop", chain("forward", 10, "ct state established,related accept", policy="drop")),
    ("unexpected_drop", chain("forward", -5, "ip daddr %s drop" % PODS)),
    ("unexpected_drop", chain("forward", 0, "ip daddr %s tcp dport %d reject" % (WEB.endpoints[0].address, WEB.endpoints[0].port))),
    ("unexpected_drop", chain("forward", 0, "ip saddr %s counter drop" % PODS)),
    ("unexpected_drop", chain("prerouting", -300, "ip daddr %s drop" % WEB.address)),
    ("unexpected_drop", chain("prerouting", -150, "tcp dport 30000-32767 drop")),
    ("unexpected_drop", chain("prerouting", -150, 'iifname "eth0" tcp dport %d drop' % NODE_PORT)),
    ("unexpected_drop", chain("output", 0, "ip daddr %s reject" % PODS)),
    ("unexpected_drop", chain("postrouting", 0, policy="drop")),
    ("unexpected_drop", chain("input", 0, policy="drop")),
    ("unexpected_drop", chain("forward", 0, "jump deeper", more="chain deeper { ip protocol tcp drop; }; ")),
    ("unexpected_drop", chain("forward", 0, "ct state vmap { established : accept, new : drop }")),
    ("unexpected_drop", chain("forward", 0, "ip daddr @closed drop", more="set closed { type ipv4_addr; flags interval; elements = { %s }; }" % PODS)),
    ("unexpected_drop", chain("forward", 0, "drop", family="ip")),
    ("anchor_shadowed", chain("prerouting", -110, "tcp dport %d redirect to :8080" % NODE_PORT, type="nat")),
    ("anchor_shadowed", chain("prerouting", -100, "ip daddr %s dnat ip to 192.0.2.99" % WEB.address, type="nat")),
    ("untracked", chain("prerouting", -300, "ip daddr %s notrack" % kube_cluster.SERVICE_CIDR["ipv4"])),
    ("mark_cleared", chain("forward", -150, "meta mark set 0x1")),
    ("mark_cleared", chain("postrouting", 0, "meta mark set meta mark & 0xffff0000")),
]
FIREWALLD = """table inet firewalld {
chain filter_INPUT { type filter hook input priority filter + 10; policy accept; ct state { established, related } accept; ct status dnat accept;
  iifname "lo" accept; ct state invalid drop; jump zones; reject with icmpx admin-prohibited; }
chain filter_FORWARD { type filter hook forward priority filter + 10; policy accept; ct state { established, related } accept; ct status dnat accept;
  iifname "lo" accept; ct state invalid drop; jump zones; reject with icmpx admin-prohibited; }
chain zones { iifname "eth0" goto public; goto public; }
chain public { tcp dport 22 ct state { new, untracked } accept; }
}"""
SILENT = [
    FIREWALLD,
    chain("forward", 0, "ct state established,related accept", "ct status dnat accept", policy="drop"),
    chain("forward", 0, 'iifname "cni0" accept', 'oifname "cni0" accept', policy="drop"),
    chain("forward", 0, "ip daddr %s accept" % PODS, policy="drop", family="ip"),
    chain("forward", 0, 'iifname != "docker0" oifname "docker0" drop', 'oifname "virbr0" reject'),
    chain("forward", 0, "ct state invalid drop", "tcp flags & (fin|syn) == (fin|syn) drop", "limit rate over 10/second drop", "meta l4proto icmp drop"),
    chain("forward", 0, "ip saddr 198.51.100.7 drop", "ip saddr @blocked drop", more="set blocked { type ipv4_addr; elements = { 198.51.100.8 }; }"),
    chain("forward", 0, "ip saddr != %s drop" % PODS),
    chain("forward", 0, "tcp dport 22 drop"),
    chain("input", 0, "ct state established,related accept", "tcp dport { 22, 10250 } accept", policy="drop"),
    chain("input", 0, "ct state established accept", "tcp dport 30000-32767 drop"),
    chain("prerouting", -300, "tcp dport 22 drop", "ip daddr 192.0.2.200 drop"),
    chain("prerouting", -100, "tcp dport 8080 redirect to :80", type="nat"),
    chain("prerouting", -90, "tcp dport %d redirect to :8080" % NODE_PORT, type="nat"),
    chain("prerouting", -150, "ip daddr %s notrack" % WEB.address),
    chain("prerouting", -150, "meta mark set 0x1"),
    chain("forward", -150, "meta mark set meta mark | 0x1", "meta mark set 0x4001"),
    chain("postrouting", 100, 'oifname "eth0" masquerade', type="nat"),
    chain("forward", 0, "jump deeper", more="chain deeper { tcp dport 22 return; udp dport 9 drop; };"),
    "table arp guard { chain own { type filter hook input priority 0; policy drop; } }",
    "table bridge guard { chain own { type filter hook forward priority 0; policy drop; } }",
    'table netdev guard { chain own { type filter hook ingress device "lo" priority 0; policy drop; } }',
    "table inet guard { chain own { drop; } }",
    "table inet guard { flags dormant; chain own { type filter hook forward priority 0; policy drop; } }",
    "table ip calico { chain filter-FORWARD { type filter hook forward priority 0; policy accept; meta mark & 0x10000 == 0 drop; } }",
    "table ip docker-bridges { chain filter-FORWARD { type filter hook forward priority 0; policy drop; } }",
    "table ip libvirt_network { chain forward { type filter hook forward priority 0; policy accept; reject; } }",
    "table inet kube-router { chain own { type filter hook forward priority 0; policy accept; drop; } }",
    "table ip kubevirt { chain own { type filter hook forward priority 0; policy accept; drop; } }",
    "table ip cilium { chain own { type filter hook forward priority 0; policy accept; drop; } }",
]


@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_what_meets_traffic_of_services(mode):
    looked = zip(HARMFUL, looks(mode, *[table for _kind, table in HARMFUL]))
    assert [(table, found) for (kind, table), found in looked if [(row[0], row[1].split(" ")[1]) for row in found] != [(kind, "guard")]] == []


@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_what_only_looks_like_it(mode):
    assert [(table, found) for table, found in zip(SILENT, looks(mode, *SILENT)) if found] == []


def test_what_cannot_be_judged_has_the_name_of_its_table():
    tables = [chain("forward", 0, "meta mark 0x77 drop"), chain("forward", 0, 'iifname "eth7" drop'), chain("forward", 0, "meta skuid 77 drop"),
              chain("forward", 0, *["ip saddr 198.51.100.%d tcp dport %d drop" % (number % 250, number) for number in range(1, 700)])]
    for found in looks("nftables", *tables):
        assert [row[:3] for row in found] == [["unjudged_table", "inet guard", ""]] and "own" in found[0][4], found


def test_more_tables_than_are_judged():
    found = looks("nftables", "".join("table inet t%02d { chain own { type filter hook forward priority 0; } }\n" % number for number in range(18)))[0]
    assert [row[:2] for row in found] == [["unjudged_table", "inet t16"], ["unjudged_table", "inet t17"]]


def test_rules_of_others_in_the_chains_of_kube_proxy():
    rules = [("services", "ip daddr %s tcp dport 80 drop" % WEB.address, "unexpected_drop"), ("filter-forward", "ip saddr %s accept" % PODS, "anchor_shadowed"),
             ("nat-prerouting", "tcp dport 30080 redirect to :80", "anchor_shadowed"), ("cluster-ips-check", "ip daddr 10.96.0.0/24 drop", "unexpected_drop"),
             ("nat-postrouting", "meta mark set 0x1", "mark_cleared"), ("filter-input", "tcp dport 10250 reject", "unexpected_drop")]
    found = looks("nftables", *["insert rule ip kube-proxy %s %s" % rule[:2] for rule in rules])
    for (name, text, kind), rows in zip(rules, found):
        assert [(row[0], row[2]) for row in rows] == [(kind, name)], (text, rows)


def test_a_rule_of_others_in_the_chain_of_a_service():
    name = next(name for name in kube_nft.table(CLUSTER).chains if name.startswith("service-") and "/" in name)
    rows = looks("nftables", 'insert rule ip kube-proxy %s ip saddr %s drop' % (name, PODS))[0]
    assert [row[0] for row in rows] == ["unexpected_drop"] and name.startswith(rows[0][2].rstrip("."))
