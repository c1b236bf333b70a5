# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni."""

import json

import pytest

import node_tree
from node_manifests import DEBIAN, merged, process
from node_processes import as_nobody
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
            read(section)) == (name, plugins, {"net_d": "ok", "routes": "absent"})


@pytest.mark.parametrize("content", ["garbage", b"\xff\x00", "{}", '{"plugins": []}', node_tree.FIFO,
                                     node_tree.sparse(1 << 33), "[" * 100000])
def test_a_file_that_cannot_be_read(content, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-x.conf": content}), tmp_path))
    assert (section["name"], section["plugins"],
            read(section)) == (None, [], {"net_d": "unparsed", "routes": "absent"})


def test_no_network(tmp_path):
    assert read(look(node_tree.unpack(DEBIAN, tmp_path))) == {"net_d": "absent", "routes": "absent"}
    assert look(node_tree.unpack({"etc/cni/net.d": node_tree.DIRECTORY}, tmp_path))["name"] is None


@pytest.mark.parametrize("closed", ["etc/cni/net.d", "etc/cni/net.d/10-x.conf"])
def test_what_may_not_be_read(closed):
    folder = node_tree.open_folder()
    manifest = {"etc/cni/net.d/10-x.conf": conf("flannel")}
    manifest[closed] = node_tree.mode(0o000, manifest.get(closed, node_tree.DIRECTORY))
    node_tree.unpack(manifest, folder)
    section = as_nobody(lambda: look(folder))
    assert (section["name"], read(section)) == (None, {"net_d": "denied", "routes": "absent"})


def test_many_and_long_names_are_cut(tmp_path):
    section = look(node_tree.unpack({"etc/cni/net.d/1.conf": conf(*["\ud800" + "x" * 5000] * 50)}, tmp_path))
    assert len(section["plugins"]) == 16 and len(json.dumps(section, ensure_ascii=False).encode("utf-8")) < 4096


def files_of(section):
    return [(row["path"].rpartition("/")[2], row["used"], row["problem"], (row["hidden_by"] or "").rpartition("/")[2])
            for row in section["files"]]


CRIO = {"etc/crio/crio.conf": "[crio]\n"}
CONTAINERD = {"etc/containerd/config.toml": "version = 2\n"}


@pytest.mark.parametrize(
    "more, files, found, used", [
        # containerd stops at the first file, others pass over it.
        (CONTAINERD, {"10-calico.conflist": conf("calico")[:-4], "20-a.conflist": conf("bridge")},
         [("10-calico.conflist", True, "ends too early (truncated)", ""), ("20-a.conflist", False, None, "")],
         "10-calico.conflist"),
        (CRIO, {"10-calico.conflist": conf("calico")[:-4], "20-a.conflist": conf("bridge")},
         [("10-calico.conflist", False, "ends too early (truncated)", ""), ("20-a.conflist", True, None, "")],
         "20-a.conflist"),
        # The order is that of the names, whatever their ending is.
        (CONTAINERD, {"10-calico.conflist": conf("calico", "portmap"), "10-calico.conf": '{"type": "calico"}',
                      "9.json": '{"type": "flannel"}'},
         [("10-calico.conf", True, None, ""), ("10-calico.conflist", False, None, "10-calico.conf"),
          ("9.json", False, None, "10-calico.conf")], "10-calico.conf"),
        (CRIO, {"10-crio-bridge.conflist": conf("bridge"), "10-flannel.conflist": json.dumps(
            {"name": "cbr0", "plugins": [{"type": "flannel"}]})},
         [("10-crio-bridge.conflist", True, None, ""), ("10-flannel.conflist", False, None, "10-crio-bridge.conflist")],
         "10-crio-bridge.conflist"),
        # Both are there on purpose.
        (CONTAINERD, {"00-multus.conf": '{"name": "multus", "type": "multus"}', "10-calico.conflist": conf("calico"),
                      "99-loopback.conf": '{"type": "loopback"}'},
         [("00-multus.conf", True, None, ""), ("10-calico.conflist", False, None, ""),
          ("99-loopback.conf", False, None, "")], "00-multus.conf"),
        (CONTAINERD, {"05-cilium.conflist": '{"name": "aws", "plugins": [{"type": "aws-cni"}, {"type": "cilium-cni"}]}',
                      "10-aws.conflist": json.dumps({"name": "aws-cni", "plugins": [{"type": "aws-cni"}]})},
         [("05-cilium.conflist", True, None, ""), ("10-aws.conflist", False, None, "")], "05-cilium.conflist"),
        (CONTAINERD, {"10-calico.conflist": conf("calico"), "87-podman.conflist": json.dumps(
            {"name": "podman", "plugins": [{"type": "bridge"}]})},
         [("10-calico.conflist", True, None, ""), ("87-podman.conflist", False, None, "")], "10-calico.conflist"),
        # A copy gives pods the same network; one of another chain does not.
        (CONTAINERD, {"10-calico.conflist": conf("calico", "portmap"),
                      "10-calico.old.conflist": conf("calico", "portmap"),
                      "20-backup.conflist": conf("calico", "portmap", "bandwidth")},
         [("10-calico.conflist", True, None, ""), ("10-calico.old.conflist", False, None, ""),
          ("20-backup.conflist", False, None, "10-calico.conflist")], "10-calico.conflist"),
        (CONTAINERD, {"10-x.conf": node_tree.FIFO}, [("10-x.conf", True, "is not a regular file", "")], "10-x.conf"),
        (CONTAINERD, {"10-x.conf": node_tree.link("10-x.conf")},
         [("10-x.conf", True, "is a link to a file that does not exist", "")], "10-x.conf"),
        (CONTAINERD, {"10-x.conf": node_tree.sparse(10 << 20)}, [("10-x.conf", True, None, "")], "10-x.conf"),
        (CONTAINERD, {"10-x.conf": node_tree.DIRECTORY, "20\nx.conf": '{"type": "bridge"}'},
         [("20\nx.conf", True, None, "")], "20\nx.conf"),
    ])
def test_files_as_the_runtime_takes_them(more, files, found, used, tmp_path):
    section = look(node_tree.unpack(merged(DEBIAN, more, {"etc/cni/net.d/" + base: text
                                                          for base, text in files.items()}), tmp_path))
    assert (files_of(section), section["file"]) == (found, "/etc/cni/net.d/" + used)


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


def test_the_network_that_cri_o_is_told(tmp_path):
    files = {"etc/crio/crio.conf": '[crio.network]\ncni_default_network = "second"\n'}
    for base, name in (("10-a.conflist", "first"), ("20-b.conflist", "second")):
        files["etc/cni/net.d/" + base] = json.dumps({"name": name, "plugins": [{"type": "bridge"}]})
    assert look(node_tree.unpack(merged(DEBIAN, files), tmp_path))["file"] == "/etc/cni/net.d/20-b.conflist"


def test_programs(tmp_path):
    types = ["bridge", "portmap", "firewall", "tuning", "vlan", "calico", "../../bin/sh"]
    section = look(node_tree.unpack(merged(DEBIAN, {
        "etc/cni/net.d/10-x.conflist": conf(*types), "opt/cni/bin/bridge": node_tree.executable("x"),
        "opt/cni/bin/portmap": "x", "opt/cni/bin/firewall": node_tree.executable(""),
        "opt/cni/bin/tuning": node_tree.FIFO, "opt/cni/bin/vlan": node_tree.link("cni"),
        "opt/cni/bin/cni": node_tree.executable("x")}), tmp_path))
    # The plugin of an agent comes with its pod.
    assert [(row["name"], row["state"]) for row in section["programs"]] == [
        ("bridge", "present"), ("portmap", "not_executable"), ("firewall", "empty"), ("tuning", "missing"),
        ("vlan", "present"), ("../../bin/sh", "missing")]


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


@pytest.mark.parametrize("plugin, ipam", [("calico", "calico-ipam"), ("azure-vnet", "azure-vnet-ipam")])
def test_an_image_is_not_asked_for_what_an_agent_installs(plugin, ipam, tmp_path):
    tree = node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-x.conflist": json.dumps(
        {"name": "x", "plugins": [{"type": plugin, "ipam": {"type": ipam}}, {"type": "portmap"}]})}), tmp_path)
    assert [row["name"] for row in look(tree)["programs"]] == ["portmap"]
    assert [row["name"] for row in collect_sections(["cni"], tree, "live")["node_cni"]["programs"]] == [
        plugin, ipam, "portmap"]


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
UNIX = "Num RefCount Protocol Flags Type St Inode Path\n"
CILIUM = "0000000000000000: 00000002 00000000 %s 0001 01 31337 /var/run/cilium/cilium.sock\n"


