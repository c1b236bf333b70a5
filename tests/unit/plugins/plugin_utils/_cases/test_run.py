# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases beside a file of checks: found, judged, missing, of no check, and each mistake in one sentence."""

import dataclasses
import json

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.keys import KEYS, dotted
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.healthy import SECTIONS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.run import (
    cases_in, differences, findings_of, lacking, run_of,
)
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.user_checks import files_of

ENTRY = {"id": "SITE-CNI001", "title": "No pod uses a bridge", "severity": "low", "kind": "none_of",
         "problem": "{subject} is used", "needs": ["node_cni.net_d"], "select": "node_cni.plugins[].{subject: @}",
         "subject": "{subject}", "observed": "{subject}", "expected": "another plugin", "why": "It is slow.",
         "fix": {"manual": "remove {subject}"}, "sources": ["https://wiki.example.com"]}
NONE = {"node_cni": {"plugins": []}}
CASES = ({"name": "none", "evidence": NONE, "expect": "pass"}, {"name": "one", "expect": "fail"},
         {"name": "another", "evidence": NONE, "expect": "pass"},
         {"name": "denied", "evidence": {"node_cni": {"plugins": [], "collected": {"net_d": "denied"}}},
          "expect": "unknown"})


def run(folder, cases=CASES, name="SITE-CNI001.yml", given="checks"):
    (folder / "checks" / "tests").mkdir(parents=True, exist_ok=True)
    (folder / "checks" / "site.yml").write_text(json.dumps([ENTRY]), encoding="utf-8")
    if cases:
        (folder / "checks" / "tests" / name).write_text(json.dumps(cases), encoding="utf-8")
    return run_of(files_of([given], [folder]))


def test_each_case_is_judged_and_has_the_text_that_a_user_reads(tmp_path):
    (row,), strays = run(tmp_path)
    assert (row["check"], row["file"], row["problems"], strays) == ("SITE-CNI001", "checks/site.yml", [], [])
    assert [(case["name"], case["statuses"], case["texts"]) for case in row["cases"]] == [
        ("none", ["pass"], []), ("one", ["fail"], ["bridge is used; wanted: another plugin"]),
        ("another", ["pass"], []),
        ("denied", ["unknown"], ["net_d of node_cni may not be read (denied)"])]


def test_a_case_that_comes_out_otherwise_is_named(tmp_path):
    (row,), _strays = run(tmp_path, [*CASES[:3], dict(CASES[3], expect="unknown", evidence=NONE)])
    assert row["problems"] == [
        "checks/tests/SITE-CNI001.yml: case 4 (denied): it is pass, and the case expects unknown"]


def test_a_select_that_matches_nothing_in_any_case_is_named(tmp_path):
    (row,), _strays = run(tmp_path, [CASES[0], dict(CASES[1], evidence=NONE), *CASES[2:]])
    assert row["problems"] == [
        "checks/tests/SITE-CNI001.yml: select returns nothing that kind none_of reports, in any case: compare its keys "
        "with the evidence", "checks/tests/SITE-CNI001.yml: case 2 (one): it is pass, and the case expects fail"]


@pytest.mark.parametrize("cases, problem", [
    (None, "SITE-CNI001 has no cases: write checks/tests/SITE-CNI001.yml"),
    (CASES[:2], "checks/tests/SITE-CNI001.yml: no case expects unknown"),
    ([CASES[0], CASES[1], CASES[3]], "checks/tests/SITE-CNI001.yml: no look-alike: a second case expects pass or skip"),
])
def test_cases_that_are_missing(tmp_path, cases, problem):
    (row,), _strays = run(tmp_path, cases)
    assert row["problems"] == [problem]


def test_cases_of_no_check(tmp_path):
    run(tmp_path)
    _rows, strays = run(tmp_path, name="SITE-CIN001.yaml")
    assert strays == ["checks/tests/SITE-CIN001.yaml: no check has this id; did you mean SITE-CNI001?"]
    # They may be of a file that was not named.
    (tmp_path / "checks" / "other.yml").write_text("[]", encoding="utf-8")
    assert run(tmp_path, given="checks/site.yml")[1] == []


