# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_ipvs, in trees with what a kernel with IPVS prints, and on this machine."""

import json
import subprocess
import sys

import pytest

import node_tree
from ip_vs import HEADING, four, mark, real, six
from node_manifests import merged
from node_processes import needs_root, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import (ABSENT, OK, OUTPUT_LIMIT, TIMEOUT,
                                                                                    Completed, Host)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs

DEVICES = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
"""
DUMMY = (DEVICES + "kube-ipvs0:       0       0    0    0    0     0          0         0        0       0    0    "
                   "0    0     0       0          0\n")
SERVERS = HEADING + (
    four("10.96.0.1", 443) + real("192.168.0.2", 6443) + four("10.96.0.10", 53, protocol="UDP") + real("10.244.0.7", 53)
    + real("10.244.1.7", 53) + four("10.96.0.77", 80) + four("10.96.0.78", 80, "wlc") + real("10.244.0.9", 80, 0)
    + six("fd00:10:96::a", 53) + real("fd00:10:244::7", 53) + four("192.168.0.2", 30080) + real("10.244.0.9", 80))
SIX_SET = """\
Name: KUBE-6-CLUSTER-IP
Type: hash:ip,port
Header: family inet6 hashsize 1024 maxelem 65536
Number of entries: 1

"""
ENTRIES = """\
create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x5a0a2f1e
add KUBE-CLUSTER-IP 10.96.0.1,tcp:443
add KUBE-CLUSTER-IP 10.96.0.10,udp:53
add KUBE-CLUSTER-IP 10.96.0.77,tcp:80
add KUBE-CLUSTER-IP 10.96.0.78,tcp:80
"""
FOURS = ("10.96.0.1", "10.96.0.10", "10.96.0.77", "10.96.0.78", "192.168.0.2", "127.0.0.1")
SETS = """\
Name: KUBE-CLUSTER-IP
Type: hash:ip,port
Revision: 6
Header: family inet hashsize 1024 maxelem 65536
Size in memory: 264
References: 2
Number of entries: 4

Name: KUBE-SRC-2A3B4C5D6E7F8G9H
Type: hash:ip
Header: family inet hashsize 1024 maxelem 65536
Number of entries: 2

