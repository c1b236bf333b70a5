# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranges and leases of host-local."""

import json
import os

import pytest

import node_tree
from node_manifests import DEBIAN, merged
from node_sections import collect_sections

LEASES = "var/lib/cni/networks/pods/"
SANDBOXES = "var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/"
TASKS = "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
RANGE = {"type": "host-local", "ranges": [[{"subnet": "10.244.1.0/28"}]]}
LIVE = {"proc/1/comm": "systemd\n", "proc/9/comm": "containerd\n", "proc/9/cmdline": "/usr/bin/containerd\0"}


DOCKER = {"proc/9/comm": "cri-dockerd\n", "proc/9/cmdline": "/usr/bin/cri-dockerd\0", "proc/8/comm": "dockerd\n",
          "proc/8/cmdline": "/usr/bin/dockerd\0-H\0fd://\0"}


def sandbox(number):
    return "%064x" % number


def conf(ipam, plugin="bridge", **more):
    return json.dumps({"name": "pods", "plugins": [dict({"type": plugin, "ipam": ipam}, **more)]})


def leases(folder, numbers, prefix="10.244.1."):
    """A lease of each number, for the sandbox of that number."""
    files = {folder + prefix + str(number): sandbox(number) + "\r\neth0" for number in numbers}
    return dict(files, **{folder + "last_reserved_ip.0": "10.244.1.4", folder + "lock": ""})


def look(tmp_path, *manifests, **options):
    """The rows of a node whose leases are old, but those named `young`."""
    tree = node_tree.unpack(merged(DEBIAN, LIVE, *manifests), tmp_path)
    for folder, _folders, names in os.walk(str(tmp_path / "var/lib/cni/networks")):
        for name in names:
            if name not in options.get("young", ()):
                os.utime(os.path.join(folder, name), (1e9, 1e9))
    section = collect_sections(["cni"], tree, "live")["node_cni"]
    return section["collected"]["sandboxes"], section["host_local"]


def numbers(row):
    return row["addresses"], row["leased"], row["free"], row["leased_percent"], row["leaked"], row["leaked_percent"]


def test_a_full_range_with_leases_whose_sandbox_is_gone(tmp_path):
    status, rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(RANGE)}, leases(LEASES, range(2, 15)), {
        SANDBOXES + sandbox(2) + "/hosts": "", SANDBOXES + sandbox(3) + "/hosts": "", TASKS + sandbox(4) + "/pid": "1"})
    assert (status, [numbers(row) for row in rows]) == ("ok", [(13, 13, 0, 100.0, 10, 76.9)])
    assert rows[0]["leaked_examples"] == ["10.244.1.%d" % number for number in range(5, 10)]
    assert (rows[0]["network"], rows[0]["family"], rows[0]["ranges"], rows[0]["directory"], rows[0]["used"]) == (
        "pods", "ipv4", ["10.244.1.1-10.244.1.14"], "/var/lib/cni/networks/pods", True)


def test_what_is_no_leak(tmp_path):
    files = leases(LEASES, [2, 3])
    files.update({LEASES + "10.244.1.4": "podman-container\r\neth0", LEASES + "10.244.1.5": node_tree.FIFO,
                  LEASES + "10.244.1.6": "", LEASES + "10.244.9.9": sandbox(9)})
    rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(RANGE)}, files,
                {SANDBOXES + sandbox(2) + "/hosts": ""}, young=["10.244.1.3"])[1]
    # The empty file is one of a power failure: the plugin never frees it. The other range is of before.
    assert (rows[0]["leased"], rows[0]["leaked"], rows[0]["leaked_examples"], rows[0]["unchecked"]) == (
        5, 1, ["10.244.1.6"], 1)


@pytest.mark.parametrize("more, status", [
    ({}, "absent"), ({SANDBOXES + "x": node_tree.DIRECTORY, "proc/9/comm": "dockerd\n"}, "absent"),
    ({SANDBOXES.rstrip("/"): node_tree.DIRECTORY}, "absent"), ({SANDBOXES.rstrip("/"): node_tree.mode(0, "x")},
                                                               "absent"),
    ({SANDBOXES + "x": node_tree.DIRECTORY, "etc/containerd/config.toml": 'root = """/x"""\n'}, "absent"),
    ({SANDBOXES + "x": node_tree.DIRECTORY, "proc/9/cmdline": "containerd\0--root\0/srv\0"}, "absent"),
])
def test_sandboxes_that_cannot_be_read_make_no_leak(more, status, tmp_path):
    found, rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(RANGE)}, leases(LEASES, [2]), more)
    assert (found, numbers(rows[0])) == (status, (13, 1, 12, 7.7, None, None))
    assert rows[0]["reason"] == "the sandboxes of the container runtime could not be read"


