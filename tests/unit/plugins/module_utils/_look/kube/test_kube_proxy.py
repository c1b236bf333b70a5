# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy."""

import json
import os
import subprocess
import sys

import pytest

import loopback
import node_tree
from fake_tools import LIVE, unpacked
from node_manifests import DEBIAN, merged, process, running
from node_processes import needs_mounts, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from node_sections import collect_sections

TOOLS = {"usr/sbin/iptables": node_tree.executable(), "usr/sbin/conntrack": node_tree.executable(),
         "usr/sbin/nft": "not executable"}
CONFIG = ("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: %s\nipvs:\n  scheduler: "
          "%s\n")


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), TOOLS, manifest), tmp_path)
    return collect_sections(["kube_proxy"], tree, place)["node_kube_proxy"]


def proxy(*arguments, **fields):
    return process(500, "kube-proxy", ("/usr/bin/kube-proxy",) + arguments, **fields)


@pytest.mark.parametrize(
    "arguments, mode, source, scheduler", [
        ((), "iptables", "the default: no other value is configured", None),
        (("--proxy-mode=nftables",), "nftables", "--proxy-mode", None),
        (("--proxy-mode", "ipvs"), "ipvs", "--proxy-mode", "rr"),
        (("--proxy-mode=ipvs", "--ipvs-scheduler=sh"), "ipvs", "--proxy-mode", "sh"),
        (("--proxy-mode=userspace",), None, None, None),
        (("--proxy-mode=\x1b[31m",), None, None, None),
        (("--config=/var/lib/kube-proxy/config.conf",), "ipvs", "mode in /var/lib/kube-proxy/config.conf", "wrr"),
        (("--config=/var/lib/kube-proxy/config.conf", "--proxy-mode=nftables"), "ipvs",
         "mode in /var/lib/kube-proxy/config.conf", "wrr"),
        (("--config=/none",), None, None, None),
    ])
def test_a_process_of_the_node(arguments, mode, source, scheduler, tmp_path):
    section = look(merged(proxy(*arguments), {"var/lib/kube-proxy/config.conf": CONFIG % ("ipvs", "wrr")}), tmp_path)
    assert (section["mode"], section["mode_source"], section["ipvs_scheduler"]) == (mode, source, scheduler)
    assert (section["running"], section["runs_in"], section["tools_root"]) == (True, "host", "/")
    assert (section["tools"]["iptables"], section["tools"]["conntrack"],
            section["tools"]["nft"]) == ("present", "present", "absent")


LOCAL = ("kind: KubeProxyConfiguration\nclusterCIDR: 10.1.0.0/16,fd00:1::/56\ndetectLocalMode: %s\nmode: %s\n%s:\n  "
         "masqueradeAll: true\n")


@pytest.mark.parametrize(
    "arguments, content, cidr, local, everything", [
        ((), None, [], None, False),
        (("--cluster-cidr=10.244.0.0/16", "--detect-local-mode=NodeCIDR", "--masquerade-all"), None, ["10.244.0.0/16"],
         "NodeCIDR", True),
        (("--masquerade-all=1",), None, [], None, True), (("--masquerade-all=yes",), None, [], None, None),
        (("--masquerade-all", "--cluster-cidr=10.244.0.0/16", "--masquerade-all=false"), None, ["10.244.0.0/16"], None,
         False),
        (("--config=/c", "--cluster-cidr=10.244.0.0/16"), LOCAL % ("ClusterCIDR", "iptables", "iptables"),
         ["10.1.0.0/16", "fd00:1::/56"], "ClusterCIDR", True),
        (("--config=/c",), LOCAL % ("''", "ipvs", "iptables"), ["10.1.0.0/16", "fd00:1::/56"], None, True),
        (("--config=/c",), LOCAL % ("''", "nftables", "nftables"), ["10.1.0.0/16", "fd00:1::/56"], None, True),
        (("--config=/c", "--masquerade-all"), LOCAL % ("''", "nftables", "iptables"), ["10.1.0.0/16", "fd00:1::/56"],
         None, False),
        (("--config=/c", "--masquerade-all"), "junk", None, None, None),
    ])
