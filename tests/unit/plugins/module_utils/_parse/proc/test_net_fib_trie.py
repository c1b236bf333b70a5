# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/net/fib_trie."""

import ipaddress
import subprocess

from hypothesis import example, given
from hypothesis import strategies as st

from node_processes import needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_fib_trie import parse_proc_net_fib_trie

SAMPLE = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.96.0.0/28 2 0 2
        |-- 10.96.0.1
           /32 host LOCAL
        |-- 10.96.0.10
           /32 host LOCAL
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /32 link BROADCAST
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     |-- 192.168.1.255
        /32 link BROADCAST
"""


def test_what_the_kernel_takes_for_its_own():
    assert parse_proc_net_fib_trie(SAMPLE) == ({"10.96.0.1", "10.96.0.10", "127.0.0.1"},
                                               [ipaddress.IPv4Network("127.0.0.0/8")])


@needs_root
def test_against_the_kernel():
    script = ("ip link set lo up && ip link add v0 type veth && ip addr add 10.96.0.1/32 dev v0 && ip route add local "
              "10.97.0.0/16 dev lo && cat /proc/net/fib_trie")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    # The interface is down, as kube-ipvs0 is.
    assert parse_proc_net_fib_trie(text) == ({"10.96.0.1", "127.0.0.1"}, [ipaddress.IPv4Network("10.97.0.0/16"),
                                                                          ipaddress.IPv4Network("127.0.0.0/8")])


@given(st.text())
@example("  |-- 999.0.0.1\n  /8 host LOCAL\n")
@example("  |-- 10.0.0.1\n  /99 host LOCAL\n")
@example("  /32 host LOCAL\n")
def test_any_text(text):
    addresses, networks = parse_proc_net_fib_trie(text)
    assert all(address in text for address in addresses) and (not networks or "host LOCAL" in text)


@given(st.sets(st.integers(0, 2 ** 32 - 1)))
def test_addresses_are_read_back(numbers):
    addresses = {str(ipaddress.IPv4Address(number)) for number in numbers}
    text = "Local:\n" + "".join("     |-- %s\n        /32 host LOCAL\n" % address for address in sorted(addresses))
    assert parse_proc_net_fib_trie(text) == (addresses, [])