@pytest.mark.parametrize("files, folder", [
    ({"proc/9/cmdline": "containerd\0--root=/srv/c\0"}, "srv/c/io.containerd.grpc.v1.cri/sandboxes/"),
    ({"etc/containerd/config.toml": 'root = "/srv/c"\n'}, "srv/c/io.containerd.grpc.v1.cri/sandboxes/"),
    ({"proc/9/comm": "crio\n", "proc/9/cmdline": "crio\0"}, "var/lib/containers/storage/overlay-containers/"),
    ({"proc/9/comm": "crio\n", "proc/9/cmdline": "crio\0", "etc/crio/crio.conf.d/1.conf":
      '[crio]\nroot = "/srv"\nstorage_driver = "vfs"\n'}, "srv/vfs-containers/"),
    ({"proc/9/comm": "crio\n", "proc/9/cmdline": "crio\0", "etc/containers/storage.conf":
      '[storage]\ngraphroot = "/srv"\n'}, "srv/overlay-containers/"),
    (DOCKER, "var/lib/docker/containers/"),
    (dict(DOCKER, **{"etc/docker/daemon.json": '{"data-root": "/srv/docker"}'}), "srv/docker/containers/"),
    (dict(DOCKER, **{"proc/8/cmdline": "/usr/bin/dockerd\0--data-root\0/srv/d\0"}), "srv/d/containers/"),
])
def test_the_sandboxes_of_a_runtime(files, folder, tmp_path):
    status, rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(RANGE)}, leases(LEASES, [2, 3]), files,
                        {folder + sandbox(2) + "/x": ""})
    assert (status, rows[0]["leaked_examples"]) == ("ok", ["10.244.1.3"])


@pytest.mark.parametrize("files", [
    {"etc/docker/daemon.json": '{"userns-remap": "default"}'}, {"etc/docker/daemon.json": "{"},
    {"etc/docker/daemon.json": "[]"}, {"etc/docker/daemon.json": '{"data-root": 7}'},
    {"proc/8/cmdline": "dockerd\0--userns-remap=default\0"}, {"proc/8/comm": "sh\n"}])
def test_where_docker_keeps_its_containers_is_not_guessed(files, tmp_path):
    status, rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(RANGE)}, leases(LEASES, [2, 3]), DOCKER, files,
                        {"var/lib/docker/containers/" + sandbox(2) + "/x": ""})
    assert (status, rows[0]["leaked"]) == ("absent", None)


FLANNEL = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_IPV6_SUBNET=fd00:1::1/64\n"


@pytest.mark.parametrize("text, found", [
    (conf(None, "flannel"), [(253, 2), (2 ** 64 - 2, 1)]),
    (conf({"type": "host-local", "subnet": "usePodCidr"}, "calico"), [(253, 2)]),
    (conf({"type": "host-local", "ranges": [[{"subnet": "usePodCidrIPv6"}]]}, "calico"), [(2 ** 64 - 2, 1)]),
])
def test_the_pod_network_of_the_node(text, found, tmp_path):
    files = dict(leases(LEASES, [2, 3]), **{LEASES + "fd00:1::2": sandbox(2)})
    rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": text, "run/flannel/subnet.env": FLANNEL}, files)[1]
    assert [(row["addresses"], row["leased"]) for row in rows] == found


@pytest.mark.parametrize("text, reason", [
    (conf({}, "flannel"), "/run/flannel/subnet.env names no subnet of this node"),
    (conf({"type": "host-local", "subnet": "usePodCidr"}, "calico"),
     "usePodCidr is the podCIDR of the node, which the API server knows"),
    (conf({"type": "host-local", "subnet": ["x"]}), "host-local refuses the range of ['x']"),
])
def test_a_range_that_is_not_known(text, reason, tmp_path):
    rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": text}, leases(LEASES, [2]))[1]
    assert [(row["addresses"], row["leased"], row["reason"]) for row in rows] == [(None, None, reason)]


@pytest.mark.parametrize("ranges", [[{"subnet": "fd00::/56"}], [{"subnet": "fd00::/64"}, {"subnet": "fd01::/64"}]])
def test_a_number_of_addresses_fits_into_64_bits(ranges, tmp_path):
    rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf({"type": "host-local", "ranges": [ranges]})},
                {LEASES + "fd00::2": sandbox(2)})[1]
    assert [(row["addresses"], row["free"], row["leased_percent"]) for row in rows] == [(2 ** 64 - 1, 2 ** 64 - 2, 0.0)]


def test_many_leases_are_bounded(tmp_path):
    wide = {"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/8"}]] * 20}
    files = {"%s10.0.%d.%d" % (LEASES, number // 250, number % 250): "x" for number in range(1, 4200)}
    rows = look(tmp_path, {"etc/cni/net.d/10-x.conflist": conf(wide)}, files, {SANDBOXES + "x/y": ""})[1]
    assert len(rows) == 8 and {(row["leased"], row["unchecked"]) for row in rows} == {(4199, 103)}
