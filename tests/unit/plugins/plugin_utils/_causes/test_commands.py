# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands for kube-proxy and for pods: by what runs kube-proxy, and with names of a hostile node."""

import shlex

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.commands import fields_of

POD = {"pod": "kube-proxy-x7k2p", "namespace": "kube-system"}
DELETE = "kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=w01"


def of_w01(known):
    return fields_of(known, "w01", "w01")


@pytest.mark.parametrize("kube_proxy, restart", [
    ({"runs_in": "host"}, "on w01: systemctl restart kube-proxy"),
    ({"runs_in": "container", "pid": 7, "container": POD}, DELETE),
    ({"runs_in": "container", "pid": 7, "container": dict(POD, pod="kube-proxy-w01")}, "on w01: kill 7"),
    ({"runs_in": "container", "pid": 7}, "on w01: kill 7"),
    ({"runs_in": "embedded"}, "on w01: restart the agent that contains kube-proxy"),
    ({}, "on w01: restart kube-proxy by what starts it")])
def test_the_restart_is_that_of_what_runs_it(kube_proxy, restart):
    assert of_w01({"node_kube_proxy": kube_proxy})["restart"]["there"] == restart


def test_the_agent_that_contains_it_is_restarted_by_its_unit():
    known = {"node_kube_proxy": {"runs_in": "embedded"},
             "node_kubelet": {"initialisation": {"families": [
                 {"restart": None}, {"restart": "systemctl restart k3s"}]}}}
    assert of_w01(known)["restart"]["here"] == "ansible w01 -b -m command -a 'systemctl restart k3s'"


@pytest.mark.parametrize("kube_proxy, log", [
    ({"runs_in": "container", "container": POD}, "for w01: kubectl -n kube-system logs kube-proxy-x7k2p"),
    ({"runs_in": "host"}, "on w01: journalctl -u kube-proxy"),
    ({"runs_in": "embedded"}, "on w01: journalctl -u k3s.service")])
def test_the_log_is_where_what_runs_it_writes(kube_proxy, log):
    known = {"node_kube_proxy": kube_proxy, "node_kubelet": {"unit": {"name": "k3s.service"}}}
    assert of_w01(known)["log"]["there"] == log


def test_a_canary_is_deleted_rather_than_kube_proxy_restarted():
    delete = "iptables-nft -w 5 -t mangle -X KUBE-PROXY-CANARY"
    known = {"node_kube_proxy": {"runs_in": "host"},
             "node_iptables_chains": {"observations": [{"repair": None}, {"repair": delete}]}}
    assert of_w01(known)["rewrite"] == {
        "there": "on w01: " + delete, "here": "ansible w01 -b -m command -a '%s'" % delete}
    assert of_w01({})["rewrite"] == of_w01({})["restart"]


def test_names_of_a_hostile_node_are_words_of_a_command_of_the_controller():
    bad = "x'; touch /tmp/owned; '"
    known = {"node_kube_proxy": {"runs_in": "container", "container": {"pod": bad, "namespace": bad}},
             "node_iptables_chains": {"observations": [{"repair": bad + "CANARY"}]}}
    fields = of_w01(known)
    assert shlex.split(fields["log"]["here"]) == ["kubectl", "-n", bad, "logs", bad]
    assert shlex.split(fields["restart"]["here"])[:4] == ["kubectl", "-n", bad, "delete"]
    assert shlex.split(fields["rewrite"]["here"])[-1] == bad + "CANARY"


def test_kubectl_takes_the_name_of_the_node_in_the_cluster():
    known = {"node_kube_proxy": {"runs_in": "container", "pid": 7, "container": POD}}
    fields = fields_of(known, "10.0.0.5", "w01.example.org")
    assert fields["restart"]["there"].endswith("spec.nodeName=w01.example.org")
    assert fields["recreate"]["here"].startswith("kubectl drain w01.example.org ")
    static = {"node_kube_proxy": dict(known["node_kube_proxy"], container=dict(POD, pod="kube-proxy-w01"))}
    assert fields_of(static, "10.0.0.5", "w01")["restart"]["there"] == "on 10.0.0.5: kill 7"


def daemonset_of(node="w01", version="1.33.2", **kube_proxy):
    known = {"node_kube_proxy": dict({"container": dict(POD, name="kube-proxy"), "collected": {"config": "ok"}},
                                     **kube_proxy), "node_kubelet": {"version": version}}
    return fields_of(known, "w01", node)["daemonset"]


def test_settings_are_those_of_the_daemonset_that_its_pod_is_of():
    of = "kubectl -n kube-system %s daemonset/kube-proxy"
    limits = of % "set resources" + " -c kube-proxy --limits="
    assert daemonset_of(resources={"memory_limit_bytes": 170 << 20, "cpu_quota_percent": 10.0}) == {
        "image": of % "set image" + " kube-proxy=registry.k8s.io/kube-proxy:v1.33.2",
        "memory": limits + "memory=340Mi", "cpu": limits + "cpu=200m",
        "config": "kubectl -n kube-system edit configmap kube-proxy && " + of % "rollout restart"}
    assert daemonset_of(version="1.34.0", outage={"container": POD}, container=None)["image"] == (
        of % "set image" + " '*'=registry.k8s.io/kube-proxy:v1.34.0")
    assert daemonset_of(resources={"memory_limit_bytes": None, "cpu_quota_percent": 1e308})["cpu"] is None
    assert daemonset_of(version="1.30.1+k3s1", collected={"config": "absent"}) == dict.fromkeys(
        ("image", "memory", "cpu", "config"))


@pytest.mark.parametrize("pod", [
    "kube-proxy-w01", "kube-proxy-w0rk3", "kube-proxy", "kube-proxy-gke-pool-1", "etcd-bcdfg", "x;y-bcdfg", None])
def test_a_pod_of_no_daemonset_has_no_settings(pod):
    """A static pod has the name of its node, which may look like what Kubernetes draws."""
    assert daemonset_of("bcdfg", container={"pod": pod, "namespace": "kube-system"}) == {}
    assert daemonset_of(container={"pod": POD["pod"], "namespace": "shop"}) == {}
    assert daemonset_of("bcdfg", container=dict(POD, pod="kube-proxy-bcdfg")) == {}


EMPTY = "kubectl drain w01 --ignore-daemonsets && kubectl uncordon w01"
ONE = "kubectl -n shop delete pod --field-selector spec.nodeName=w01,metadata.name="


@pytest.mark.parametrize("rows, there", [
    ([(2, ["shop/web-0", "shop/web-1"]), (1, ["shop/web-0"])], "%sweb-0 && %sweb-1" % (ONE, ONE)),
    ([(7, ["shop/web-0"])], EMPTY), ([(1, None)], EMPTY), ([(1, ["web-0"])], EMPTY),
    ([(1, ["shop/x,spec.nodeName!=w01"])], EMPTY), ([(1, ["shop/x; reboot"])], EMPTY)])
def test_pods_are_recreated_alone_where_the_look_names_all_of_them(rows, there):
    expected = [{"kind": "pod_masquerade", "missing": missing, "pods": pods} for missing, pods in rows]
    known = {"node_iptables_chains": {"expected": expected + [{"kind": "agent", "missing": 1, "pods": []}]}}
    assert of_w01(known)["recreate"]["there"] == there
