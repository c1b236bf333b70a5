# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A case against the findings of its check; cases of the checks of the collection are judged in test_checks.py."""

import dataclasses

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._conntrack.keys import KEYS, dotted
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _schema
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.healthy import SECTIONS
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.judge import differences, findings_of

CHECK = dataclasses.replace(
    next(iter(_catalogue.catalogue().values())), id="SITE-CNI001", kind="none_of", needs=("node_cni.net_d",),
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
    assert of(row) == ["it is unknown (net_d of node_cni is denied), and the case expects pass"]


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
    assert set(SECTIONS) == set(_schema.sections())
    assert [text for name, section in SECTIONS.items() for text in _misfits(section, _schema.sections()[name], name)
            ] == ["node_kernel_modules.modules"]  # Made for the modules that the policy of a case asks for.
    assert [row["key"] for row in SECTIONS["node_conntrack"]["sysctls"]] == [dotted(key.key) for key in KEYS]
