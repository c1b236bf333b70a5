# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of cases: a mistake is one sentence that names file, case and key."""

import json

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._cases.table import cases_in, lacking

CASE = {"name": "jumbo", "expect": "pass"}


def sentence_of(text):
    with pytest.raises(BadInput) as refused:
        cases_in("tests/X.yml", text.encode("utf-8"))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("change, sentence", [
    ({"expcet": "pass"}, "the key expcet is not known; did you mean expect?"),
    ({"expect": "passed"}, ".expect is 'passed', but must be one of: pass, skip, unknown, fail; did you mean pass?"),
    ({"expect": "waived"}, ".expect is 'waived', but must be one of"),
    ({"subjects": {"a": 1}}, ".subjects must be a list, not {'a': 1}"),
    ({"count": "many"}, ".count must be a whole number, not 'many'"),
    ({"evidence": ["node_cni"]}, ".evidence must be a dictionary, not ['node_cni']"),
    ({"evidence": {"node_cin": {}}}, "evidence: the section node_cin is not known; did you mean node_cni?"),
    ({"evidence": {"node_cni": {"mtu": {"uplnk_mtu": 1}}}},
     "evidence.node_cni.mtu: the key uplnk_mtu is not in the evidence; did you mean uplink_mtu?"),
    ({"evidence": {"node_cni": {"files": [{"pth": 1}]}}},
     "evidence.node_cni.files: the key pth is not in the evidence; did you mean path?"),
    ({"evidence": {"node_cni": {"collected": {"nte_d": "denied"}}}},
     "evidence.node_cni.collected: the key nte_d is not in the evidence; did you mean net_d?"),
    ({"evidence": {"node_conntrack": {"of_keys": [1]}}},
     "evidence.node_conntrack.of_keys must be a dictionary of dictionaries"),
    ({"evidence": {"node_conntrack": {"of_keys": {"net.netfilter.nf_conntrack_max": 7}}}},
     "evidence.node_conntrack.of_keys must be a dictionary of dictionaries"),
    ({"evidence": {"node_conntrack": {"of_keys": {"net.netfilter.nf_conntrack_max": {"nwo": 1}}}}},
     "evidence.node_conntrack.of_keys: the key nwo is not in the evidence; did you mean now?"),
    ({"modules": {"xt_comment": "absnet"}}, "modules.xt_comment: the state absnet is not known; did you mean absent?"),
])
def test_a_mistake_of_a_case(change, sentence):
    text = sentence_of(json.dumps([CASE, dict(CASE, **change)]))
    assert text.startswith("tests/X.yml: case 2 (jumbo)") and sentence in text, text


@pytest.mark.parametrize("text, sentence", [
    ("", "tests/X.yml must be a list of cases"),
    ("- pass", "tests/X.yml: case 1 must be a dictionary"),
    ("- {expect: pass}", "tests/X.yml: case 1 lacks name"),
    ("- [", "tests/X.yml is not valid YAML: line 2, column 1: "),
])
def test_a_file_that_is_no_list_of_cases(text, sentence):
    assert sentence_of(text).startswith(sentence)


def test_what_a_case_may_change():
    row = dict(CASE, evidence={"node_iptables_backend": {"=backend": None, "backend_by_family": {"=ipv4": None}},
                               "node_conntrack": {"of_keys": {"k": {"now": "1"}}}, "node_kubelet": None},
               modules={"*": "unlisted builtin"}, policy={"node_policy_proxy_mode": "ipvs"}, count=1)
    assert cases_in("tests/X.yml", json.dumps([row]).encode("utf-8")) == [row]


@pytest.mark.parametrize("expected, missing", [
    (["pass", "fail", "unknown", "skip"], []),
    (["pass", "fail", "unknown", "pass"], []),
    (["pass", "fail", "unknown"], ["no look-alike: a second case expects pass or skip"]),
    (["pass"], ["no case expects fail", "no case expects unknown"]),
])
def test_what_cases_have_to_show(expected, missing):
    assert lacking([dict(CASE, expect=status) for status in expected]) == missing
