# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/net/if_inet6."""

import ipaddress
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from node_processes import needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.net_if_inet6 import parse_proc_net_if_inet6

SAMPLE = """\
00000000000000000000000000000001 01 80 10 80       lo
fd00001000960000000000000000000a 1f 80 00 c0 kube-ipvs0
fe80000000000000a8bbccfffedd0001 103 40 20 80     eth0
"""


def test_addresses_and_their_interfaces():
    assert parse_proc_net_if_inet6(SAMPLE) == {"::1": "lo", "fd00:10:96::a": "kube-ipvs0",
                                               "fe80::a8bb:ccff:fedd:1": "eth0"}


@needs_root
def test_against_the_kernel():
    script = "ip link add v0 type veth && ip addr add fd00:10:96::a/128 dev v0 && cat /proc/net/if_inet6"
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_proc_net_if_inet6(text) == {"fd00:10:96::a": "v0"}


@given(st.text())
def test_any_text(text):
    assert all(interface in text for interface in parse_proc_net_if_inet6(text).values())


@given(st.sets(st.integers(0, 2 ** 128 - 1)))
def test_addresses_are_read_back(numbers):
    text = "".join("%032x 02 80 00 80 %8s\n" % (number, "dummy0") for number in numbers)
    assert parse_proc_net_if_inet6(text) == {str(ipaddress.IPv6Address(number)): "dummy0" for number in numbers}
