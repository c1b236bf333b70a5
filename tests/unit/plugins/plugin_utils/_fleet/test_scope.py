# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scope of a failure: one node, a group or everywhere, reported only if exactly one fits the judged nodes; and
the variables of the inventory that hosts are grouped by."""

import random

import pytest
from ansible.errors import AnsibleError
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import scope


def report(host, *statuses, kernel="6.1", os="Debian 12", groups=(), reached=True):
    return {"host": host, "groups": list(groups), "findings": [{"check": "X1", "status": word} for word in statuses],
            "summary": {"reached": reached, "kernel": kernel and "kernel " + kernel, "os": os}}


def scope_of(*reports):
    return scope.scopes(reports)["X1"]


def test_one_of_several_nodes():
    known = scope_of(report("a", "pass", "fail"), report("b", "pass"), report("c", "pass"))
    assert known == {"kind": "node", "by": None, "value": None, "failing": 1, "judged": 3, "unclear": 0}
    assert scope.scope_text(known, ["a"]) == "only on a (3 nodes judged)"


def test_everywhere_is_what_was_judged_and_tells_what_was_not():
    known = scope_of(report("a", "fail"), report("b", "fail"), report("c", "unknown"), report("d", "waived", "pass"),
                     report("e", "skip"), report("f", "pass", reached=False))
    assert scope.scope_text(known, []) == "on all 2 nodes judged, unknown or waived on 2"


@cases
def test_the_group_that_explains_it(trait, by, words):
    known = scope_of(report("a", "fail", **trait), report("b", "fail", **trait), report("c", "pass"),
                     report("d", "pass"))
    assert (known["kind"], known["by"], scope.scope_text(known, [])) == ("group", by, words)


@cases
def test_nothing_is_claimed_where(reports):
    assert scope_of(*(report(host, status, **traits) for host, status, traits in reports)) is None


def test_a_check_that_fails_nowhere_has_no_scope():
    assert scope.scopes([report("a", "unknown"), report("b", "pass"), report("c", "waived")]) == {}


def has(known, by, value):
    values = {"kernel": [known["summary"]["kernel"]], "OS image": [known["summary"]["os"]],
              "inventory group": known["groups"]}[by]
    return ("kernel " + value if by == "kernel" else value) in values


def test_a_claim_holds_for_each_node_judged():
    seed = random.randrange(2 ** 32)
    print("seed", seed)
    pick = random.Random(seed)
    for _round in range(500):
        reports = [report(str(host), pick.choice(("pass", "fail", "unknown")), kernel=pick.choice(("5", "6", None)),
                          os=pick.choice("UD"), groups=pick.sample(("g", "h"), pick.randrange(3)))
                   for host in range(pick.randrange(1, 6))]
        known = scope.scopes(reports).get("X1")
        if known and known["kind"] == "group":
            assert all((each["findings"][0]["status"] == "fail") == has(each, known["by"], known["value"])
                       for each in reports if each["findings"][0]["status"] != "unknown")


def in_rack(value, known):
    return dict(known, group_by={"rack": value} if value else {})


def test_a_variable_that_the_user_names_comes_before_other_groups_that_fit_alike():
    fleet = [in_rack("r1", report("a", "fail", kernel="5", groups=["edge"])),
             in_rack("r1", report("b", "fail", kernel="5", groups=["edge"])), in_rack("r2", report("c", "pass"))]
    known = scope_of(*fleet)
    assert (known["by"], known["value"]) == ("rack", "r1")
    assert scope.scope_text(known, []) == "on all nodes with rack r1 and no other (2 of 3 judged)"
    assert scope_of(*[dict(each, group_by={}) for each in fleet]) is None, "kernel and inventory group fit alike"


@pytest.mark.parametrize("racks", [("r1", "r2", "r2"), ("r1", None, "r2"), ("r1", "r1", "r1"), ("r1", "r1", None)])
def test_a_variable_that_does_not_explain_it_leaves_it_to_the_other_groups(racks):
    fleet = [in_rack(rack, report(host, word, kernel=kernel)) for rack, host, word, kernel in
             zip(racks, "abc", ("fail", "fail", "pass"), "556")]
    assert scope_of(*fleet)["by"] == "kernel"
    assert scope_of(*[dict(each, summary=dict(each["summary"], kernel="kernel 6")) for each in fleet]) is None


class Broken(dict):
    """A host with a variable that cannot be templated."""

    def get(self, key, default=None):
        raise AnsibleError("'dc' is\x1b[2J undefined")


def values(hostvars, *names, hosts=None):
    hosts = sorted(hostvars) if hosts is None else hosts
    others = [host for host in sorted(hostvars) if host not in hosts]
    return scope.values_of(scope.checked_names(names), hosts, others, hostvars)


def test_scalars_are_texts_and_a_host_without_the_variable_is_in_no_group():
    known = {"a": {"rack": "r1", "row": 3}, "b": {"rack": True, "row": 1.5}, "c": {"rack": None}, "d": {"rack": ""}}
    assert values(known, "rack", "row", "rack") == {
        "a": {"rack": "r1", "row": "3"}, "b": {"rack": "true", "row": "1.5"}, "c": {}, "d": {}}


def test_what_hosts_are_always_grouped_by_is_no_variable():
    assert scope.checked_names(["kernel", "os", "iptables", "kube_proxy", "groups", "rack"]) == ["rack"]
    assert values({"a": {}}) == {} and scope.checked_names(None) == []


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
