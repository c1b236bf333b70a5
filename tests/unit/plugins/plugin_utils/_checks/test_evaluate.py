# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging: a status that cannot be determined is unknown, never a pass; subjects are counted and texts are filled."""

import shlex

import pytest
from case_rows import cases
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, evaluate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

BASE = {"id": "KMOD999", "title": "t", "severity": "low", "kind": "none_of", "select": "node_x.rows",
        "needs": ["node_x"], "why": "w", "fix": {"role": None, "class": None, "manual": "do {subject}", "safety": "s"},
        "sources": ["x"], "subject": "{name}"}


OTHER_KINDS = {"subject": "it", "fix": dict(BASE["fix"], manual="do it")}
COLLECTED = validate.Shape("dict", True, None, None, False, ("file", "other"))
SECTION = validate.Shape("dict", True, {"collected": COLLECTED}, None, False)


@pytest.fixture(autouse=True, scope="module")
def documented():
    """A section for these tests; only its sources are documented."""
    known = dict(validate.documented_sections(), node_x=SECTION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "documented_sections", lambda: known)
        yield


def judge(evidence, **change):
    # Only none_of takes a row of the select for the offender: other kinds have no {name} and no {subject}.
    check = catalogue.checks_of([("test",
                                  dict(BASE, **(OTHER_KINDS if "kind" in change else {}), **change))])["KMOD999"]
    return evaluate.evaluate([check], evidence, policies.default_policy())


def section(**keys):
    return {"node_x": dict({"schema": 1, "collected": {"file": "ok"}}, **keys)}


@cases
def test_status(evidence, change, status):
    found = judge(evidence, **change)
    if status == "fail-or-unknown":
        assert found[0]["status"] in ("fail", "unknown")
    else:
        assert [row["status"] for row in found] == [status]
    assert all(list(row) == list(_finding.KEYS) for row in found)


def test_a_problem_is_filled_bounded_and_written_out_like_what_was_found():
    limit = policies.default_policy().values["max_offenders"]
    rows = [{"name": "a\x1b[2J\nb", "value": "x" * 9000}] + [{"name": "n%d" % index, "value": 1}
                                                             for index in range(limit)]
    found = judge(section(rows=rows), problem="{name} is {value}")
    assert found[0]["problem"].startswith("a\\x1b[2J b is xxx") and len(found[0]["problem"]) == 2000
    assert (found[1]["problem"] == "n0 is 1" and found[-1]["problem"] == "... and 1 more (%d in all)" % len(rows))
    assert {row["problem"] for row in judge(section(rows=rows))} == {None}, "without a problem the title is printed"


@cases
def test_findings(keys, change, found):
    rows = judge(section(**keys), **change)
    assert [{key: row[key] for key in wanted} for row, wanted in zip(rows, found)] == found and len(rows) == len(found)


def test_a_name_of_a_node_is_one_word_of_a_command():
    def printed(name):
        fix = dict(BASE["fix"], manual="mv /etc/{name!q} /root/: {name} is off")
        return judge(section(rows=[{"name": name}]), fix=fix)[0]["remediation"]

    assert printed("10-cni.conf") == "mv /etc/10-cni.conf /root/: 10-cni.conf is off"
    assert printed("x;reboot").startswith("mv /etc/'x;reboot' /root/")
    command = printed("a'$(id)\n`id`").partition(":")[0]
    assert shlex.split(command) == ["mv", "/etc/a'$(id) `id`", "/root/"]


def test_what_needs_no_fix_is_noted_with_the_pass():
    limit, note = policies.default_policy().values["max_offenders"], {"severity": "info", "note": "{name} is idle"}
    found = judge(section(rows=[{"name": "a\x1b"}, {"name": "b"}, {"name": "b"}]), **note)
    assert [(row["status"], row["observed"]) for row in found] == [("pass", "a\\x1b is idle; b is idle")]
    assert [row["observed"] for row in judge(section(rows=[]), **note)] == [""]
    found = judge(section(rows=[{"name": str(number)} for number in range(limit + 3)]), **note)
    assert found[0]["observed"].endswith("; and 3 more")
    assert judge(section(rows=[{"name": "a"}], collected={"file": "denied"}), **note)[0]["status"] == "unknown"
    assert judge(section(rows=[{"name": "a"}]), **{**note, "severity": "low"})[0]["status"] == "fail"


def test_an_immutable_node_is_told_so():
    evidence = dict(section(rows=[{"name": "a"}]), node_host={"immutable": True, "immutable_by": "talos"})
    row = judge(evidence, fix=dict(BASE["fix"], role="harden_kernel_modules", part="modules", **{"class": "safe"}))[0]
    assert "immutable (talos)" in row["remediation"] and "Role" not in row["remediation"]


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["rows", "name", "collected", "x"]), inner), max_leaves=8)


@given(JSON)
def test_no_evidence_makes_a_judge_crash(value):
    for row in judge({"node_x": value if isinstance(value, dict) else {"rows": value}}):
        assert row["status"] in _finding.STATUSES


def test_offenders_that_the_node_did_not_name_are_counted():
    rows = [{"name": "s%d" % number} for number in range(25)]
    more = {"left_out": "node_x.left_out.some"}
    assert judge(section(rows=rows, left_out={"some": 30}), **more)[-1]["subject"] == "and 35 more"
    found = judge(section(rows=rows[:5], left_out={"some": 3}), **more)
    assert [row["subject"] for row in found] == ["s0", "s1", "s2", "s3", "s4",
                                                 "and 3 more"] and found[-1]["observed"] == "8 in all"
    for left_out in ({}, {"some": 0}, {"other": 3}, None, {"some": "x"}):
        assert len(judge(section(rows=rows[:5], left_out=left_out), **more)) == 5
    assert [row["status"] for row in judge(section(rows=[], left_out={"some": 3}), **more)] == ["pass"]
