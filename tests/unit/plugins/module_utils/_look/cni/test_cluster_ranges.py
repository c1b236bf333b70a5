# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks a node is in, and the range of Services its API server tells, as the section node_cni has them."""

import json
import os
import subprocess
import sys

import pytest

import node_tree
from node_manifests import DEBIAN, merged, running
from node_processes import needs_root, python_path
from node_sections import collect_sections


def look(tmp_path, *manifests):
    return collect_sections(["cni"], node_tree.unpack(merged(DEBIAN, running("6.1.0"), *manifests), tmp_path),
                            "live")["node_cni"]


SCRIPT = """\
set -e
ip link set lo up
for name in eth0 cni0 docker0; do ip link add $name type bridge; ip link set $name up; done
ip addr add 10.0.2.15/24 dev eth0; ip addr add 10.244.1.1/24 dev cni0; ip addr add 172.17.0.1/16 dev docker0; ip addr add 169.254.3.4/16 dev eth0
ip route add default via 10.0.2.1; ip route add 10.244.2.0/24 via 10.0.2.3; ip route add 10.244.1.7/32 dev cni0
ip -6 addr add fd00:1::15/64 dev eth0 nodad; ip -6 addr add fd00:10:244:1::1/64 dev cni0 nodad; ip -6 route add default via fd00:1::1
exec %s -c 'import json; from node_sections import collect_sections; print(json.dumps(collect_sections(["cni"], "/", "live")["node_cni"]))'
"""


@needs_root
def test_only_what_is_behind_a_default_route():
    printed = subprocess.check_output(["unshare", "-n", "sh", "-c", SCRIPT % sys.executable],
                                      env=dict(os.environ, PYTHONPATH=python_path()))
    section = json.loads(printed.decode("utf-8"))
    assert section["collected"]["routes"] == "ok"
    assert section["node_networks"] == [{"family": "ipv4", "network": "10.0.2.0/24", "interface": "eth0"},
                                        {"family": "ipv6", "network": "fd00:1::/64", "interface": "eth0"}]


def line(network, gateway="00000000", mask="00FFFFFF", interface="eth0"):
    return "%s\t%s\t%s\t%s\t0\t0\t0\t%s\t0\t0\t0\n" % (interface, network, gateway,
                                                       "0001" if gateway == "00000000" else "0003", mask)


@pytest.mark.parametrize(
    "files, status, number", [
        ({}, "absent", 0), ({"proc/net/route": ""}, "ok", 0), ({"proc/net/route": line("0002A8C0")}, "ok", 0),
        ({"proc/net/route": line("00000000", "0102A8C0", "00000000")}, "ok", 0),
        ({"proc/net/route": line("00000000", "0102A8C0",
                                 "00000000") + "".join(line("00%02XA8C0" % number) for number in range(50))}, "ok", 8),
        ({"proc/net/route": node_tree.FIFO}, "unparsed", 0),
        ({"proc/net/route": node_tree.sparse(1 << 33)}, "unparsed", 0),
    ])
def test_files_of_a_tree(files, status, number, tmp_path):
    section = look(tmp_path, files)
    assert (section["collected"]["routes"], len(section["node_networks"])) == (status, number)
