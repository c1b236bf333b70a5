# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands for kube-proxy: by what runs it, and with names of a hostile node."""

import shlex

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.proxy_commands import fields_of

POD = {"pod": "kube-proxy-x7k2p", "namespace": "kube-system"}
DELETE = "kubectl -n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=w01"


@pytest.mark.parametrize("kube_proxy, restart", [
    ({"runs_in": "host"}, "on w01: systemctl restart kube-proxy"),
    ({"runs_in": "container", "pid": 7, "container": POD}, DELETE),
    ({"runs_in": "container", "pid": 7, "container": dict(POD, pod="kube-proxy-w01")}, "on w01: kill 7"),
    ({"runs_in": "container", "pid": 7}, "on w01: kill 7"),
    ({"runs_in": "embedded"}, "on w01: restart the agent that contains kube-proxy"),
    ({}, "on w01: restart kube-proxy by what starts it")])
def test_the_restart_is_that_of_what_runs_it(kube_proxy, restart):
    assert fields_of({"node_kube_proxy": kube_proxy}, "w01")["restart"]["there"] == restart


def test_the_agent_that_contains_it_is_restarted_by_its_unit():
    known = {"node_kube_proxy": {"runs_in": "embedded"},
             "node_kubelet": {"initialisation": {"families": [
                 {"restart": None}, {"restart": "systemctl restart k3s"}]}}}
    assert fields_of(known, "w01")["restart"]["here"] == "ansible w01 -b -m command -a 'systemctl restart k3s'"


def test_a_canary_is_deleted_rather_than_kube_proxy_restarted():
    delete = "iptables-nft -w 5 -t mangle -X KUBE-PROXY-CANARY"
    known = {"node_kube_proxy": {"runs_in": "host"},
             "node_iptables_chains": {"observations": [{"repair": None}, {"repair": delete}]}}
    assert fields_of(known, "w01")["rewrite"] == {
        "there": "on w01: " + delete, "here": "ansible w01 -b -m command -a '%s'" % delete}
    assert fields_of({}, "w01")["rewrite"] == fields_of({}, "w01")["restart"]


def test_names_of_a_hostile_node_are_words_of_a_command_of_the_controller():
    bad = "x'; touch /tmp/owned; '"
    known = {"node_kube_proxy": {"runs_in": "container", "container": {"pod": bad, "namespace": bad}},
             "node_iptables_chains": {"observations": [{"repair": bad + "CANARY"}]}}
    fields = fields_of(known, "w01")
    assert shlex.split(fields["log"]["here"]) == ["kubectl", "-n", bad, "logs", bad]
    assert shlex.split(fields["restart"]["here"])[:4] == ["kubectl", "-n", bad, "delete"]
    assert shlex.split(fields["rewrite"]["here"])[-1] == bad + "CANARY"