def test_whom_it_takes_for_a_pod_and_what_it_masquerades(arguments, content, cidr, local, everything, tmp_path):
    section = look(merged(proxy(*arguments), {"c": content}), tmp_path)
    assert (section["cluster_cidr"], section["detect_local_mode"],
            section["masquerade_all"]) == (cidr, local, everything)


@pytest.mark.parametrize("content, status", [("no configuration", "unparsed"), (node_tree.FIFO, "unparsed"),
                                             (None, "unparsed"), (b"\xff\x00", "unparsed")])
def test_a_configuration_that_cannot_be_read(content, status, tmp_path):
    section = look(merged(proxy("--config=/c"), {"c": content}), tmp_path)
    assert (section["mode"], section["collected"]["config"]) == (None, status)


@pytest.mark.parametrize(
    "content, mode, conntrack, status", [
        ("{kind: KubeProxyConfiguration, mode: ipvs, conntrack: {min: 7}}\n", "ipvs", {"min": 7}, "ok"),
        ("kind: KubeProxyConfiguration\n'mode': \"nftables\"\nconntrack: {'maxPerCore': 0}\n", "nftables",
         {"maxPerCore": 0}, "ok"),
        ("a: &mode ipvs\nkind: KubeProxyConfiguration\nmode: *mode\n", "ipvs", {}, "ok"),
        ("a: &all\n  mode: ipvs\nkind: KubeProxyConfiguration\n<<: *all\n", "ipvs", {}, "ok"),
        ("a: &all\n  mode: ipvs\nmode: ''\nkind: KubeProxyConfiguration\n<<: *all\n", None, None, "unparsed"),
        ("kind: KubeProxyConfiguration\nconntrack: {min: '7'}\n", "iptables", None, "ok"),
    ])
def test_a_configuration_in_other_styles(content, mode, conntrack, status, tmp_path):
    section = look(merged(proxy("--config=/c"), {"c": content}), tmp_path)
    assert (section["mode"], section["conntrack"], section["collected"]["config"]) == (mode, conntrack, status)


def test_a_root_that_cannot_be_compared(tmp_path):
    section = look(proxy("--proxy-mode=ipvs", root=None), tmp_path)
    assert (section["running"], section["runs_in"], section["mode"]) == (True, None, "ipvs")
    assert set(section["tools"].values()) == {"unknown"}


def test_a_container_of_a_tree_is_not_entered(tmp_path):
    section = look(merged(proxy("--config=/c", root="/var/c"), {"var/c/c": CONFIG % ("ipvs", "")}), tmp_path)
    assert (section["mode"], set(section["tools"].values())) == (None, {"unknown"})


@pytest.mark.parametrize(
    "comm, extra, mode", [
        ("k3s-server", {}, "iptables"),
        ("k3s-server", {"etc/rancher/k3s/config.yaml": 'kube-proxy-arg:\n  - "proxy-mode=ipvs"\n'}, "ipvs"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": b"\xff\x00"}, None),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": "token: proxy-mode=ipvs\nkube-controller-manager-arg: "
                                                      "[proxy-mode=nftables]\n"}, "iptables"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": '"kube-proxy-arg": {proxy-mode: ipvs}\n'}, None),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": "'kube-proxy-arg': &x [\n proxy-mode=ipvs ]\n"}, "ipvs"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml.d/9.yaml": "kube-proxy-arg: proxy-mode=nftables\n",
                       "etc/rancher/k3s/config.yaml": "kube-proxy-arg: [proxy-mode=ipvs]\n"}, "nftables"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml.d/9.yml": "kube-proxy-arg: !x proxy-mode=nftables\n",
                       "etc/rancher/k3s/config.yaml": "kube-proxy-arg: [proxy-mode=ipvs]\n"}, None),
        ("kubelite", {"var/snap/microk8s/current/args/kube-proxy": "--proxy-mode=nftables\n"}, "nftables"),
    ])
