# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An entry of the catalogue that is not as it must be is refused."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _policy

ENTRY = {"id": "KMOD999", "title": "t", "severity": "low", "kind": "none_of", "select": "a", "needs": ["node_host"], "why": "w",
         "fix": {"role": None, "class": None, "manual": "m", "safety": "s"}, "sources": ["x"]}


def test_an_entry():
    check = _catalogue.checks_of([("file", ENTRY)])["KMOD999"]
    assert check.section == "KMOD" and check.needs == ("node_host",)


@pytest.mark.parametrize("change, words", [
    ({"id": "kmod1"}, "capital letters and three digits"),
    ({"severity": "critical"}, "severity must be one of"),
    ({"kind": "some_of"}, "there is no kind some_of"),
    ({"kind": "equals"}, "kind equals needs want"),
    ({"want": 3}, "kind none_of takes no want"),
    ({"select": "a["}, "select is no valid JMESPath expression"),
    ({"aplies_when": "a"}, "the key aplies_when is not known; did you mean applies_when?"),
    ({"fix": {"role": None}}, "fix must have"),
])
def test_refused(change, words):
    with pytest.raises(BadInput, match=words.replace("?", r"\?")):
        _catalogue.checks_of([("file", dict(ENTRY, **change))])


def test_an_id_is_there_once():
    with pytest.raises(BadInput, match="twice"):
        _catalogue.checks_of([("file", ENTRY), ("file", ENTRY)])


def test_a_missing_key():
    with pytest.raises(BadInput, match="lacks why"):
        _catalogue.checks_of([("file", {key: value for key, value in ENTRY.items() if key != "why"})])


def test_a_want_that_looks_like_a_policy_value_is_one():
    values = _policy.default_policy().values
    named = [check.want for check in _catalogue.catalogue().values() if isinstance(check.want, str) and "_" in check.want]
    assert [want for want in named if want not in values] == []
