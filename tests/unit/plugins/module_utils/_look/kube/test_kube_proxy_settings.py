# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""conntrack settings of kube-proxy: in its flags, in its configuration, and inside other programs."""

import pytest

from conntrack_node import configured, kube_proxy, tracking
from fake_tools import LIVE, unpacked
from node_manifests import process
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy import collect_kube_proxy


def told(tmp_path, *manifests):
    section = collect_kube_proxy(unpacked(tmp_path, tracking(*manifests)), LIVE)
    return section["conntrack"], section["conntrack_by"]


@pytest.mark.parametrize("arguments, conntrack",
                         [
                             ((), {}), (("--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established", "2h"),
                                        {"maxPerCore": 0, "tcpEstablishedTimeout": 7200}),
                             (("--conntrack-tcp-be-liberal", "--conntrack-min=1"), {"tcpBeLiberal": 1, "min": 1}),
                             (("--conntrack-tcp-be-liberal=false",), {"tcpBeLiberal": 0}),
                             (("--conntrack-udp-timeout=30s", "--conntrack-udp-timeout-stream=3m"),
                              {"udpTimeout": 30, "udpStreamTimeout": 180}),
                             (("--conntrack-min=1", "--conntrack-min=2"), {"min": 2}), (("--conntrack-min=x",), None)])
def test_by_flags(arguments, conntrack, tmp_path):
    assert told(tmp_path, kube_proxy(*arguments)) == (conntrack, "kube-proxy")


@pytest.mark.parametrize("text, conntrack",
                         [
                             ("  maxPerCore: null\n  min: 262144\n  tcpCloseWaitTimeout: 1h0m0s\n",
                              {"min": 262144, "tcpCloseWaitTimeout": 3600}), ("", {}), ("  min: [1]\n", None)])
def test_by_its_configuration_flags_do_not_count(text, conntrack, tmp_path):
    manifest = configured(text)
    manifest["proc/500/cmdline"] = "kube-proxy\0--config=/var/lib/kube-proxy/config.conf\0--conntrack-min=7\0"
    assert told(tmp_path, manifest) == (conntrack, "kube-proxy")


def test_a_configuration_that_cannot_be_read(tmp_path):
    assert told(tmp_path / "a", kube_proxy("--config=/none")) == (None, None)
    assert told(tmp_path / "b") == (None, None)


@pytest.mark.parametrize(
    "comm, more, conntrack, by", [
        ("k3s-server", {}, {}, "k3s"),
        ("kubelite", {"var/snap/microk8s/current/args/kube-proxy": "--proxy-mode=iptables\n--conntrack-min=5\n"},
         {"min": 5}, "kube-proxy"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": 'token: x\n#  - "conntrack-min=9"\nkube-proxy-arg: '
                                                      '["conntrack-min=5", conntrack-max-per-core=0]\n'},
         {"min": 5, "maxPerCore": 0}, "k3s"),
        # Arguments of other components have no effect on kube-proxy.
        ("k3s-agent",
         {"etc/rancher/k3s/config.yaml": "kubelet-arg: conntrack-min=9\n'kube-proxy-arg': [conntrack-min=5]\n",
          "etc/rancher/k3s/config.yaml.d/a.yaml": "kube-proxy-arg+: [conntrack-tcp-be-liberal]\n"},
         {"min": 5, "tcpBeLiberal": 1}, "k3s"),
        ("k3s-agent", {"etc/rancher/k3s/config.yaml": "kube-proxy-arg: [conntrack-min=5]\n<<: 1\n"}, None, None)])
def test_inside_another_program(comm, more, conntrack, by, tmp_path):
    assert told(tmp_path, process(500, comm, [comm]), more) == (conntrack, by)
