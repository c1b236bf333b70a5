# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni."""

import json

import pytest

import node_tree
from node_manifests import DEBIAN, merged
from node_processes import as_nobody
from node_sections import collect_sections


def look(tree):
    return collect_sections(["cni"], tree, "image")["node_cni"]


def conf(*types):
    return json.dumps({"name": "x", "plugins": [{"type": each} for each in types]})


@pytest.mark.parametrize(
    "files, name, plugins", [
        ({"10-flannel.conflist": conf("flannel", "portmap")}, "flannel", ["flannel", "portmap"]),
        ({"10-calico.conflist": conf("calico", "bandwidth")}, "calico", ["calico", "bandwidth"]),
        ({"05-cilium.conf": '{"type": "cilium-cni"}'}, "cilium", ["cilium-cni"]),
        ({"10-kuberouter.conflist": conf("bridge")}, "kube-router", ["bridge"]),
        ({"10-aws.conflist": conf("aws-cni", "egress-cni")}, "aws", ["aws-cni", "egress-cni"]),
        ({"10-x.conf": conf("bridge")}, "other", ["bridge"]),
        ({"20-calico.conf": conf("calico"), "10-flannel.conf": conf("flannel")}, "flannel", ["flannel"]),
        ({"00-readme.txt": "", "10-flannel.conf.bak": conf("calico"), "20-weave.conf": conf("weave-net")}, "weave",
         ["weave-net"]),
    ])
def test_networks(files, name, plugins, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/" + base: text for base, text in files.items()}),
                                    tmp_path))
    assert (section["name"], section["plugins"],
            section["collected"]) == (name, plugins, {"net_d": "ok", "routes": "absent"})


@pytest.mark.parametrize("content", ["garbage", b"\xff\x00", "{}", '{"plugins": []}', node_tree.FIFO,
                                     node_tree.sparse(1 << 33), "[" * 100000])
def test_a_file_that_cannot_be_read(content, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-x.conf": content}), tmp_path))
    assert (section["name"], section["plugins"],
            section["collected"]) == (None, [], {"net_d": "unparsed", "routes": "absent"})


def test_no_network(tmp_path):
    assert look(node_tree.unpack(DEBIAN, tmp_path))["collected"] == {"net_d": "absent", "routes": "absent"}
    assert look(node_tree.unpack({"etc/cni/net.d": node_tree.DIRECTORY}, tmp_path))["name"] is None


@pytest.mark.parametrize("closed", ["etc/cni/net.d", "etc/cni/net.d/10-x.conf"])
def test_what_may_not_be_read(closed):
    folder = node_tree.open_folder()
    manifest = {"etc/cni/net.d/10-x.conf": conf("flannel")}
    manifest[closed] = node_tree.mode(0o000, manifest.get(closed, node_tree.DIRECTORY))
    node_tree.unpack(manifest, folder)
    section = as_nobody(lambda: look(folder))
    assert (section["name"], section["collected"]) == (None, {"net_d": "denied", "routes": "absent"})


def test_many_and_long_names_are_cut(tmp_path):
    section = look(node_tree.unpack({"etc/cni/net.d/1.conf": conf(*["\ud800" + "x" * 5000] * 50)}, tmp_path))
    assert len(section["plugins"]) == 16 and len(json.dumps(section, ensure_ascii=False).encode("utf-8")) < 4096
