# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module conntrack_facts, run as Ansible runs it on this machine and on trees; its RETURN documents every key."""

import pathlib

import pytest

import node_tree
from conntrack_node import LISTED, MAX_LINE, configured, counters, starts, tracking
from documented_return import differences, documented
from fake_tools import LIVE, unpacked
from module_runs import run_module
from node_manifests import merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.conntrack import collect_conntrack
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.identity import identify
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")


def test_everything_that_is_returned_is_documented(tmp_path):
    tools = {"usr/bin/dmesg": node_tree.executable("#!/bin/sh\n"),
             "usr/sbin/conntrack": node_tree.executable("#!/bin/sh\necho udp 17 5 src=a\n"),
             "proc/modules": "nf_conntrack_netlink 1 0 - Live 0x0\nnf_conntrack 1 0 - Live 0x0\n",
             "proc/sys/net/bridge/bridge-nf-call-iptables": None}
    manifest = tracking(LISTED, counters(early_drop=2), configured("  maxPerCore: 1\n"), starts("docker"), tools,
                        {
                            "etc/sysctl.d/a.conf": MAX_LINE % 524288, "etc/sysctl.d/b.conf": node_tree.FIFO,
                            "etc/modprobe.d/a.conf": "options nf_conntrack hashsize=5000\n"})
    host = unpacked(tmp_path, manifest)
    asked = {"window_seconds": 1, "top": True, "kernel_log": True}
    section = collect_conntrack(host, identify(host, "live"), collect_kube_proxy(host, LIVE), lambda: "1.33.1", None,
                                asked)
    for name in ("rates", "consumers", "missing_keys", "unread", "lost", "kube_proxy", "rp_filter", "size"):
        assert section[name], name
    described = documented("conntrack_facts", "node_conntrack")
    assert differences(section, described) == []
    assert set(described["contains"]["collected"]["sample"]) == set(section["collected"])
    # The comparison finds missing keys, undocumented keys, and values of another type.
    shape = {"type": "dict", "contains": {"max": {"type": "int"}, "keys": {"type": "list", "elements": "dict",
                                                                           "contains": {"key": {"type": "str"}}}}}
    assert differences({"max": 1.5, "keys": [{"kee": 1}], "more": 1},
                       shape) == [".more", ".keys[].kee", ".keys[].key", ".max is a float"]


def test_this_machine():
    status, result = run_module("conntrack_facts", _ansible_check_mode=True, place="live", window_seconds=1)
    section = result["ansible_facts"]["node_conntrack"]
    assert (status, result["changed"]) == (0, False)
    assert differences(section, documented("conntrack_facts", "node_conntrack")) == []
    try:
        limit = int(pathlib.Path("/proc/sys/net/netfilter/nf_conntrack_max").read_text(encoding="ascii"))
    except OSError:
        limit = None
    assert section["max"] == limit and section["cpus"] >= 1 and section["memory_bytes"] > 0


def test_an_image(tmp_path):
    tree = node_tree.unpack(merged(tracking(LISTED), {"etc/sysctl.d/a.conf": MAX_LINE % 524288}), tmp_path)
    section = run_module("conntrack_facts", root=tree, top=True, kernel_log=True,
                         window_seconds=1)[1]["ansible_facts"]["node_conntrack"]
    assert (section["max"], section["rates"], section["consumers"], section["size"]) == (None, None, None, None)
    assert section["sysctls"][0]["at_boot"] == 524288
