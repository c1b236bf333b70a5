# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni."""

import json

import pytest

import node_tree
from node_manifests import DEBIAN, merged, process
from node_sections import collect_sections

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.cni.runtime import runtime_of


def look(tree):
    return collect_sections(["cni"], tree, "image")["node_cni"]


def read(section):
    """The sources that checks of other subjects rest on."""
    return {name: section["collected"][name] for name in ("net_d", "routes")}


def conf(*types):
    return json.dumps({"name": "x", "plugins": [{"type": each} for each in types]})


@pytest.mark.parametrize("content", ["garbage", b"\xff\x00", "{}", '{"plugins": []}', node_tree.FIFO,
                                     node_tree.sparse(1 << 33), "[" * 100000])
def test_a_file_that_cannot_be_read(content, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-x.conf": content}), tmp_path))
    assert (section["name"], section["plugins"],
            read(section)) == (None, [], {"net_d": "unparsed", "routes": "absent"})


def test_no_network(tmp_path):
    assert read(look(node_tree.unpack(DEBIAN, tmp_path))) == {"net_d": "absent", "routes": "absent"}
    assert look(node_tree.unpack({"etc/cni/net.d": node_tree.DIRECTORY}, tmp_path))["name"] is None


def test_many_and_long_names_are_cut(tmp_path):
    section = look(node_tree.unpack({"etc/cni/net.d/1.conf": conf(*["\ud800" + "x" * 5000] * 50)}, tmp_path))
    assert len(section["plugins"]) == 16 and len(json.dumps(section, ensure_ascii=False).encode("utf-8")) < 4096


@pytest.mark.parametrize(
    "files, runtime, status", [
        ({}, ("containerd", None, "/etc/cni/net.d", ["/opt/cni/bin"]), "absent"),
        ({"var/lib/rancher/k3s/agent/etc/containerd/config.toml":
          '[plugins.\'io.containerd.cri.v1.runtime\'.cni]\nbin_dirs = ["/k3s/cni"]\nconf_dir = "/k3s/net.d"\n'},
         ("containerd", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "/k3s/net.d", ["/k3s/cni"]), "ok"),
        ({"etc/containerd/config.toml": 'imports = ["conf.d/*.toml"]\n',
          "etc/containerd/conf.d/a.toml": '[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "/usr/lib/cni"\n'},
         ("containerd", "/etc/containerd/config.toml", "/etc/cni/net.d", ["/usr/lib/cni"]), "ok"),
        ({"etc/crio/crio.conf.d/10-crio.conf": '[crio.network]\nplugin_dirs = [\n "/usr/libexec/cni/",\n]\n'},
         ("cri-o", "/etc/crio/crio.conf.d/10-crio.conf", "/etc/cni/net.d", ["/usr/libexec/cni"]), "ok"),
        ({"etc/containerd/config.toml": '[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = """/x"""\n'},
         ("containerd", "/etc/containerd/config.toml", "/etc/cni/net.d", ["/opt/cni/bin"]), "unparsed"),
        # Tables in one line are not read, so their settings are not known.
        ({"etc/containerd/config.toml": '[plugins."io.containerd.grpc.v1.cri"]\ncni = { conf_dir = "/x" }\n'},
         ("containerd", "/etc/containerd/config.toml", "/etc/cni/net.d", ["/opt/cni/bin"]), "unparsed"),
        ({"etc/containerd/config.toml": 'plugins."io.containerd.cri.v1.runtime" = {cni = {conf_dir = "/x"}}\n'},
         ("containerd", "/etc/containerd/config.toml", "/etc/cni/net.d", ["/opt/cni/bin"]), "unparsed"),
        ({"etc/containerd/config.toml": '[plugins]\n"io.containerd.gc.v1.scheduler" = {pause_threshold = 0.02}\n'},
         ("containerd", "/etc/containerd/config.toml", "/etc/cni/net.d", ["/opt/cni/bin"]), "ok"),
        ({"etc/crio/crio.conf": '[crio]\nnetwork = {network_dir = "/x"}\n'},
         ("cri-o", "/etc/crio/crio.conf", "/etc/cni/net.d", ["/opt/cni/bin"]), "unparsed"),
        ({"etc/containerd/config.toml": node_tree.FIFO},
         ("containerd", None, "/etc/cni/net.d", ["/opt/cni/bin"]), "unparsed"),
    ])
def test_directories_of_the_runtime(files, runtime, status, tmp_path):
    found = runtime_of(Host(node_tree.unpack(merged(DEBIAN, files), tmp_path)), {"place": "image"})
    assert (found.name, found.source, found.conf_dir, found.bin_dirs, found.status) == runtime + (status,)


@pytest.mark.parametrize("arguments, status, folder", [
    # Docker has a containerd of its own besides that of k3s, whichever started first.
    (("containerd -c /k3s.toml", "/usr/bin/containerd"), "ok", "/k3s/net.d"),
    (("/usr/bin/containerd", "containerd -c /k3s.toml"), "ok", "/k3s/net.d"),
    (("containerd -c /k3s.toml", "containerd --config=/other.toml"), "unparsed", "/etc/cni/net.d"),
])
def test_several_containerds(arguments, status, folder, tmp_path):
    files = {"k3s.toml": '[plugins."io.containerd.grpc.v1.cri".cni]\nconf_dir = "/k3s/net.d"\n', "other.toml": ""}
    for pid, line in enumerate(arguments, 31):
        files.update({"proc/%d/comm" % pid: "containerd\n", "proc/%d/cmdline" % pid: line.replace(" ", "\0") + "\0"})
    found = runtime_of(Host(node_tree.unpack(merged(DEBIAN, {"proc/1/comm": "systemd\n"}, files), tmp_path)),
                       {"place": "live"})
    assert (found.status, found.conf_dir) == (status, folder)


def test_a_containerd_without_an_option_reads_its_own_file(tmp_path):
    files = {"proc/31/comm": "containerd\n", "proc/31/cmdline": "/usr/bin/containerd\0",
             "var/lib/rancher/k3s/agent/etc/containerd/config.toml":
             '[plugins."io.containerd.grpc.v1.cri".cni]\nconf_dir = "/k3s/net.d"\n'}
    tree = node_tree.unpack(merged(DEBIAN, {"proc/1/comm": "systemd\n"}, files), tmp_path)
    found = runtime_of(Host(tree), {"place": "live"})
    assert (found.source, found.conf_dir) == (None, "/etc/cni/net.d")
    (tmp_path / "proc/31/cmdline").write_text("containerd\0-c\0/var/lib/rancher/k3s/agent/etc/containerd/config.toml\0")
    assert runtime_of(Host(tree), {"place": "live"}).conf_dir == "/k3s/net.d"


def test_hundreds_of_files_are_bounded(tmp_path):
    files = {"etc/cni/net.d/%03d.conflist" % number: conf(*["x" * 300] * 40) for number in range(300)}
    section = look(node_tree.unpack(merged(DEBIAN, files), tmp_path))
    assert (len(section["files"]), section["files_left_out"]) == (12, 288)


ID, UID = "5eed" * 16, "a5c1f8d5-1111-2222-3333-444455556666"


def live(tree):
    return collect_sections(["cni"], tree, "live")["node_cni"]["agent"]


def test_the_past_of_an_agent(tmp_path):
    pod, logs = "kubepods/pod" + UID, "var/log/pods/kube-system_calico-node-x_%s/calico-node/" % UID
    found = live(node_tree.unpack(merged(DEBIAN, {
        "proc/1/comm": "systemd\n", "etc/cni/net.d/10-x.conflist": conf("calico"), "proc/uptime": "1000.0 1\n",
        "proc/31/cgroup": "0::/%s/%s\n" % (pod, ID), "sys/fs/cgroup/%s/%s/memory.current" % (pod, ID): "5\n",
        "sys/fs/cgroup/%s/%s/memory.events" % (pod, ID): "oom_kill 0\n",
        "sys/fs/cgroup/%s/memory.events" % pod: "oom_kill 2\n", logs + "1.log": "2020-01-01T00:00:00Z x",
        logs + "2.log": "", "var/log/containers/calico-node-x_kube-system_calico-node-%s.log" % ID: ""},
        process(31, "calico-node", ("calico-node",), start_time="90000")), tmp_path))
    assert (found["restarts"], found["oom_kills"], found["oom_killed_recently"], found["process"]) == (
        2, 2, True, "calico-node in pod kube-system/calico-node-x")
    assert found["previous_started_seconds_ago"] > 1e6