def live(tree):
    return collect_sections(["cni"], tree, "live")["node_cni"]["agent"]


@pytest.mark.parametrize(
    "plugin, more, agent", [
        ("flannel", {"proc/31/comm": "flanneld\n", "run/flannel/subnet.env": "x"}, ("flanneld", True, "present")),
        ("flannel", {"proc/31/comm": "k3s-agent\n", "run/flannel/subnet.env": "x"}, ("k3s-agent", True, "present")),
        ("flannel", {"proc/31/comm": "flanneld\n"}, ("flanneld", True, "missing")),
        ("flannel", {"run/flannel/subnet.env": node_tree.link("subnet.env")}, ("flanneld", False, "missing")),
        ("flannel", {"proc/31/comm": "flanneld\n", "proc/uptime": "1000.0 1\n",
                     "proc/31/stat": "31 (flanneld) S " + "0 " * 18 + "99000 0\n"}, ("flanneld", True, "starting")),
        ("calico", {"proc/31/comm": "flanneld\n", "var/lib/calico/nodename": "n"}, ("calico-node", False, "present")),
        ("cilium-cni", {"proc/31/comm": "cilium-agent\n", "proc/net/unix": UNIX + CILIUM % "00010000"},
         ("cilium-agent", True, "present")),
        # A socket that belongs to a connection does not listen.
        ("cilium-cni", {"proc/31/comm": "cilium-agent\n", "proc/net/unix": UNIX + CILIUM % "00000000"},
         ("cilium-agent", True, "missing")),
        ("cilium-cni", {"proc/31/comm": "cilium-agent\n"}, ("cilium-agent", True, "unknown")),
        ("weave-net", {"proc/31/comm": "weaver\n"}, ("weaver", True, None)),
    ])
