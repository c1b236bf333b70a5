# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_conntrack: what changes during a look, its size, and a real table that is full; the rest is in
tests/looks/conntrack."""

import json
import socket
import subprocess

import pytest
import node_tree
from conntrack_node import (
    BR, BRIDGE, ESTABLISHED, FORWARD, LISTED, MAX, MAX_LINE, NF, counters, kube_proxy, kubelet, look, tracking)
from fake_tools import LIVE, unpacked
from node_manifests import merged
from node_processes import in_own_network, needs_root
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import netlink
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack import conntrack
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.conntrack import (
    collect_conntrack, watched)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.now import (
    lost, read_counters, read_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.node import COLLECTORS
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import identify


def test_what_is_lost_during_the_look(tmp_path, monkeypatch):
    """The first section of the look takes so long that the counters grow."""
    root = node_tree.unpack(tracking(counters(drop=7, insert_failed=5, early_drop=1)), tmp_path)

    def busy(look):
        node_tree.unpack(counters(drop=10, insert_failed=7, early_drop=9), tmp_path)
        return {}

    monkeypatch.setitem(COLLECTORS, "cni", busy)
    section = collect_sections(["cni", "conntrack"], root, "live")["node_conntrack"]
    assert (section["growth"]["drop"], section["growth"]["insert_failed"],
            sorted(section["growth"])) == (3, 2, ["drop", "insert_failed", "seconds"])


def test_hostile_texts_stay_small_and_whole(tmp_path):
    evil = u"\u202e\x1b[31m" * 400
    names = (MAX, BRIDGE, FORWARD, ESTABLISHED)
    manifest = tracking(LISTED, {"etc/sysctl.d/%03d.conf" % number: "%s = %s\n" % (name, evil)
                                 for number, name in enumerate(names)},
                        {NF + "max": evil, BR + "iptables": "\0\xff", NF + "count": "-5\n"})
    section = look(manifest, tmp_path)
    assert section["max"] is None and section["count"] is None and len(json.dumps(section)) < 10 * 1024


RAISED = merged(LISTED, {"etc/sysctl.d/90.conf": MAX_LINE % 1048576})


def test_its_own_version_is_asked_before_kubelet(tmp_path):
    host = unpacked(tmp_path, tracking(RAISED, kube_proxy()))
    own = dict(collect_kube_proxy(host, LIVE), version="1.27.1")
    section = collect_conntrack(host, identify(host, "live"), own, lambda: 1 / 0)
    assert section["kube_proxy"]["versions"] == ["1.27.1"] and section["kube_proxy"]["writes"] == "raises"


def test_kubelet_is_asked_only_where_a_kube_proxy_runs(tmp_path):
    host = unpacked(tmp_path, tracking(kubelet("1.33.1")))
    collect_conntrack(host, identify(host, "live"), collect_kube_proxy(host, LIVE), lambda: 1 / 0)
    assert host.ran == []


# A real table, filled to its limit in a network namespace of its own; the limit itself is not touched.

MAX_FILE = "/proc/sys/net/netfilter/nf_conntrack_max"
# Filling a table of the default size takes some seconds.
LIMIT = 262144
FLOW = "-I -s 10.%d.%d.%d -d 10.255.0.1 -p udp --sport %d --dport 53 -t 600 -u %s\n"
TRACKED = "nft 'table ip t { chain c { type filter hook output priority 0; ct state new accept; }; }'"


def limit():
    return int(Host("/").read_text(MAX_FILE).text or 0)


needs_table = pytest.mark.skipif(not 0 < limit() <= LIMIT, reason="needs nf_conntrack with a limit that can be filled")


def fill(count, folder):
    """So many connections, of which every eighth has seen no answer and may be evicted."""
    path = str(folder / "flows")
    with open(path, "w") as stream:
        for number in range(count):
            status = "SEEN_REPLY,ASSURED" if number % 8 else "UNSET"
            stream.write(FLOW % (number >> 16 & 255, number >> 8 & 255, number & 255, 1024 + number % 60000, status))
    subprocess.check_output(["conntrack", "-R", path], stderr=subprocess.STDOUT)


def send(count):
    """Datagrams of so many new connections; how many the kernel refused to send."""
    refused = 0
    channel = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(count):
        try:
            channel.sendto(b"x", ("127.0.%d.%d" % (1 + number // 250, 1 + number % 250), 4000 + number % 1000))
        except OSError:
            refused += 1
    return refused


@needs_root
@needs_table
def test_a_table_filled_to_the_brim(tmp_path, monkeypatch):
    # All of a table is listed, also on a busy machine.
    monkeypatch.setattr(conntrack, "_LIST_SECONDS", 600.0)

    def work():
        host = Host("/")
        before = read_counters(host)
        fill(limit(), tmp_path)
        full = read_table(host)
        refused = send(2000)
        counters = read_counters(host)
        return [before, full, refused, counters, lost(host, counters[1]), watched(host, 0.1, before[1]),
                conntrack.consumers(host, True), netlink.conntrack_counters()]

    before, full, refused, counters, gone, window, kinds, by_netlink = in_own_network(
        work, "ip link set lo up", TRACKED)
    assert before == ["ok", dict.fromkeys(counters[1], 0)]
    assert (full["status"], full["max"], full["count"]) == ("ok", limit(), limit())
    # What found a connection without an answer in its part of the table evicted it; what found none was refused.
    assert refused > 100 and gone["dropped"] >= refused and gone["evicted"] > 500
    assert (counters[0] == "ok" and counters[1]["drop"] == gone["dropped"]
            and counters[1]["early_drop"] == gone["evicted"])
    assert window["per_second"]["drop"] > 0 and window["highest_count"] <= limit()
    assert (kinds[0] == "ok" and kinds[1][0]["protocol"] == "udp" and kinds[1][0]["state"] == "ASSURED"
            and kinds[1][0]["count"] == limit() // 8 * 7)
    # The kernel tells the same over netlink.
    assert by_netlink[0] == "ok" and {name: by_netlink[1][name] for name in ("drop", "early_drop")} == {
        name: counters[1][name] for name in ("drop", "early_drop")}
