# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the playbooks: each wrong one is refused by its name."""

import re

import pytest

from ansible_collections.kubenode.netfilter.plugins.action import compare
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _playbooks, _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import subjects


def templated(name, value):
    if value == "later":
        raise BadInput("%s cannot be templated: x" % name)
    return value


@pytest.mark.parametrize("variables, words", [
    ({"preflight_fix": "all"}, "preflight_fix is 'all', but must be one of"),
    ({"bake_fix": "all", "preflight_fix": "all"}, "bake_fix is 'all', but must be one of"),
    ({"bake_fixes": "safe"}, "The variable bake_fixes is not known; did you mean bake_fix?"),
    ({"undo_only": "conntrack"}, "The variable undo_only is not known; known: undo_hosts, undo_subjects"),
    ({"undo_": None}, "The variable undo_ is not known; known: undo_hosts, undo_subjects"),
    ({"undo_subjects": "conntrak"}, "undo_subjects[0] is 'conntrak', but must be one of"),
    ({"undo_subjects": ""}, "undo_subjects is empty; name at least one, or leave it out for all"),
    ({"preflight_subjects": []}, "preflight_subjects is empty; name at least one"),
    ({"undo_subjects": {"conntrack": True}}, "undo_subjects must be a list, not {"),
    ({"undo_subjects": "later"}, "undo_subjects cannot be templated"),
    ({"preflight_checks": 1}, "The variable preflight_checks is not known; known: preflight_fix, "),
    ({"bundle_path": "/x"}, "The variable bundle_path is not known; known: bundle"),
    ({"compare_format": "html"}, "The variable compare_format is not known; did you mean compare_formats?"),
    ({"compare_formats": ["pdf"]}, "compare_formats[0] is 'pdf', but must be one of"),
    ({"preflight_subjects": list(subjects.NAMES), "compare_formats": list(compare.FORMATS), "undo_subjects": None,
      "undo": 1, "undoing_x": 1, "bundler_x": 1, "audit_rules": [], "bundle": "/x", 7: 1}, None),
    ({"undo_at": 1, "ansible_facts": {"undo_at": 1}}, None),
])
def test_every_variable_of_a_playbook_is_known_and_right_in_a_playbook_of_ours(variables, words):
    _playbooks.refuse_wrong_variables(variables, templated)
    variables = dict(variables, __node_policy_playbook=True)
    if words is None:
        _playbooks.refuse_wrong_variables(variables, templated)
        return
    with pytest.raises(BadInput) as caught:
        _playbooks.refuse_wrong_variables(variables, templated)
    assert str(caught.value).startswith(words)


def test_every_play_of_ours_refuses_unknown_variables():
    for path in (_role_data.ROLES.parent / "playbooks").glob("*.yml"):
        for play in _role_data.load_yaml(path):
            assert "import_playbook" in str(play) or play["vars"]["__node_policy_playbook"] is True, path


def test_a_variable_without_a_value_means_its_default_in_every_playbook():
    """Without a class, fix would go by the variables of the roles alone, which allow more than `safe`."""
    for path in (_role_data.ROLES.parent / "playbooks").rglob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?:_fix|bundle) \| default\([^,)]*\)", text), path
