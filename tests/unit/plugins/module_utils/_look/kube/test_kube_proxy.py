# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy."""

import os
import socket
import subprocess
import sys

import pytest
import loopback
import node_tree
from fake_tools import LIVE, unpacked
from node_manifests import DEBIAN, merged, process, running
from node_processes import answer_of, needs_mounts, needs_root
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_found import own_ports
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.logs.lines import kube_proxy_ports

TOOLS = {"usr/sbin/iptables": node_tree.executable(), "usr/sbin/conntrack": node_tree.executable(),
         "usr/sbin/nft": "not executable"}
CONFIG = ("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: %s\nipvs:\n  scheduler: "
          "%s\n")


def look(manifest, tmp_path, place="live"):
    tree = node_tree.unpack(merged(DEBIAN, running("6.1.0"), TOOLS, manifest), tmp_path)
    return collect_sections(["kube_proxy"], tree, place)["node_kube_proxy"]


def proxy(*arguments, **fields):
    return process(500, "kube-proxy", ("/usr/bin/kube-proxy",) + arguments, **fields)


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
print(json.dumps(collect_sections(["kube_proxy"], "/", "live")["node_kube_proxy"]))
os.kill(child, 9)
"""


@needs_mounts
def test_a_real_container(tmp_path):
    root = node_tree.unpack({
        "etc/config": CONFIG % ("ipvs", "lc"), "usr/sbin/conntrack": node_tree.executable("#!/bin/sh\ntouch /ran\n"),
        "usr/sbin/iptables": node_tree.FIFO}, tmp_path)
    section = answer_of(["unshare", "-pfm", "--mount-proc"], SCRIPT, root, "--config=/etc/config")
    assert (section["runs_in"], section["mode"], section["ipvs_scheduler"]) == ("container", "ipvs", "lc")
    assert (section["tools"]["conntrack"], section["tools"]["iptables"],
            section["tools"]["nft"]) == ("present", "unknown", "absent")
    assert section["tools_root"].startswith("/proc/") and not os.path.exists(root + "/ran")


LISTEN = ("import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(1); "
          "print(s.getsockname()[1], flush=True); sys.stdin.read()")


@pytest.fixture
def port_of_kube_proxy(tmp_path):
    program = tmp_path / "kube-proxy"
    program.symlink_to(os.path.realpath(sys.executable))
    with subprocess.Popen([str(program), "-c", LISTEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()
        process.wait(30)


@needs_root
def test_a_port_is_of_kube_proxy_or_of_another_program(port_of_kube_proxy):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        foreign = other.getsockname()[1]
        assert own_ports(Host("/"), [port_of_kube_proxy, foreign, 1]) == [port_of_kube_proxy]
        lines = [("/x", "err=\"listen tcp :%d: bind: address already in use\"" % port)
                 for port in (foreign, port_of_kube_proxy, 99999)]
        assert kube_proxy_ports(Host("/"), lines) == [port_of_kube_proxy]
    assert kube_proxy_ports(Host("/"), [("/x", "bind: address already in use")]) == []


def test_without_root_nothing_is_claimed(monkeypatch):
    host = Host("/")
    monkeypatch.setattr(host, "is_root", lambda: False)
    assert own_ports(host, [1]) is None
