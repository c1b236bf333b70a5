# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings that rules are judged by, from processes and their configuration to the observation."""

import chain_texts as texts
import iptables_programs
import kube_cluster
import kube_dumps
import loopback
import node_processes
import node_tree
import pytest
from case_rows import cases
from fake_tools import LIVE, LOADED, tools, unpacked
from kubelet_node import CONFIG, rules, runs
from node_manifests import merged, process

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.iptables_builds import proxy_backend
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.iptables_chains import (
    collect_iptables_chains,
)

DN = "CNI-DN-4b4398da9cebdf54f85fe"
LOCAL = "  |-- %s\n     /32 host LOCAL\n"
UNHINTED = texts.without(texts.healthy(), ":KUBE-IPTABLES-HINT - [0:0]")


def taking(port):
    """A dump in which a pod's hostPort takes a port of the node."""
    return texts.adding(
        texts.healthy(), "nat", ":CNI-HOSTPORT-DNAT - [0:0]", ":%s - [0:0]" % DN,
        "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
        "-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports %d -j %s" % (port, DN),
        "-A %s -p tcp -m tcp --dport %d -j DNAT --to-destination 10.244.1.9:80" % (DN, port))


def audit(tmp_path, ipv4, *manifests, **options):
    return collect_iptables_chains(unpacked(tmp_path, merged(rules(ipv4, texts.healthy("ipv6")), *manifests)), LIVE,
                                   options)


def captured(section):
    return [row["detail"].partition(" on every")[0] for row in section["observations"]
            if row["kind"] == "hostport_capture"]


@cases
def test_host_ports_are_judged_by_the_ports_that_kubelet_has(port, arguments, config, found, tmp_path):
    assert captured(audit(tmp_path, taking(port), runs(arguments=arguments), {"c": CONFIG + config})) == found


@cases
def test_and_by_those_of_the_api_server(comm, arguments, port, found, tmp_path):
    assert captured(audit(tmp_path, taking(port), runs(comm, comm + ".service", arguments))) == found


@cases
def test_the_hint_of_a_kubelet_that_makes_it(known, missing, tmp_path):
    assert audit(tmp_path, UNHINTED, runs(**known))["observed"].get("hint_missing", 0) == missing


def without_firewall():
    """Rules of kube-proxy 1.25 alone: the jumps to KUBE-FIREWALL are kubelet's up to 1.26."""
    text = kube_dumps.node_dump((1, 25), "iptables", "nft", kube_cluster.every_kind("ipv4"))[0]
    return "\n".join(line for line in text.split("\n") if "KUBE-FIREWALL" not in line and "KUBE-MARK-DROP" not in line)


@cases
def test_the_version_of_kube_proxy_counts_for_its_jumps(kubelet, proxy, kubernetes, missing, tmp_path):
    with loopback.serving(loopback.metrics(proxy) if proxy else "") as server:
        own = process(900, "kube-proxy", ["kube-proxy", "--metrics-bind-address=127.0.0.1:%d" % server.port])
        section = audit(tmp_path, without_firewall(), runs(version=kubelet), own)
    assert (section["kubernetes"], section["observed"].get("anchor_missing", 0)) == (kubernetes, missing)
    assert (section["kubernetes_source"] == "the kube-proxy that runs here") == bool(proxy)


def test_one_program_that_is_both_has_one_version(tmp_path):
    section = audit(tmp_path, without_firewall(), runs("k3s-agent", "k3s-agent.service", version="1.28.4"))
    assert (section["kubernetes"], section["observed"].get("anchor_missing", 0)) == ("1.28", 2)


def test_the_hint_is_a_matter_of_kubelets_own_version(tmp_path):
    with loopback.serving(loopback.metrics("1.25.3")) as server:
        own = process(900, "kube-proxy", ["kube-proxy", "--metrics-bind-address=127.0.0.1:%d" % server.port])
        assert "hint_missing" not in audit(tmp_path / "old", UNHINTED, runs(version="1.23.1"), own)["observed"]
        assert "hint_missing" in audit(tmp_path / "new", UNHINTED, runs(version="1.24.1"), own)["observed"]


@pytest.mark.parametrize("addresses, missing", [({"proc/net/if_inet6": ""}, 1), ({}, 0)])
def test_nft_rules_that_are_gone_are_missed_where_the_kernel_has_ipv6(addresses, missing, tmp_path):
    tree = unpacked(tmp_path, merged(rules(texts.healthy(), "# nothing\n"), addresses))
    lost = [row for row in collect_iptables_chains(tree, LIVE)["observations"]
            if row["kind"] == "anchor_missing" and row["family"] == "ipv6"]
    assert len(lost) == missing


SETS = "-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT"
LEFT_OF_IPTABLES = [":KUBE-NODEPORTS - [0:0]", ":KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]", ":KUBE-PROXY-CANARY - [0:0]"]


