# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module node_changes as Ansible runs it: each module runs as if alone, even if another module fails."""

import importlib
import json

import module_runs
import node_tree
import pytest
from conntrack_node import tracking
from hook_changes import content
from node_manifests import merged

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

PLUGINS = "ansible_collections.kubenode.netfilter.plugins.modules."
MODULES = {"name": ["nf_conntrack"], "file": "ours.conf"}
SETTINGS = {"max": 524288}


@pytest.fixture
def trees(tmp_path):
    """Two nodes that are the same."""
    folders = [tmp_path / "one", tmp_path / "other"]
    return [node_tree.unpack(merged(tracking()), folder) for folder in folders]


def call(changes, tree, **options):
    rows = [{"module": name, "options": dict(given, root=tree, place="live")} for name, given in changes]
    status, answer = module_runs.run_module("node_changes", changes=rows, **options)
    return status, answer, [json.loads(row["result"]) for row in answer.get("results", ())]


def without_place(result, tree):
    """A result without the invocation, and with /tree as the folder of the tree."""
    return json.loads(json.dumps({key: value for key, value in result.items() if key != "invocation"}).replace(
        str(tree), "/tree"))


@pytest.mark.parametrize("check_mode", [True, False])
def test_each_module_does_and_returns_what_it_does_alone(trees, check_mode):
    together, alone = trees
    status, answer, results = call([("kernel_modules", MODULES), ("conntrack", SETTINGS)], together,
                                   _ansible_check_mode=check_mode)
    single = [module_runs.run_module(name, _ansible_check_mode=check_mode, root=alone, place="live", **options)[1]
              for name, options in (("kernel_modules", MODULES), ("conntrack", SETTINGS))]
    assert [without_place(result, together) for result in results] == [without_place(result, alone)
                                                                       for result in single]
    assert answer["changed"] == any(result["changed"] for result in single)
    assert content(together).keys() == content(alone).keys()
    assert status == bool([result for result in single if result.get("failed")])


def test_a_module_that_fails_does_not_keep_the_next_from_running(trees):
    tree = trees[0]
    status, answer, results = call([("conntrack", {"max": -5}), ("conntrack", {"resize": "soon"}),
                                    ("conntrack", SETTINGS)], tree)
    assert status and answer["failed"] and "max is -5" in answer["msg"] and "resize" in answer["msg"]
    assert [row["failed"] for row in answer["results"]] == [True, True, False]
    assert results[2]["changed"] and [row["changed"] for row in answer["results"]] == [False, False, True]


def test_all_subjects_of_a_call_take_one_lock(trees, monkeypatch):
    node_changes = importlib.import_module(PLUGINS + "node_changes")
    lock = importlib.import_module(PLUGINS.replace("modules.", "module_utils._host.lock"))
    real, taken = lock._locked, []
    monkeypatch.setattr(lock, "_locked", lambda *paths: taken.append(paths) or real(*paths))
    for check in (True, False):
        changes = [{"module": name, "options": dict(options, root=trees[0], place="live")}
                   for name, options in (("kernel_modules", MODULES), ("conntrack", SETTINGS))]
        node_changes.calls.each_under_one_lock(lambda change: node_changes.row_of(change, check), changes)  # noqa: B023
        assert len(taken) == (0 if check else 1) and not lock._TAKEN


def test_what_a_module_trips_over_is_its_result(trees, monkeypatch):
    """Changes that were made before the exception are still reported."""
    calls = pytest.importorskip("ansible_collections.kubenode.netfilter.plugins.module_utils._change.calls")

    class Tripping:
        OPTIONS, RULES = {}, {}

        @staticmethod
        def run(_params, _check_mode):
            raise KeyError("x")
    monkeypatch.setattr(calls, "_plan_of", lambda _subject: Tripping)
    result = calls.result_of("flush_hooks", {}, False, lambda options, _spec: (options, []))
    assert result["failed"] and result["msg"] == "KeyError: 'x'" and "Traceback" in result["exception"]


LOOK = {"gather_subset": ["conntrack"], "place": "live"}


def looked(tree, changes, **options):
    return call(changes, tree, look=dict(LOOK, root=options.pop("root", tree)), **options)[1]


def test_it_looks_at_what_it_has_changed(trees):
    tree = trees[0]
    before = module_runs.run_module("node_facts", root=tree, **LOOK)[1]["ansible_facts"]["node_conntrack"]
    section = json.loads(looked(tree, [("conntrack", SETTINGS)])["looked"])["node_conntrack"]
    after = module_runs.run_module("node_facts", root=tree, **LOOK)[1]["ansible_facts"]["node_conntrack"]
    assert section["max"] == after["max"] == SETTINGS["max"] != before["max"]


def test_it_takes_the_sections_of_node_facts():
    node_facts, node_changes = (importlib.import_module(PLUGINS + name) for name in ("node_facts", "node_changes"))
    assert sorted(node_changes.SECTIONS) == sorted(node_facts.SECTIONS)


def test_it_looks_after_a_failure_too(trees):
    answer = looked(trees[0], [("conntrack", {"max": -5})])
    assert answer["failed"] and list(json.loads(answer["looked"])) == ["node_conntrack"]


def test_it_does_not_look_where_nothing_has_changed(trees):
    tree = trees[0]
    looked(tree, [("conntrack", SETTINGS)])
    again = looked(tree, [("conntrack", SETTINGS)])
    assert not again["changed"] and "looked" not in again
    other = looked(trees[1], [("conntrack", SETTINGS)], _ansible_check_mode=True)
    assert other["changed"] and "looked" not in other


def test_a_look_that_fails_hides_no_change(trees):
    answer = looked(trees[0], [("conntrack", SETTINGS)], root=trees[0] + "/nowhere")
    assert answer["changed"] and not answer.get("failed") and "nowhere" in answer["look_failed"]
    assert "looked" not in answer


def test_an_unknown_module_is_refused_before_anything_is_changed(trees):
    before = content(trees[0])
    status, answer, _results = call([("conntrack", SETTINGS), ("fix", {})], trees[0])
    assert status and "value of module must be one of" in answer["msg"] and content(trees[0]) == before
