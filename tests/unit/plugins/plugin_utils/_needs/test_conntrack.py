# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy compared with the evidence of the conntrack table, and the size formula as a filter."""

import copy
import datetime
import json

import pytest
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.size import conntrack_size
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._needs import conntrack, node_needs
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

GB = 1 << 30
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
BRIDGE, BRIDGE_6 = "net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"
FORWARD, FORWARD_6 = "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"


def resolved(changes=None, earlier=None, **overrides):
    policy = policies.policy_of({"node_policy_" + name: value for name, value in overrides.items()})
    return node_needs.resolve(healthy(policy.module_names, None, changes), policy, earlier)["conntrack"]


def wanted(changes=None, **overrides):
    return [row["key"] for row in resolved(changes, **overrides)["settings"]]


@cases
def test_the_policy_decides_about_the_size(policy, size):
    found = resolved(**policy)["size"]
    assert {key: found[key] for key in size} == size


@cases
def test_losses_until_their_cause_is_gone(monkeypatch, looks):
    """The looks of one boot, each with the report of the one before; hours, limit and counts of a look, and whether the
    check fails."""
    state = None
    for hours, limit, evicted, full in looks:
        monkeypatch.setattr(conntrack._run, "STARTED", START + datetime.timedelta(hours=hours))
        found = resolved({"node_conntrack": {"max": limit, "lost": {"evicted": evicted}}}, {"losses": state})
        assert (hours, found["was_full"]) == (hours, full)
        state = json.loads(json.dumps(found["losses_state"]))


def test_a_limit_that_was_raised_by_hand_is_large_enough_the_next_time():
    first = resolved({"node_conntrack": {"max": 131072, "lost": {"evicted": 5}}})
    earlier = {"peak": first["size"]["peak"], "losses": first["losses_state"]}
    raised = resolved({"node_conntrack": {"max": first["size"]["max"], "lost": {"evicted": 9}}}, earlier)
    assert (first["size"]["max"], raised["was_full"], raised["size"]["enough"]) == (262144, True, True)


def test_losses_of_another_boot_and_of_a_node_without_one():
    lost = {"node_conntrack": {"lost": {"evicted": 5}}}
    state = dict(resolved(lost)["losses_state"], limit=1)
    assert resolved(lost, {"losses": state})["was_full"] is False
    assert resolved(lost, {"losses": dict(state, boot_id="other")})["was_full"] is True
    assert resolved(dict(lost, node_host={"=boot_id": None}), {"losses": state})["losses_state"] is None
    for wrong in ({}, [], 7, dict(state, counted={}), dict(state, changed_at="x"), dict(state, limit="1")):
        assert resolved(lost, {"losses": wrong})["was_full"] is True


@pytest.mark.parametrize("used, fill", [(None, None), (0.0, "room"), (80.0, "room"), (80.1, "filling"),
                                        (90.0, "filling"), (90.1, "full"), (130.0, "full")])
def test_how_full_it_is(used, fill):
    assert resolved({"node_conntrack": {"=used_percent": used}})["fill"] == fill


@cases
def test_settings_by_network_plugin_and_families(changes, policy, keys):
    assert wanted(changes, **policy) == keys


def test_the_reason_to_forward_does_not_contradict_a_node_that_does_not():
    found = resolved(ip_families=["ipv4", "ipv6"])["settings"]
    assert {row["key"]: row["because"] for row in found if row["key"] in (FORWARD, FORWARD_6)} == dict.fromkeys(
        (FORWARD, FORWARD_6), "pods on this node need it to reach other nodes")


@cases
def test_a_policy_that_means_nothing_is_refused_before_anything_connects(name, value, words):
    with pytest.raises(BadInput, match="node_policy_%s.*%s" % (name, words)):
        policies.policy_of({"node_policy_" + name: value})


def size(memory=8 * GB, cpus=4, **options):
    answer = conntrack.size_of(memory, cpus, options)
    return answer["max"], answer["limited_by"], answer["advice"]


@cases
def test_the_filter(options, answer):
    assert size(**options) == answer


def test_the_filter_says_what_kube_proxy_must_be_given():
    limit, _bound, advice = size(peak=200000, kubernetes_version="1.30")
    assert limit == 524288 and "conntrack.min to 524288" in advice
    assert size(min=1000000)[0] == 1000000
    # The bound of kube-proxy is not known without its version.
    many = [size(cpus=64, memory=64 * GB, **version)[0] for version in (
        {"kubernetes_version": "1.35"}, {"kubernetes_version": "1.36"}, {})]
    assert many == [2097152, 1048576, 1048576]


def test_one_processor_is_one():
    assert ("on 1 processor;" in conntrack_size(8 * GB, 1)["because"]
            and "on 2 processors;" in conntrack_size(8 * GB, 2)["because"])


@cases
def test_the_filter_refuses_what_means_nothing(arguments, words):
    with pytest.raises(BadInput, match=words):
        conntrack.size_of(*arguments)


def test_evidence_stays_as_it_was():
    evidence = healthy(policies.default_policy().module_names)
    before = copy.deepcopy(evidence)
    node_needs.resolve(evidence, policies.default_policy())
    assert evidence == before