def test_the_agent(plugin, more, agent, tmp_path):
    found = live(node_tree.unpack(merged(DEBIAN, {"proc/1/comm": "systemd\n"}, {
        "etc/cni/net.d/10-x.conflist": conf(plugin)}, more), tmp_path))
    assert (found["name"], found["running"], found["contact_state"]) == agent


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


def test_a_network_without_an_agent(tmp_path):
    tree = node_tree.unpack(merged(DEBIAN, {"etc/cni/net.d/10-x.conflist": conf("bridge")}), tmp_path)
    assert live(tree) is None and look(tree)["agent"] is None


@pytest.mark.parametrize("environ, backend", [
    ("A=1\0FELIX_IPTABLESBACKEND=Legacy\0", "legacy"), ("FELIX_IPTABLESBACKEND=NFT\0", "nft"),
    ("FELIX_IPTABLESBACKEND=Auto\0", "auto"), ("FELIX_IPTABLESBACKEND=secret\0", None),
    ("XFELIX_IPTABLESBACKEND=nft\0", None), ("", None),
])
def test_the_backend_that_felix_is_set_to(environ, backend, tmp_path):
    tree = {"etc/cni/net.d/10-x.conflist": conf("calico"), "proc/31/comm": "calico-node\n", "proc/31/environ": environ}
    assert live(node_tree.unpack(merged(DEBIAN, tree), tmp_path))["backend"] == backend


NET_CONF = "etc/kube-flannel/net-conf.json"


@pytest.mark.parametrize("plugin, files, found", [
    ("calico", {"proc/31/comm": "calico-node\n",
                "proc/31/environ": "IPTABLES_MODE=nft\0FELIX_IPTABLESBACKEND=legacy\0"},
     ("legacy", "FELIX_IPTABLESBACKEND")),
    ("flannel", {"proc/31/comm": "flanneld\n", "proc/31/environ": "FELIX_IPTABLESBACKEND=legacy\0"}, (None, None)),
    ("flannel", {"proc/31/comm": "flanneld\n", NET_CONF: '{"EnableNFTables": true}'},
     ("nft", "EnableNFTables in /etc/kube-flannel/net-conf.json")),
    ("flannel", {"proc/31/comm": "flanneld\n", NET_CONF: '{"EnableNFTables": false}'}, (None, None)),
    ("flannel", {"proc/31/comm": "flanneld\n", NET_CONF: '{"EnableNFTables": tru'},
     ("unknown", "EnableNFTables in /etc/kube-flannel/net-conf.json")),
    ("flannel", {"proc/31/comm": "flanneld\n", NET_CONF: node_tree.FIFO},
     ("unknown", "EnableNFTables in /etc/kube-flannel/net-conf.json")),
    ("flannel", {"proc/31/comm": "flanneld\n", "proc/31/cmdline": "flanneld\0--net-config-path=/x.json\0",
                 "x.json": '{"EnableNFTables": true}'}, ("nft", "EnableNFTables in /x.json")),
    ("flannel", {"proc/31/comm": "k3s-agent\n", NET_CONF: '{"EnableNFTables": true}'}, (None, None)),
    ("weave-net", {"proc/31/comm": "weaver\n", "proc/31/environ": "IPTABLES_MODE=legacy\0"},
     ("legacy", "IPTABLES_MODE")),
])
def test_the_backend_that_an_agent_is_set_to(plugin, files, found, tmp_path):
    tree = merged(DEBIAN, {"etc/cni/net.d/10-x.conflist": conf(plugin)}, files)
    agent = live(node_tree.unpack(tree, tmp_path))
    assert (agent["backend"], agent["backend_source"]) == found


@pytest.mark.parametrize("settings, found", [
    ({"type": "calico", "nodename_file": "/run/calico/name"}, ("/run/calico/name", "present")),
    ({"type": "calico", "nodename_file_optional": True}, (None, None)),
    ({"type": "calico", "nodename_file_optional": False, "nodename_file": ""}, ("/var/lib/calico/nodename", "missing")),
    ({"type": "calico", "nodename_file": ["/run/calico/name"]}, ("/var/lib/calico/nodename", "missing")),
    ({"type": "flannel", "subnetFile": "/run/calico/name", "nodename_file_optional": True},
     ("/run/calico/name", "present")),
])
def test_the_file_that_the_plugin_is_configured_with(settings, found, tmp_path):
    agent = live(node_tree.unpack(merged(DEBIAN, {
        "etc/cni/net.d/10-x.conflist": json.dumps({"name": "x", "plugins": [settings]}), "run/calico/name": "n",
        "proc/31/comm": "calico-node\n", "proc/32/comm": "flanneld\n"}), tmp_path))
    assert (agent["contact"], agent["contact_state"]) == found