def test_inside_another_program(comm, extra, mode, tmp_path):
    section = look(merged(process(500, comm, [comm]), extra), tmp_path)
    assert (section["running"], section["runs_in"], section["mode"]) == (True, "embedded", mode)
    assert (section["collected"]["config"] == "unparsed", section["conntrack"] is None) == (mode is None, mode is None)


def test_none_runs(tmp_path):
    section = look({}, tmp_path)
    assert (section["running"], section["mode"], section["runs_in"]) == (False, None, None)
    assert look(proxy(), tmp_path / "image", "image")["running"] is False


def test_a_zombie_is_not_running(tmp_path):
    assert look(proxy(state="Z"), tmp_path)["running"] is False


def version(tmp_path, *arguments, **files):
    """(version, its status) of a kube-proxy with these arguments; `config` is its KubeProxyConfiguration."""
    section = collect_kube_proxy(unpacked(tmp_path, DEBIAN, proxy(*arguments), {"c": files.get("config")}), LIVE)
    return section["version"], section["collected"]["version"]


@pytest.mark.parametrize("bound", ["127.0.0.1:%d", "0.0.0.0:%d", ":%d", "[::]:%d"])
def test_its_metrics_tell_its_version(bound, tmp_path):
    with loopback.serving(loopback.metrics("1.31.2-eks-1a2b3c")) as server:
        bound = bound % server.port
        assert version(tmp_path / "flag", "--metrics-bind-address=" + bound) == ("1.31.2", "ok")
        config = CONFIG % ("iptables", "") + 'metricsBindAddress: "%s"\n' % bound
        assert version(tmp_path / "config", "--config=/c", "--metrics-bind-address=127.0.0.1:1",
                       config=config) == ("1.31.2", "ok")


def test_nobody_tells_its_version(tmp_path):
    port = loopback.free_port()
    assert version(tmp_path / "a", "--metrics-bind-address=127.0.0.1:%d" % port) == (None, "absent")
    # Only the loopback interface is asked.
    assert version(tmp_path / "b", "--metrics-bind-address=192.0.2.1:%d" % port) == (None, "denied")
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n", "# nothing\n") as server:
        assert version(tmp_path / "c", "--metrics-bind-address=127.0.0.1:%d" % server.port) == (None, "unparsed")


def test_a_tree_is_not_asked(tmp_path):
    with loopback.serving(loopback.metrics("1.31.2")) as server:
        section = look(proxy("--metrics-bind-address=127.0.0.1:%d" % server.port), tmp_path)
        assert (section["version"], section["collected"]["version"], server.asked) == (None, "absent", [])


# It runs in a pid namespace of its own, where it sees no other kube-proxy.
SCRIPT = """\
import json, os, sys, time
from node_sections import collect_sections
root, arguments = sys.argv[1], sys.argv[2:]
receiver, sender = os.pipe()
child = os.fork()
if child == 0:
    program = ("import os, time; open('/proc/self/comm', 'w').write('kube-proxy'); os.chroot(%r); os.chdir('/');"
               "os.write(%d, b'x'); time.sleep(60)" % (root, sender))
    os.set_inheritable(sender, True)
    os.execv(sys.executable, [sys.executable, "-c", program] + arguments)
os.read(receiver, 1)
json.dump(collect_sections(["kube_proxy"], "/", "live")["node_kube_proxy"], sys.stdout)
os.kill(child, 9)
"""