@cases
def test_a_mistake_in_a_case(tmp_path, cases, sentence):
    with pytest.raises(BadInput) as refused:
        run(tmp_path, cases)
    assert str(refused.value) == sentence


# A case against the findings of its check; cases of the checks of the collection are judged in test_checks.py.

CHECK = dataclasses.replace(
    next(iter(catalogue.catalogue().values())), id="SITE-CNI001", kind="none_of", needs=("node_cni.net_d",),
    select="node_cni.plugins[].{subject: @}", subject="{subject}", observed="{subject}", expected="none",
    reason="because", unknown=None, applies_when=None, left_out=None, problem="{subject} is used",
    fix={"role": None, "class": None, "manual": "remove {subject}", "safety": ""})
FAILS = {"name": "n", "expect": "fail", "subjects": ["bridge"], "count": 1, "remediation": "remove bridge"}


def of(row, check=CHECK):
    return differences(check, row, findings_of(check, row))


def test_a_case_that_comes_out_as_expected():
    assert of(FAILS) == []
    assert of({"name": "n", "expect": "pass", "evidence": {"node_cni": {"plugins": []}}}) == []


@cases
def test_each_difference_has_a_text(change, text):
    assert of(dict(FAILS, **change)) == [text]


def test_an_unknown_names_its_reason():
    row = {"name": "n", "expect": "pass", "evidence": {"node_cni": {"collected": {"net_d": "denied"}, "plugins": []}}}
    assert of(row) == ["it is unknown (net_d of node_cni may not be read (denied)), and the case expects pass"]


def test_an_empty_text_of_a_failure():
    assert of(FAILS, dataclasses.replace(CHECK, expected="{subject}", observed=" ")) == ["observed of bridge is empty"]


@cases
def test_what_no_case_can_be(change, sentence):
    with pytest.raises(BadInput) as refused:
        findings_of(CHECK, dict(FAILS, **change))
    assert sentence in str(refused.value)


def _misfits(value, shape, where):
    """Keys that the evidence has and its documentation lacks, and the reverse; free dictionaries only where `collected`
    is one, as RETURN samples all of its sources."""
    if isinstance(value, list) and shape.element:
        return [text for item in value for text in _misfits(item, shape.element, where)]
    known = shape.sampled if where.endswith(".collected") else shape.contains
    if not isinstance(value, dict) or known is None:
        return []
    return ["%s.%s" % (where, key) for key in set(value) ^ set(known)] + [
        text for key in set(value) & set(shape.contains or ())
        for text in _misfits(value[key], shape.contains[key], "%s.%s" % (where, key))]


def test_the_healthy_node_is_what_a_node_returns():
    assert set(SECTIONS) == set(validate.documented_sections())
    # Its modules are made from the policy of each case.
    assert [text for name, section in SECTIONS.items() for text in _misfits(
        section, validate.documented_sections()[name], name)] == ["node_kernel_modules.modules"]
    assert [row["key"] for row in SECTIONS["node_conntrack"]["sysctls"]] == [dotted(key.key) for key in KEYS]


CASE = {"name": "jumbo", "expect": "pass"}


def sentence_of(text):
    with pytest.raises(BadInput) as refused:
        cases_in("tests/X.yml", text.encode("utf-8"))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@cases
def test_a_mistake_of_a_case(change, sentence):
    text = sentence_of(json.dumps([CASE, dict(CASE, **change)]))
    assert text.startswith("tests/X.yml: case 2 (jumbo)") and sentence in text, text


@cases
def test_a_file_that_is_no_list_of_cases(text, sentence):
    assert sentence_of(text).startswith(sentence)


def test_what_a_case_may_change():
    row = dict(CASE, evidence={"node_iptables_backend": {"=backend": None, "backend_by_family": {"=ipv4": None}},
                               "node_conntrack": {"of_keys": {"k": {"now": "1"}}}, "node_kubelet": None},
               modules={"*": "unlisted builtin"}, policy={"node_policy_proxy_mode": "ipvs"}, count=1)
    assert cases_in("tests/X.yml", json.dumps([row]).encode("utf-8")) == [row]


@cases
def test_what_cases_have_to_show(expected, missing):
    assert lacking([dict(CASE, expect=status) for status in expected]) == missing
