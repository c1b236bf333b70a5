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
from node_manifests import DEBIAN, merged, process, running
from node_processes import as_nobody, needs_root, python_path
from node_sections import collect_sections

SERVER = "--service-cluster-ip-range=10.96.0.0/12"


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


def test_routes_that_may_not_be_read():
    folder = node_tree.unpack(merged(DEBIAN, running("6.1.0"), {"proc/net/route": node_tree.mode(0, "")}),
                              node_tree.open_folder())
    section = as_nobody(lambda: collect_sections(["cni"], folder, "live")["node_cni"])
    assert (section["collected"]["routes"], section["node_networks"]) == ("denied", [])


def test_an_image_is_in_no_network(tmp_path):
    tree = node_tree.unpack(merged(DEBIAN,
                                   {"proc/net/route": line("00000000", "0102A8C0", "00000000") + line("0002A8C0")},
                                   process(7, "kube-apiserver", ["kube-apiserver", SERVER])), tmp_path)
    section = collect_sections(["cni"], tree, "image")["node_cni"]
    assert (section["collected"]["routes"], section["node_networks"], section["service_ranges"]) == ("absent", [], [])


K3S = "etc/rancher/k3s/config.yaml"
MICROK8S = "var/snap/microk8s/current/args/kube-apiserver"


@pytest.mark.parametrize(
    "manifest, ranges, source", [
        (process(7, "kube-apiserver", ["kube-apiserver", SERVER]), ["10.96.0.0/12"],
         "--service-cluster-ip-range of kube-apiserver"),
        (process(7, "kube-apiserver", ["kube-apiserver", "--service-cluster-ip-range", "10.96.0.0/16,fd00:96::/112"]),
         ["10.96.0.0/16", "fd00:96::/112"], "--service-cluster-ip-range of kube-apiserver"),
        (process(7, "kube-apiserver", ["kube-apiserver"]), [], None),
        (process(7, "kubelet", ["kubelet", SERVER]), [], None),
        (process(7, "k3s-server", ["k3s", "server", "--service-cidr=10.43.0.0/16"]), ["10.43.0.0/16"],
         "--service-cidr of k3s-server"),
        (merged(process(7, "k3s-server", ["k3s", "server"]),
                {K3S: 'token: secret\nservice-cidr: "10.45.0.0/16,fd00:45::/112" # both\ntls-san: x\n'}),
         ["10.45.0.0/16", "fd00:45::/112"], "service-cidr in /" + K3S),
        (merged(process(7, "k3s-server", ["k3s", "server"]),
                {K3S: "{'service-cidr': [10.45.0.0/16,\n 'fd00:45::/112']}\n"}), ["10.45.0.0/16", "fd00:45::/112"],
         "service-cidr in /" + K3S),
        (merged(process(7, "k3s-server", ["k3s", "server"]),
                {K3S: "service-cidr: 10.45.0.0/16\n", K3S + ".d/1.yaml": "service-cidr: &x 10.46.0.0/16\n"}),
         ["10.46.0.0/16"], "service-cidr in /" + K3S),
        (merged(process(7, "k3s-server", ["k3s", "server"]), {K3S: "token: secret\n# service-cidr: 10.45.0.0/16\n"}),
         [], None),
        (merged(process(7, "kubelite", ["kubelite"]),
                {MICROK8S: "--secure-port=16443\n--service-cluster-ip-range=10.152.183.0/24\n"}), ["10.152.183.0/24"],
         "service-cluster-ip-range in /" + MICROK8S),
        ({MICROK8S: SERVER, K3S: "service-cidr: 10.45.0.0/16\n"}, [], None),
    ])
def test_the_range_of_services(manifest, ranges, source, tmp_path):
    section = look(tmp_path, manifest)
    assert (section["service_ranges"], section["service_ranges_source"]) == (ranges, source)
    assert "secret" not in json.dumps(section)


SERVER_OF_K3S = process(7, "k3s-server", ["k3s", "server"])
UNREADABLE = {K3S: "service-cidr: 10.45.0.0/16\nx: !y 1\n"}


@pytest.mark.parametrize(
    "manifest, ranges, status", [
        ({}, [], "absent"), (UNREADABLE, [], "absent"), (SERVER_OF_K3S, [], "ok"),
        (process(7, "kube-apiserver", ["kube-apiserver", SERVER]), ["10.96.0.0/12"], "ok"),
        (merged(SERVER_OF_K3S, {K3S: "service-cidr: 10.45.0.0/16\n"}), ["10.45.0.0/16"], "ok"),
        (merged(SERVER_OF_K3S, UNREADABLE), [], "unparsed"),
        (merged(SERVER_OF_K3S, {K3S: "service-cidr: 10.45.0.0/16\nservice-cidr+: !x 10.46.0.0/16\n"}), [], "unparsed"),
        (merged(SERVER_OF_K3S, {K3S: node_tree.FIFO}), [], "unparsed"),
        # The command line counts before the file.
        (merged(process(7, "k3s-server", ["k3s", "server", "--service-cidr=10.43.0.0/16"]), UNREADABLE),
         ["10.43.0.0/16"], "ok"),
        (merged(process(7, "kubelite", ["kubelite"]), {MICROK8S: node_tree.FIFO}), [], "unparsed"),
        (process(7, "kubelite", ["kubelite"]), [], "ok"),
    ])
def test_what_could_be_read_of_the_range_of_services(manifest, ranges, status, tmp_path):
    section = look(tmp_path, manifest)
    assert (section["collected"]["service_ranges"], section["service_ranges"]) == (status, ranges)


def test_a_configuration_of_k3s_that_may_not_be_read():
    folder = node_tree.unpack(merged(DEBIAN, running("6.1.0"), SERVER_OF_K3S,
                                     {K3S: node_tree.mode(0, "service-cidr: 10.45.0.0/16\n")}), node_tree.open_folder())
    section = as_nobody(lambda: collect_sections(["cni"], folder, "live")["node_cni"])
    assert (section["collected"]["service_ranges"], section["service_ranges"]) == ("denied", [])
