# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real table filled to its limit in a network namespace of its own, and what the section tells of it; the limit
itself is not touched."""

import socket
import subprocess

import pytest

from node_processes import CLONE_NEWNET, _libc, in_child, needs_mounts, needs_root, private_mounts
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import netlink
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack import conntrack
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.now import (lost, read_counters,
                                                                                             read_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.conntrack import watched

MAX = "/proc/sys/net/netfilter/nf_conntrack_max"
# Filling a table of the default size takes some seconds.
LIMIT = 262144
FLOW = "-I -s 10.%d.%d.%d -d 10.255.0.1 -p udp --sport %d --dport 53 -t 600 -u %s\n"
RULES = ("add table ip t\nadd chain ip t c { type filter hook output priority 0; }\nadd rule ip t c ct state new "
         "accept\n")


def limit():
    try:
        with open(MAX) as stream:
            return int(stream.read())
    except IOError:
        return None


needs_table = pytest.mark.skipif(not limit() or limit() > LIMIT,
                                 reason="needs nf_conntrack with a limit that can be filled")


def run(argv, text):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = process.communicate(text.encode("ascii"))[0]
    assert process.returncode == 0, said


def fill(count, folder):
    """So many connections, of which every eighth has seen no answer and may be evicted."""
    path = str(folder / "flows")
    with open(path, "w") as stream:
        for number in range(count):
            status = "SEEN_REPLY,ASSURED" if number % 8 else "UNSET"
            stream.write(FLOW % (number >> 16 & 255, number >> 8 & 255, number & 255, 1024 + number % 60000, status))
    run(["conntrack", "-R", path], "")


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


def in_own_network(work):
    def inside():
        _libc("unshare", CLONE_NEWNET)
        private_mounts()
        run(["ip", "link", "set", "lo", "up"], "")
        run(["nft", "-f", "-"], RULES)
        return work()
    return in_child(inside)


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

    before, full, refused, counters, gone, window, kinds, by_netlink = in_own_network(work)
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


@needs_root
@needs_table
def test_a_table_with_room_loses_nothing(tmp_path):
    def work():
        host = Host("/")
        fill(1000, tmp_path)
        refused = send(100)
        return [refused, read_table(host), lost(host, read_counters(host)[1])]

    refused, table, gone = in_own_network(work)
    assert refused == 0 and table["count"] == 1100 and (gone["dropped"], gone["evicted"]) == (0, 0)


@needs_mounts
@needs_table
def test_sysctls_that_nobody_may_write_are_read_all_the_same():
    def work():
        private_mounts()
        run(["mount", "--bind", "/proc/sys", "/proc/sys"], "")
        run(["mount", "-o", "remount,ro,bind", "/proc/sys"], "")
        try:
            open(MAX, "w").close()
            writable = True
        except OSError:
            writable = False
        return [writable, collect_sections(["conntrack"], "/", "live")["node_conntrack"]]

    writable, section = in_child(work)
    assert (writable, section["max"], section["collected"]["table"],
            section["collected"]["counters"]) == (False, limit(), "ok", "ok")
