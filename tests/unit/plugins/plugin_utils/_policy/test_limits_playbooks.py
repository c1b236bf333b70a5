# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the playbooks, each wrong one refused by its name; and the folders of the inventory sources,
which files of the user are relative to."""

import pathlib
import re

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.action import compare
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _role_data
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import subjects
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play import repository
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import limits

SUBJECTS, FORMATS = list(subjects.NAMES), list(compare.FORMATS)


def templated(name, value):
    if value == "later":
        raise BadInput("%s cannot be templated: x" % name)
    return value


@cases
def test_every_variable_of_a_playbook_is_known_and_right_in_a_playbook_of_ours(variables, words):
    limits.refuse_wrong_variables(variables, templated)
    variables = dict(variables, __node_policy_playbook=True)
    if words is None:
        limits.refuse_wrong_variables(variables, templated)
        return
    with pytest.raises(BadInput) as caught:
        limits.refuse_wrong_variables(variables, templated)
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


def test_folders_of_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "hosts.yml").write_text("", encoding="utf-8")
    assert repository.folders_of(["a/hosts.yml", "a", str(tmp_path / "a"), "web1,web2,"]) == [tmp_path / "a"]
    for nothing in (None, [], ["web1,"], ["gone.yml"], ["web1," * 1000], ["a\0b"]):
        assert repository.folders_of(nothing) == [pathlib.Path.cwd()]
        assert repository.path_in_repository(nothing) == repository.NO_FILE


def test_names_of_hosts_and_of_what_ansible_connects_to():
    class HostVars(dict):
        raw_get = dict.__getitem__

    connections = {"a": "real-a.corp.net", "b": "jump", "c": "jump", "d": "10.0.0.1", "e": "fd00::1", "f": "localhost",
                   "g": "{{ x }}", "h": None}
    hostvars = HostVars({name: {"ansible_host": value} for name, value in connections.items()}, i={})
    assert repository.names_of(["a", "z"], [*connections, "i"], hostvars) == {
        "a": "a", "z": "z", "real-a.corp.net": "a", "jump": "jump"}
