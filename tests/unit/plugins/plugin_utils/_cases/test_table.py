# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of cases: a mistake is one sentence that names file, case and key."""

import json

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.table import cases_in, lacking

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
