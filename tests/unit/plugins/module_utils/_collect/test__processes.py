# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes by name, in trees and for real."""

import os

import node_tree
from node_manifests import merged, process
from node_processes import Sleeper, as_nobody, enter, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils import _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect._processes import Process, find_processes


def found(manifest, tmp_path, names=("kubelet",)):
    return find_processes(_host.Host(node_tree.unpack(manifest, tmp_path)), names)


def test_by_name_in_the_order_of_pids(tmp_path):
    manifest = merged(process(1200, "kubelet", ["kubelet"]), process(99, "kubelet", ["/usr/bin/kubelet", "-v=2"], "777"), process(100, "sh", ["kubelet"]))
    status, processes = found(merged(manifest, {"proc/sys/x": "", "proc/version": ""}), tmp_path)
    assert status == _host.OK
    assert [(each.pid, each.start_time, each.contained) for each in processes] == [(99, "777", False), (1200, "4242", False)]
    assert processes[0].arguments == ["/usr/bin/kubelet", "-v=2"]


def test_a_zombie_does_not_run(tmp_path):
    assert found(process(5, "kubelet", [], state="Z"), tmp_path) == (_host.OK, [])


def test_a_name_with_a_parenthesis(tmp_path):
    processes = found(process(5, "a) R (b", ["x"], "31"), tmp_path, ("a) R (b",))[1]
    assert processes[0].start_time == "31"


def test_another_root_and_none_to_be_seen(tmp_path):
    manifest = merged(process(5, "kubelet", [], root="/var/containers/1"), process(6, "kubelet", [], root=None), {"var/containers/1/etc/x": ""})
    assert [each.contained for each in found(manifest, tmp_path)[1]] == [True, None]


def test_no_proc(tmp_path):
    assert found({"etc/x": ""}, tmp_path) == (_host.ABSENT, [])
    assert found({"proc": node_tree.DIRECTORY}, tmp_path) == (_host.ABSENT, [])


def test_options_in_both_spellings(tmp_path):
    arguments = ["kube-proxy", "--proxy-mode", "ipvs", "-v=2", "--config=/a=b", "--proxy-mode=nftables", "proxy-mode=no", "--ipvs-scheduler"]
    each = found(process(5, "kube-proxy", arguments), tmp_path, ("kube-proxy",))[1][0]
    assert each.option("proxy-mode") == "nftables" and each.option("config") == "/a=b" and each.option("v") == "2"
    assert each.option("ipvs-scheduler") is None and each.option("none") is None


@needs_root
def test_real_processes(tmp_path):
    host = _host.Host("/")
    with Sleeper(lambda: enter(str(tmp_path))) as inside, Sleeper(lambda: None) as outside:
        assert Process(host, inside.pid, "x").contained is True
        assert Process(host, inside.pid, "x").start_time == inside.start_time
        assert Process(host, outside.pid, "x").contained is False
        # Another user may not look at its root, and is not told that it is the same.
        assert as_nobody(lambda: Process(host, inside.pid, "x").contained) is None


def test_a_process_that_vanished():
    with Sleeper(lambda: None) as process_:
        pid = process_.pid
    gone = Process(_host.Host("/"), pid, "x")
    assert (gone.arguments, gone.start_time, gone.contained) == ([], None, None)
    assert not os.path.exists("/proc/%d" % pid)