@needs_mounts
def test_a_real_container(tmp_path):
    root = node_tree.unpack({
        "etc/config": CONFIG % ("ipvs", "lc"), "usr/sbin/conntrack": node_tree.executable("#!/bin/sh\ntouch /ran\n"),
        "usr/sbin/iptables": node_tree.FIFO}, tmp_path)
    tool = subprocess.Popen(["unshare", "-pfm", "--mount-proc", sys.executable, "-c", SCRIPT, root,
                             "--config=/etc/config"], stdout=subprocess.PIPE,
                            env=dict(os.environ, PYTHONPATH=python_path()))
    section = json.loads(tool.communicate()[0].decode("utf-8"))
    assert (section["runs_in"], section["mode"], section["ipvs_scheduler"]) == ("container", "ipvs", "lc")
    assert (section["tools"]["conntrack"], section["tools"]["iptables"],
            section["tools"]["nft"]) == ("present", "unknown", "absent")
    assert section["tools_root"].startswith("/proc/") and not os.path.exists(root + "/ran")


@pytest.mark.parametrize("arguments, off", [
    ((), []), (("--metrics-bind-address=", "--healthz-bind-address="), ["metrics", "healthz"]),
    (("--metrics-bind-address", "--healthz-bind-address=[::1]:1"), ["metrics"]),
    (("--metrics-bind-address=0.0.0.0", "--healthz-port=0"), ["healthz"]),
    # With a configuration flags do not count, and an empty address is the default.
    (("--config=/var/lib/kube-proxy/config.conf", "--metrics-bind-address="), [])])
def test_ports_that_its_flags_switch_off(arguments, off, tmp_path):
    config = {"var/lib/kube-proxy/config.conf": "kind: KubeProxyConfiguration\nmetricsBindAddress: ''\n"}
    assert look(merged(proxy(*arguments), config), tmp_path)["ports_off"] == off


@pytest.mark.parametrize("comm, arguments, config, runs", [
    ("k3s-server", (), "disable-kube-proxy: true\n", False), ("k3s-server", ("--disable-kube-proxy",), "", False),
    ("k3s-server", ("--disable-kube-proxy=false",), "disable-kube-proxy: true\n", True),
    ("k3s-server", (), "disable-kube-proxy: false\n", True),
    ("k3s-server", (), "disable-kube-proxy: yes\n", False), ("k3s-server", (), "disable-kube-proxy: 1\n", False),
    ("k3s-server", (), "disable-kube-proxy: off\n", True), ("k3s-server", (), "disable-kube-proxy: 't'\n", False),
    ("k3s-server", (), "disable-kube-proxy: [true, false]\n", True),
    ("k3s-server", ("--disable-kube-proxy=T",), "", False),
    # k3s does not start with this file: it was changed after the start, and its content at the start is not known.
    ("k3s-server", (), "disable-kube-proxy: 'yes'\n", None), ("k3s-server", (), "disable-kube-proxy: [\n", None),
    ("k3s-server", (), "disable-kube-proxy: true\nx: !y 1\n", None),
    ("k3s-server", ("--disable-kube-proxy",), "x: !y 1\n", False),
    # The server decides for an agent; the agent's own file does not count.
    ("k3s-agent", (), "disable-kube-proxy: true\n", True)])
def test_a_server_of_k3s_without_kube_proxy(comm, arguments, config, runs, tmp_path):
    section = look(merged(process(500, comm, (comm,) + arguments), {"etc/rancher/k3s/config.yaml": config}), tmp_path)
    assert (section["running"], section["pid"]) == (runs, 500 if runs else None)
    if runs is None:
        assert (section["collected"]["config"], section["mode"]) == ("unparsed", None)


@pytest.mark.parametrize("config, mode, status", [
    (CONFIG % ("ipvs", "wrr"), "ipvs", "ok"), ("mode: [\n", None, "unparsed"), (None, None, "unparsed")])
def test_k3s_passes_on_a_configuration_and_then_no_flag_counts(config, mode, status, tmp_path):
    files = {"etc/rancher/k3s/config.yaml": "kube-proxy-arg: [config=/etc/proxy.yaml, proxy-mode=nftables]\n"}
    if config:
        files["etc/proxy.yaml"] = config
    section = look(merged(process(500, "k3s-agent", ("k3s-agent",)), files), tmp_path)
    assert (section["mode"], section["collected"]["config"], section["runs_in"]) == (mode, status, "embedded")
