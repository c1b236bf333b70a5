# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes by name, in trees and for real."""

import os

import node_tree
from case_rows import cases
from node_manifests import DEBIAN, merged, process, running
from node_processes import Sleeper, as_nobody, enter, needs_root
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import OK, Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import (
    Process, find_processes, uptime_seconds)


def found(manifest, tmp_path, names=("kubelet",)):
    return find_processes(Host(node_tree.unpack(manifest, tmp_path)), names)


def test_by_name_in_the_order_of_pids(tmp_path):
    manifest = merged(process(1200, "kubelet", ["kubelet"]),
                      process(99, "kubelet", ["/usr/bin/kubelet", "-v=2"], "777"), process(100, "sh", ["kubelet"]))
    status, processes = found(merged(manifest, {"proc/sys/x": "", "proc/version": ""}), tmp_path)
    assert status == OK
    assert [(each.pid, each.start_time, each.contained)
            for each in processes] == [(99, "777", False), (1200, "4242", False)]
    assert processes[0].arguments == ["/usr/bin/kubelet", "-v=2"]


def test_options_in_both_spellings(tmp_path):
    arguments = ["kube-proxy", "--proxy-mode", "ipvs", "-v=2", "--config=/a=b", "--proxy-mode=nftables",
                 "proxy-mode=no", "--ipvs-scheduler"]
    each = found(process(5, "kube-proxy", arguments), tmp_path, ("kube-proxy",))[1][0]
    assert each.option("proxy-mode") == "nftables" and each.option("config") == "/a=b" and each.option("v") == "2"
    assert each.option("ipvs-scheduler") is None and each.option("none") is None


@needs_root
def test_real_processes(tmp_path):
    host = Host("/")
    with Sleeper(lambda: enter(str(tmp_path))) as inside, Sleeper(lambda: None) as outside:
        assert Process(host, inside.pid, "x").contained is True
        assert Process(host, inside.pid, "x").start_time == inside.start_time
        assert Process(host, outside.pid, "x").contained is False
        # Another user may not read the root of the process, so whether it is another root is not known.
        assert as_nobody(lambda: Process(host, inside.pid, "x").contained) is None


def test_a_process_that_vanished():
    with Sleeper(lambda: None) as process_:
        pid = process_.pid
    gone = Process(Host("/"), pid, "x")
    assert (gone.arguments, gone.start_time, gone.contained) == ([], None, None)
    assert gone.is_the_same(Host("/")) is False and gone.age_seconds(100.0) is None
    assert not os.path.exists("/proc/%d" % pid)


def test_a_pid_that_was_reused_between_two_reads(tmp_path):
    tree = node_tree.unpack(process(5, "kubelet", [], "31"), tmp_path)
    each = Process(Host(tree), 5, "kubelet")
    assert each.is_the_same(Host(tree)) and each.state == "S"
    (tmp_path / "proc/5/stat").write_text((tmp_path / "proc/5/stat").read_text().replace(" 31 ", " 32 "))
    assert not each.is_the_same(Host(tree))


def test_age(tmp_path):
    tree = node_tree.unpack(merged(process(5, "a) 7 (b", [], "500"), {"proc/uptime": "12.50 3.00\n"}), tmp_path)
    host = Host(tree)
    each = Process(host, 5, "x")
    assert each.age_seconds(uptime_seconds(host)) == 7.5
    assert each.age_seconds(1.0) == 0.0 and each.age_seconds(None) is None
    assert uptime_seconds(Host(str(tmp_path / "none"))) is None


OURS, OTHERS = "net:[4026531840]", "net:[4026532999]"


def networks(own, *of_processes):
    links = {"proc/%d/ns/net" % pid: None if network is None else node_tree.link(network)
             for pid, network in of_processes}
    return dict(links, **{"proc/self/ns/net": node_tree.link(own)})


def look(tmp_path, *manifests):
    sections = collect_sections(["kube_proxy", "kubelet"],
                                node_tree.unpack(merged(DEBIAN, running("6.1.0"), *manifests), tmp_path), "live")
    return sections["node_kube_proxy"], sections["node_kubelet"]


@cases
def test_of_two_the_one_of_this_network(first, second, mode, tmp_path):
    both = merged(process(500, "kube-proxy", ("kube-proxy", "--proxy-mode=ipvs")),
                  process(600, "kube-proxy", ("kube-proxy", "--proxy-mode=nftables")))
    section = look(tmp_path, both, networks(OURS, (500, first), (600, second)))[0]
    assert (section["mode"], section["running"]) == (mode, mode is not None)


def test_a_node_in_a_container_beside_a_plain_machine(tmp_path):
    """kind: the machine sees kubelet and kube-proxy of the nodes that run on it, but the machine itself is no node."""
    of_kind = merged(process(500, "kubelet", ("kubelet",)), process(600, "kube-proxy", ("kube-proxy",)),
                     process(700, "k3s-server", ("k3s",)))
    proxy, kubelet = look(tmp_path, of_kind, networks(OURS, (500, OTHERS), (600, OTHERS), (700, "net:[4026533000]")))
    assert (proxy["running"], proxy["mode"], proxy["runs_in"]) == (False, None, None)
    assert (kubelet["running"], kubelet["distribution"], kubelet["pid"]) == (False, None, None)
