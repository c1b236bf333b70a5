# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node's answer becomes the result of a task, RETURN of the modules as its schema, and known errors where no
module can run, as one sentence with the next step."""

import json
import pathlib
import re
import types

import pytest
import yaml
from case_rows import cases
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer import documented, validate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.looking import sections_of
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

PLUGINS = pathlib.Path(documented.__file__).resolve().parents[2]
ACTIONS = {path.stem for path in (PLUGINS / "action").glob("*.py")}
ROUTED = yaml.safe_load(
    (PLUGINS.parent / "meta" / "runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]["modules"]
ON_NODES = sorted(path.stem for path in (PLUGINS / "modules").glob("*.py")
                  if "AnsibleModule(" in path.read_text(encoding="utf-8"))
# Keys of a result that Ansible acts on, and some it only prints.
FOREIGN = {"add_host": {"host_name": "evil"}, "add_group": "evil", "ansible_stats": {"data": {"evil": 1}},
           "_ansible_notify": ["evil"], "skipped": True, "invocation": {"module_args": {}}, "ansible_job_id": "1",
           "results": [], "evil": 1, "include": "evil.yml", "_ansible_no_log": True}
NOTHING_DONE = {"backend": None, "groups": [], "refused": None}


def test_every_module_that_runs_on_a_node_goes_through_the_door():
    assert set(ON_NODES) - ACTIONS == set(ROUTED)
    assert {row["action_plugin"] for row in ROUTED.values()} == {"kubenode.netfilter.node_facts"}


@pytest.mark.parametrize("module", ON_NODES)
def test_only_documented_keys_pass(module):
    evil = dict.fromkeys(policies.known_names(), "evil")
    answer = dict(FOREIGN, changed=True,
                  ansible_facts=dict(evil, ansible_connection="local", node_assess_findings=[], **healthy([])), **evil)
    result = documented.documented_part(answer, module)
    known = validate.documented(module)
    assert set(result) <= set(known) | {"changed", "failed", "msg"}
    allowed = known["ansible_facts"].contains if "ansible_facts" in known else ()
    assert set(result.get("ansible_facts") or ()) <= set(allowed)
    assert "evil" not in json.dumps(result)


def test_facts_of_a_section_that_fits():
    facts = healthy([])
    result = documented.documented_part({"changed": False, "ansible_facts": dict(facts, preflight_fix="disruptive")},
                                        "xtables_lock_facts")
    assert result == {"changed": False, "ansible_facts": {"node_xtables_lock": facts["node_xtables_lock"]}}


@cases
def test_an_answer_that_does_not_fit_fails(answer, words):
    result = documented.documented_part(answer, "node_facts")
    assert result["failed"] and words in result["msg"]


def test_a_documented_key_of_another_type_fails_and_is_left_out():
    result = documented.documented_part({"modules": "all", "files": []}, "kernel_modules")
    assert (result["failed"] and "modules must be a list" in result["msg"] and "modules" not in result
            and result["files"] == [])


def test_what_failed_keeps_its_own_words_and_the_last_line_of_its_traceback():
    answer = {"failed": True, "msg": "MODULE FAILURE",
              "module_stderr": "Traceback\n" + "  File x\n" * 5000 + "ValueError: no such thing\x1b[2J"}
    result = documented.documented_part(answer, "kernel_modules")
    assert result["msg"] == "MODULE FAILURE" and result["failed"]
    assert result["module_stderr"].endswith("ValueError: no such thing\\x1b[2J") and len(result["module_stderr"]) < 5000
    # Newer ansible-cores have a traceback in an object.
    event = types.SimpleNamespace(event=types.SimpleNamespace(formatted_traceback="Traceback\nValueError: x", msg="x"))
    result = documented.documented_part({"failed": True, "exception": event, "warnings": [event, "plain"]},
                                        "kernel_modules")
    assert (result["exception"], result["warnings"]) == ("Traceback\nValueError: x", ["x", "plain"])


@pytest.mark.parametrize("diff", [5, "x", [5, None, []], [{"before": 5, "after": {}}], {"before": ["x"]}])
def test_a_diff_that_is_none_is_left_out(diff):
    result = documented.documented_part({"failed": True, "diff": diff}, "kernel_modules")
    assert all(isinstance(text, str) for row in result["diff"] for text in row.values())


def test_a_diff_keeps_its_lines_and_no_control_characters():
    shown = {"before_header": "/etc/x", "after_header": "/etc/x", "before": "a\n\tb\n",
             "after": "a\x1b]0;t\x07\u202e\n", "evil": "x"}
    assert documented.documented_part({"failed": True, "diff": [shown]}, "kernel_modules")["diff"] == [
        {"before_header": "/etc/x", "after_header": "/etc/x", "before": "a\n\tb\n",
         "after": "a\\x1b]0;t\\x07\\u202e\n"}]


def test_warnings_and_diffs_are_bounded():
    result = documented.documented_part({"failed": True, "warnings": ["w" * 10 ** 6] * 10 ** 4, "diff": [
        {"before": "", "after": "x" * 10 ** 6}] * 300}, "kernel_modules")
    assert len(result["warnings"]) == 20 and sum(map(len, result["warnings"])) < 100000
    assert len(result["diff"]) == 3 and result["diff"][-1] == {"prepared": "(298 more changes are not shown)\n"}


def test_texts_of_an_answer_hold_no_control_characters():
    answer = dict(NOTHING_DONE, refused="no\x9b2J\u202e", failed=True)
    assert documented.documented_part(answer, "iptables_backend")["refused"] == "no\\x9b2J\\u202e"


MODULES = sorted(path.stem for path in pathlib.Path(validate.__file__).parents[2].joinpath("modules").glob("*.py"))
TYPES = {"str", "int", "float", "bool", "dict", "list", "raw"}


def shapes(shape):
    yield shape
    for part in (shape.contains or {}).values():
        yield from shapes(part)
    if shape.element is not None:
        yield from shapes(shape.element)


@pytest.mark.parametrize("module", MODULES)
def test_every_return_is_a_schema(module):
    found = validate.documented(module)
    assert found and {part.type for shape in found.values() for part in shapes(shape)} <= TYPES


def test_sections():
    assert sorted(validate.documented_sections()) == sorted("node_" + subset for subset in assess.SUBSETS)
    for name, shape in validate.documented_sections().items():
        assert {"schema", "collected"} <= set(shape.contains), name
        assert all(part.always for part in shape.contains.values()), name


def test_a_section_is_the_same_by_its_own_module():
    own = validate.documented("xtables_lock_facts")["ansible_facts"].contains["node_xtables_lock"]
    assert own.contains == validate.documented_sections()["node_xtables_lock"].contains
    row = validate.documented_sections()["node_conntrack"].contains["sysctls"].element.contains
    assert (row["key"].type, row["now"].type, row["late"].type) == ("str", "raw", "bool")


@cases
def test_a_known_error(printed, words):
    """Real programs printed the texts; `words` is a regular expression."""
    answer = {"failed": True, "msg": "Module result deserialization failed: No start of json char found",
              "module_stderr": printed}
    _sections, _problems, reason = sections_of(answer)
    assert re.match(words, reason), reason
    assert not re.search("Traceback|deserialization|stdin|\\n", reason)
    assert documented.documented_part(answer, "node_facts") == {
        "changed": False, "failed": True, "msg": "The module could not run on the node: " + reason}


@pytest.mark.parametrize("answer", [
    {"failed": True, "msg": "/etc/sysctl.d/90-x.conf could not be written: No space left on device"},
    {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "OSError: no room"}, {"failed": True}])
def test_other_errors_stay_as_they_are(answer):
    assert documented.reason_of(answer) is None


@pytest.mark.parametrize("oldest, words", [
    ((3, 9), r"its Python 3.7 is too old for ansible-core \d.\d+, which needs 3.9; .*, or use ansible-core 2.16, .*"),
    (True, r"its Python 3.7 is too old for ansible-core \d.\d+, which needs 3.6; [^,]*")])
def test_the_version_that_this_ansible_core_needs(monkeypatch, oldest, words):
    monkeypatch.setattr(documented.basic, "_PY_MIN", oldest, raising=False)
    message = "Ansible requires Python 3.9 or newer on the target. Current version: 3.7.3 (default, Oct 31 2022)"
    assert re.fullmatch(words, documented.reason_of({"msg": message}))


def test_a_node_has_no_say_in_the_sentence():
    reason = documented.plain_reason("a{core}b\x1b/python9: not found {needed}")
    assert reason.startswith("/python9 is not on it; ")