def of_dump(tmp_path, text):
    (tmp_path / "dump").write_text(text)
    return collect_iptables_chains(Host("/"), LIVE, {"src": [str(tmp_path / "dump")]})


def test_sets_in_kube_services_prove_ipvs_mode(tmp_path):
    ipvs = texts.small("nat", "KUBE-LOAD-BALANCER KUBE-MARK-MASQ KUBE-POSTROUTING KUBE-SERVICES",
                       [texts.TO_SERVICES, SETS])
    assert of_dump(tmp_path, ipvs)["mode"] == "ipvs"
    section = of_dump(tmp_path, texts.adding(ipvs, "nat", *LEFT_OF_IPTABLES))
    assert (section["mode"], section["observed"].get("other_mode"),
            "empty_service_chain" in section["observed"]) == ("ipvs", 3, False)
    # A set of another owner proves nothing.
    other = SETS.replace("KUBE-CLUSTER-IP", "blocked").replace("ACCEPT", "RETURN")
    assert of_dump(tmp_path, texts.adding(texts.healthy(), "nat", other))["mode"] == "iptables"


def test_a_canary_alone_proves_no_mode(tmp_path):
    section = of_dump(tmp_path, texts.small("mangle", "KUBE-PROXY-CANARY",
                                            []) + texts.small("nat", "KUBE-PROXY-CANARY KUBE-MARK-MASQ", []))
    assert (section["mode"], section["observed"]) == (None, {})
    # iptables mode has further chains of its own even without any Service.
    assert of_dump(tmp_path,
                   texts.small("nat", "KUBE-NODEPORTS KUBE-PROXY-CANARY KUBE-SERVICES", []))["mode"] == "iptables"


@cases
def test_the_backend_of_the_kube_proxy_that_runs_is_not_the_leftover(program, hinted, left, tmp_path):
    """Both backends hold all rules, as after a restart with the other one; a wrapper that is not run proves nothing."""
    print_dump = 'case $name in iptables-*) cat "${0%/*}/$name.txt";; esac'
    saves = {"proc/net/ip_tables_names": "nat\nfilter\nmangle\n"}
    for backend in ("nft", "legacy"):
        text = texts.healthy("ipv4", backend)
        kubelet = [":KUBE-IPTABLES-HINT - [0:0]"] + [":KUBE-KUBELET-CANARY - [0:0]"] * 3
        saves["usr/sbin/iptables-%s-save.txt" % backend] = text if backend == hinted else texts.without(text, *kubelet)
    saves["usr/sbin/iptables-restore"] = (node_tree.link("xtables-%s-multi" % program)
                                          if program else node_tree.executable("#!/bin/sh\ntouch /ran\n"))
    manifest = merged(LOADED, tools(print_dump, print_dump), saves, process(900, "kube-proxy", ["kube-proxy"]))
    section = collect_iptables_chains(unpacked(tmp_path, manifest), LIVE)
    assert {row["backend"] for row in section["observations"] if row["kind"] == "other_backend"} == {left}
    assert section["mode"] == "iptables" and "anchor_missing" not in section["observed"]


@node_processes.needs_root
@pytest.mark.parametrize("build", ["nft", "legacy"])
def test_the_iptables_in_the_container_of_kube_proxy(build, tmp_path):
    root = node_tree.unpack({"usr/sbin/iptables": node_tree.executable(iptables_programs.program(build, "1.8.9"))},
                            tmp_path)
    with node_processes.Sleeper(lambda: named("kube-proxy", root)) as process_of_it:
        pid = process_of_it.pid
        assert proxy_backend(Host("/"), {"runs_in": "container", "tools_root": "/proc/%d/root" % pid}) == build
    assert proxy_backend(Host("/"), {"runs_in": "container", "tools_root": "/proc/%d/root" % pid}) is None
    assert proxy_backend(Host("/"), {"runs_in": "embedded", "tools_root": None}) is None


def named(name, root):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
    node_processes.enter(root)


@pytest.mark.parametrize("tree, found", [
    ({}, False), ({"proc/net/fib_trie": LOCAL % "127.0.0.1"}, True),
    ({"proc/net/fib_trie": LOCAL % "127.0.0.1" + LOCAL % "10.96.0.1"}, False),
    # Addresses of one interface only.
    ({"proc/net/fib_trie": LOCAL % "192.0.2.7"}, False),
    ({"proc/net/fib_trie": LOCAL % "127.0.0.1" + "  |-- 10.96.0.0\n     /12 host LOCAL\n"}, False)])
def test_rules_of_a_dns_cache_are_left_behind_where_no_interface_has_its_address(tree, found, tmp_path):
    accepted = texts.adding(texts.healthy(), "filter", "-A INPUT -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j ACCEPT")
    cached = texts.small("raw", "PREROUTING OUTPUT",
                         ["-A OUTPUT -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j CT --notrack"]) + accepted
    observed = audit(tmp_path, cached, tree)["observations"]
    assert ("untracked" in [row["kind"] for row in observed]) == found