Name: KUBE-6-NODE-PORT-TCP
Type: bitmap:port
Header: range 0-65535
Number of entries: 0
"""
ADDRESSES = """\
31: kube-ipvs0    inet 10.96.0.1/32 scope global kube-ipvs0\\       valid_lft forever preferred_lft forever
31: kube-ipvs0    inet 10.96.0.10/32 scope global kube-ipvs0\\       valid_lft forever preferred_lft forever
31: kube-ipvs0    inet6 fd00:10:96::a/128 scope global tentative \\       valid_lft forever preferred_lft forever
"""


def fib_trie(*addresses):
    return "Local:\n" + "".join("     |-- %s\n        /32 host LOCAL\n" % address for address in addresses)


TREE = {
    "proc/net/ip_vs": SERVERS, "proc/net/dev": DUMMY, "proc/net/fib_trie": fib_trie(*FOURS),
    "proc/net/if_inet6": "fd00001000960000000000000000000a 1f 80 00 c0 kube-ipvs0\n",
    "sys/module/ip_set/parameters/max_sets": "256\n",
}


def kube_proxy(mode, scheduler=None, runs_in="container"):
    return {"mode": mode, "ipvs_scheduler": scheduler, "runs_in": runs_in}


class Answering(Host):
    """A host that answers for programs: {first argument: Completed}."""

    def __init__(self, root, answers):
        super(Answering, self).__init__(root)
        self.answers = answers
        self.ran = []

    def run(self, argv, timeout=5.0, limit=OUTPUT_LIMIT):
        self.ran.append(argv)
        return self.answers.get(" ".join(argv[:1] + argv[2:]), self.answers.get(argv[0], Completed(ABSENT)))

    def stream(self, argv, consume, timeout, limit, while_waiting=None):
        answer = self.run(argv)
        consume(answer.out.encode("utf-8"))
        return answer


def look(tmp_path, changes=None, proxy=None, answers=None, place="live"):
    host = Answering(node_tree.unpack(merged(TREE, changes or {}), tmp_path), answers or {})
    return collect_ipvs(host, {"place": place}, proxy), host


def said(text, rc=0):
    return Completed(OK, rc, text)


def test_a_node_in_ipvs_mode(tmp_path):
    section, host = look(tmp_path, {}, kube_proxy("ipvs", "rr"), {
        "ip": said(ADDRESSES), "ipset": said(SIX_SET + SETS), "ipset KUBE-CLUSTER-IP": said(ENTRIES),
        "ipset KUBE-6-CLUSTER-IP": said("add KUBE-6-CLUSTER-IP fd00:10:96::a,tcp:53\n")})
    assert section == {
        "schema": 1, "collected": {"ip_vs": "ok", "addresses": "ok", "ipsets": "ok"}, "in_kernel": True,
        "virtual_servers": 6, "real_servers": 6, "without_real_servers": [
            {"family": "ipv4", "address": "10.96.0.77", "port": 80, "protocol": "tcp", "mark": None},
            {"family": "ipv4", "address": "10.96.0.78", "port": 80, "protocol": "tcp", "mark": None}],
        "without_real_servers_count": 2, "without_real_servers_percent": 33, "schedulers": [
            {"scheduler": "rr", "services": 5, "differs": False},
            {"scheduler": "wlc", "services": 1, "differs": True}],
        "configured_scheduler": "rr", "dummy_interface": {"present": True, "addresses": 3, "missing_addresses": 0},
        "ipsets": [{"name": "KUBE-6-CLUSTER-IP", "entries": 1, "size_limit": 65536},
                   {"name": "KUBE-6-NODE-PORT-TCP", "entries": 0, "size_limit": 65536},
                   {"name": "KUBE-CLUSTER-IP", "entries": 4, "size_limit": 65536}],
        "service_sets": {"entries": 5, "missing_servers": 0, "missing_entries": 0, "examples": [], "because": ""},
        "leftover": False,
        "leftover_because": "kube-proxy runs in ipvs mode",
    }
    assert host.ran == [["ip", "-o", "addr", "show", "dev", "kube-ipvs0"], ["ipset", "list", "-t"],
                        ["ipset", "save", "KUBE-6-CLUSTER-IP"], ["ipset", "save", "KUBE-CLUSTER-IP"]]


def test_a_node_without_ipvs(tmp_path):
    gone = {"proc/net/ip_vs": None, "proc/net/dev": DEVICES, "sys/module/ip_set/parameters/max_sets": None}
    section, host = look(tmp_path, gone, kube_proxy("iptables"))
    assert section["collected"] == {"ip_vs": "absent", "addresses": "ok", "ipsets": "absent"}
    assert (section["in_kernel"], section["virtual_servers"], section["without_real_servers_count"],
            section["leftover"]) == (False, 0, 0, False)
    assert section["dummy_interface"] == {"present": False, "addresses": 0, "missing_addresses": 0}
    # Either program would load the module it asks.
    assert host.ran == []


@pytest.mark.parametrize("place", ["image", "container"])
def test_nothing_is_asked_outside_of_a_live_place(tmp_path, place):
    section, host = look(tmp_path, {}, kube_proxy(None), place=place)
    assert set(section["collected"].values()) == {"absent"} and host.ran == []
    assert (section["virtual_servers"] is section["in_kernel"] is section["leftover"]
            is section["dummy_interface"]["present"] is None)


@pytest.mark.parametrize(
    "changes, missing", [
        ({"proc/net/fib_trie": fib_trie("10.96.0.1", "192.168.0.2")}, 3), ({"proc/net/if_inet6": ""}, 1),
        ({"proc/net/if_inet6": None}, 1),
        ({"proc/net/fib_trie": "  |-- 10.96.0.0\n     /16 host LOCAL\n  |-- 192.168.0.2\n     /32 host LOCAL\n"}, 0),
        ({"proc/net/fib_trie": fib_trie(*FOURS).replace("host LOCAL", "link BROADCAST")}, 5),
        # Servers of a mark have no address.
        ({"proc/net/ip_vs": HEADING + mark(1)}, 0),
        ({"proc/net/fib_trie": None}, None), ({"proc/net/ip_vs": SERVERS + "TCP  broken\n"}, None),
        ({"proc/net/ip_vs": node_tree.FIFO}, None),
    ])
def test_addresses_that_are_on_no_interface(tmp_path, changes, missing):
    assert look(tmp_path, changes)[0]["dummy_interface"]["missing_addresses"] == missing


def test_a_list_that_cannot_be_read_is_not_empty(tmp_path):
    section = look(tmp_path, {"proc/net/ip_vs": SERVERS + "\x1b[2J garbage\n"}, kube_proxy("ipvs", "rr"))[0]
    assert section["collected"]["ip_vs"] == "unparsed" and section["in_kernel"] is True
    assert section["virtual_servers"] is section["without_real_servers_count"] is None


@pytest.mark.parametrize("answers, status, sets",
                         [
                             ({"ipset": said("", 1)}, "unparsed", []), ({"ipset": Completed(TIMEOUT)}, "timeout", []),
                             ({}, "absent", []), ({"ipset": said("")}, "ok", []),
                         ])
def test_ipset_that_does_not_answer(tmp_path, answers, status, sets):
    section = look(tmp_path, {}, None, answers)[0]
    assert (section["collected"]["ipsets"], section["ipsets"]) == (status, sets)


@pytest.mark.parametrize("proxy, configured",
                         [
                             (kube_proxy("ipvs", "lc"), "lc"), (kube_proxy("iptables"), None), (None, None),
                             (kube_proxy("ipvs", "rr", "embedded"), None),
                         ])
def test_the_configured_scheduler(tmp_path, proxy, configured):
    section = look(tmp_path, {}, proxy)[0]
    assert section["configured_scheduler"] == configured
    assert [row["differs"] for row in section["schedulers"]] == ([None, None] if configured is None else [True, True])


NO_DUMMY = {"proc/net/dev": DEVICES}
NO_SETS = {"sys/module/ip_set/parameters/max_sets": None}
NO_SERVERS = {"proc/net/ip_vs": HEADING}
CASES = {
    "all of it": ({}, "iptables", {"ipset": said(SETS)}, True),
    "the interface": (merged(NO_SERVERS, NO_SETS), "nftables", {}, True),
    "sets": (merged(NO_SERVERS, NO_DUMMY), "iptables", {"ipset": said(SETS)}, True),
    "nothing": (merged(NO_SERVERS, NO_DUMMY, NO_SETS), "iptables", {}, False),
    "virtual servers of keepalived": (NO_DUMMY, "iptables", {"ipset": said("")}, False),
    "virtual servers and no ip_set in the kernel": (merged(NO_DUMMY, NO_SETS), "iptables", {}, False),
    "virtual servers and no ipset to ask": (NO_DUMMY, "iptables", {}, None),
    "interfaces that may not be read": ({"proc/net/dev": node_tree.FIFO}, "iptables", {"ipset": said("")}, None),
    "servers that cannot be read": (merged(NO_DUMMY, {"proc/net/ip_vs": "x\n"}), "iptables", {"ipset": said("")}, None),
    "the mode is not known": ({}, None, {"ipset": said(SETS)}, None),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_leftovers(tmp_path, case):
    changes, mode, answers, leftover = CASES[case]
    section = look(tmp_path, changes, kube_proxy(mode), answers)[0]
    assert section["leftover"] is leftover and section["leftover_because"]


def test_a_large_node_stays_small(tmp_path):
    count = 5000
    addresses = ["10.%d.%d.%d" % (96 + index // 65536, index // 256 % 256, index % 256) for index in range(count)]
    text = HEADING + "".join(four(address, 80) + (real("10.244.0.9", 80) * 4 if index % 2 else "")
                             for index, address in enumerate(addresses))
    sets = "".join("Name: KUBE-CLUSTER-IP%d\nNumber of entries: 1\n\n" % index for index in range(500))
    section = look(tmp_path, {"proc/net/ip_vs": text, "proc/net/fib_trie": fib_trie(*addresses[:-7])},
                   kube_proxy("ipvs", "rr"), {"ipset": said(sets)})[0]
    assert (section["virtual_servers"], section["real_servers"],
            section["without_real_servers_count"]) == (count, count // 2 * 4, count // 2)
    assert (section["dummy_interface"]["missing_addresses"] == 7 and len(section["without_real_servers"]) == 5
            and len(section["ipsets"]) == 40)


SCRIPT = """\
import json
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs
print(json.dumps(collect_ipvs(_host.Host("/"), {"place": "live"}, {"mode": "iptables", "ipvs_scheduler": None, "runs_in": "host"})))
"""


@needs_root
def test_what_is_left_on_a_real_kernel():
    # A veth stands in for the dummy device, which not every kernel has; like that one it is down.
    prepare = ("ip link add kube-ipvs0 type veth && ip addr add 10.96.0.1/32 dev kube-ipvs0 && ip addr add "
               "fd00:10:96::a/128 dev kube-ipvs0 && ipset create KUBE-CLUSTER-IP hash:ip,port && ipset create other "
               "hash:ip && exec \"$@\"")
    process = subprocess.Popen(["unshare", "-n", "sh", "-c", prepare, "sh", sys.executable, "-c", SCRIPT],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    out, err = process.communicate()
    assert process.returncode == 0, err.decode("utf-8")
    section = json.loads(out.decode("utf-8"))
    assert section["dummy_interface"]["present"] is True and section["dummy_interface"]["addresses"] == 2
    assert section["dummy_interface"]["missing_addresses"] == 0
    assert section["ipsets"] == [{"name": "KUBE-CLUSTER-IP", "entries": 0, "size_limit": 65536}]
    assert section["leftover"] is True and "kube-ipvs0 and 1 ipsets" in section["leftover_because"]


def test_of_very_many_sets_only_those_of_kube_proxy_are_kept(tmp_path):
    text = "".join(SETS.replace("KUBE-SRC-2A3B4C5D6E7F8G9H", "cali40s:%d" % number)
                   if not number else "Name: cali40s:%d\nType: hash:ip\n\n" % number
                   for number in range(5000)) + SETS.replace("CLUSTER-IP", "EXTERNAL-IP").rstrip("\n")
    pieces = [text[start:start + 1000] for start in range(0, len(text), 1000)]

    class Streaming(Answering):
        def stream(self, argv, consume, timeout, limit, while_waiting=None):
            for piece in pieces:
                consume(piece.encode("utf-8"))
            return Completed(OK, 0)
    section = collect_ipvs(Streaming(node_tree.unpack(merged(TREE, {}), tmp_path), {"ip": said(ADDRESSES)}),
                           {"place": "live"}, None)
    assert [row["name"] for row in section["ipsets"]] == ["KUBE-6-NODE-PORT-TCP", "KUBE-6-NODE-PORT-TCP",
                                                          "KUBE-CLUSTER-IP", "KUBE-EXTERNAL-IP"]
