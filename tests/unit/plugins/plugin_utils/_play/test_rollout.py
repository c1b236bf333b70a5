# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches equal the batches of Ansible, and wrong settings of a rollout are refused."""

import functools
from unittest import mock

import pytest
from ansible.executor.playbook_executor import PlaybookExecutor
from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play import play, rollout

SIZES = st.lists(st.one_of(st.integers(1, 12), st.integers(1, 100).map("{}%".format)), min_size=1, max_size=4)


@given(SIZES, st.integers(1, 40))
def test_batches_are_those_of_ansible(serial, count):
    names = ["n%d" % number for number in range(count)]
    executor = mock.Mock(_inventory=mock.Mock(get_hosts=lambda *_args, **_options: list(names)))
    sizes = rollout.checked_serial(serial, "serial")
    batches = PlaybookExecutor._get_serialized_batches(executor, mock.Mock(serial=sizes))
    for number, batch in enumerate(batches):
        later = [name for others in batches[number + 1:] for name in others]
        assert [rollout.batch_of(names, serial, name) for name in batch] == [(batch, later)] * len(batch)


def test_no_serial_is_one_batch():
    assert rollout.batch_of(["a", "b"], [], "b") == (["a", "b"], [])


@pytest.mark.parametrize("lost, size, percentage, ends",
                         [(0, 3, 0, False), (1, 100, 0, True), (1, 4, 25, False), (2, 4, 25, True), (4, 4, 100, False)])
def test_when_a_rollout_ends(lost, size, percentage, ends):
    assert rollout.ends(["x"] * lost, ["x"] * size, percentage) is ends


@pytest.mark.parametrize("checked, values, sentence", [
    (functools.partial(rollout.checked_serial, name="preflight_serial"),
     ["banana", 0, -1, "0%", "150%", [], [1, None], True, 1.5, "", "10 %%"],
     "preflight_serial"),
    (functools.partial(rollout.checked_percentage, name="preflight_max_fail_percentage"),
     [-1, 101, "half", None, True],
     "preflight_max_fail_percentage is .*whole number from 0 to 100"),
    (functools.partial(rollout.checked_limit, "node_gate_max_hosts"), [-1, "101%", "half", True, False, 1.5, [3], " "],
     "node_gate_max_hosts is .*whole number of hosts from 0 on, or a percentage")])
def test_a_wrong_value_is_refused(checked, values, sentence):
    for value in values:
        with pytest.raises(BadInput, match="^" + sentence):
            checked(value)
    assert rollout.checked_percentage("30%", "x") == rollout.checked_percentage(30, "x") == 30


@cases
def test_when_too_many_hosts_of_a_play_are_lost(value, lost, hosts, exceeds):
    limit = rollout.checked_limit("node_gate_max_hosts", value)
    assert rollout.exceeds(["x"] * lost, ["x"] * hosts, limit) is exceeds


@cases
def test_a_pattern_without_hosts_is_refused(pattern, limit, words):
    groups = {"all": ["w1", "w2", "m1"], "ungrouped": [], "workers": ["w1", "w2"], "masters": ["m1"], "spare": []}
    assert play.matches("w1,masters", groups) and play.matches(["workers"], groups, "w*")
    with pytest.raises(BadInput) as caught:
        rollout.check_hosts("preflight_hosts", pattern, play.matches(pattern, groups, limit), groups, limit)
    assert str(caught.value) == words


def test_tags_of_other_plays_are_let_through():
    rollout.check_tags(["all", "web", "fix"], ["fix", "report"])
    with pytest.raises(BadInput, match="the tag reprot is not known; did you mean report"):
        rollout.check_tags(["reprot"], ["fix", "report"])


@pytest.mark.parametrize("callback, people", [("default", True), ("ansible.builtin.minimal", True), ("oneline", True),
                                              ("tree", False), ("gone.x.y", False)])
def test_whom_stdout_is_for(callback, people):
    assert play.is_for_people(callback) is people
