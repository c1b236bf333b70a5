# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables to group hosts by: scalars of the inventory, bounded, and one sentence for all others."""

import pytest
from ansible.errors import AnsibleError

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import grouping


class Broken(dict):
    """A host with a variable that cannot be templated."""

    def get(self, key, default=None):
        raise AnsibleError("'dc' is\x1b[2J undefined")


def values(hostvars, *names, hosts=None):
    hosts = sorted(hostvars) if hosts is None else hosts
    others = [host for host in sorted(hostvars) if host not in hosts]
    return grouping.values_of(grouping.checked_names(names), hosts, others, hostvars)


def test_scalars_are_texts_and_a_host_without_the_variable_is_in_no_group():
    known = {"a": {"rack": "r1", "row": 3}, "b": {"rack": True, "row": 1.5}, "c": {"rack": None}, "d": {"rack": ""}}
    assert values(known, "rack", "row", "rack") == {
        "a": {"rack": "r1", "row": "3"}, "b": {"rack": "true", "row": "1.5"}, "c": {}, "d": {}}


def test_what_hosts_are_always_grouped_by_is_no_variable():
    assert grouping.checked_names(["kernel", "os", "iptables", "kube_proxy", "groups", "rack"]) == ["rack"]
    assert values({"a": {}}) == {} and grouping.checked_names(None) == []


def test_a_variable_that_only_hosts_of_later_batches_have_is_taken():
    assert values({"a": {}, "b": {"rack": "r1"}}, "rack", hosts=["a"]) == {"a": {}}


@pytest.mark.parametrize("known, names, words", [
    ({"a": {"rack": ["r1"]}}, ["rack"], "group_by: rack of host a is a list, but must be a text, a number, or true or"),
    ({"a": {"rack": {"r": 1}}}, ["rack"], "group_by: rack of host a is a dictionary"),
    ({"a": {"rack": "r" * 101}}, ["rack"], "group_by: rack of host a has 101 characters, but at most 100 are taken"),
    ({"a": {"rack": "r1"}, "b": {}}, ["rakc"], "the variable rakc is set for no host of this play; did you mean rack?"),
    ({"a": {"rack": None}}, ["rack"], "group_by: the variable rack is set for no host of this play"),
    ({"a": Broken()}, ["rack"], r"rack of host a cannot be templated: 'dc' is\x1b[2J undefined"),
    ({}, ["rack[0]"], "group_by: 'rack[0]' is not the name of a variable"),
    ({}, ["v%d" % number for number in range(11)], "group_by names 11 variables, but at most 10 are taken")])
def test_one_sentence(known, names, words):
    with pytest.raises(BadInput) as caught:
        values(known, *names)
    assert words in str(caught.value) and "\x1b" not in str(caught.value)
