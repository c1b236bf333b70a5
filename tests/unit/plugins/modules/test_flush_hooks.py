# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module flush_hooks as Ansible runs it: announce, do, do again, undo, and one clear error."""

from case_rows import cases
import module_runs
import node_tree
import pytest
import yaml
from node_tree import executable

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

TREE = {"etc/os-release": "ID=debian\n",
        "opt/fw.sh": executable("#!/bin/sh\niptables-save > /root/x\niptables -F\nlogger done\n")}


@pytest.fixture
def tree(tmp_path):
    return node_tree.unpack(TREE, tmp_path)


def test_from_announcing_to_undoing(tree):
    options = {"root": tree, "hook_directories": ["/opt"]}
    status, announced = module_runs.run_module("flush_hooks", _ansible_check_mode=True, _ansible_diff=True, **options)
    assert status == 0 and announced["changed"] and announced["diff"][1]["before"].endswith("iptables -F\n")
    status, done = module_runs.run_module("flush_hooks", **options)
    assert {key: done[key] for key in ("changed", "files", "hooks", "daemon_reload")} == {
        key: announced[key] for key in ("changed", "files", "hooks", "daemon_reload")}
    assert not module_runs.run_module("flush_hooks", **options)[1]["changed"]
    assert module_runs.run_module("flush_hooks", state="absent", **options)[1]["files"][0] == "/opt/fw.sh"
    with open(tree + "/opt/fw.sh") as script:
        assert script.read() == TREE["opt/fw.sh"]["content"]


APPENDS = "#!/bin/sh\niptables -F\niptables -A INPUT -p tcp --dport 22 -j ACCEPT\n"


@pytest.mark.parametrize("script, warned", [(APPENDS, True), (APPENDS.replace("-A INPUT", "-C INPUT"), False)])
@pytest.mark.parametrize("check", [False, True])
def test_a_removed_flush_with_rules_behind_it_warns_of_duplicates(script, warned, check, tmp_path):
    root = node_tree.unpack({"etc/os-release": "ID=debian\n", "opt/fw.sh": executable(script)}, tmp_path)
    status, result = module_runs.run_module("flush_hooks", root=root, hook_directories=["/opt"],
                                            _ansible_check_mode=check)
    assert status == 0 and [row["action"] for row in result["hooks"]] == ["removed"]
    said = [str(each) for each in result.get("warnings", [])]
    assert len(said) == warned and all("/opt/fw.sh: it adds rules after its flush" in each and "adds them again" in each
                                       for each in said)


@cases
def test_what_the_user_got_wrong_is_said(tree, options, message):
    status, result = module_runs.run_module("flush_hooks", **dict({"root": tree}, **options))
    assert status == 1 and result["failed"] and message in result["msg"]


def test_what_is_returned_is_documented_to_the_leaf(tree):
    from ansible_collections.kubenode.netfilter.plugins.modules import flush_hooks
    documented = yaml.safe_load(flush_hooks.RETURN)
    _status, result = module_runs.run_module("flush_hooks", root=tree, hook_directories=["/opt"])
    assert set(result) - {"invocation", "diff", "changed"} == set(documented) - {"msg"}
    assert set(result["hooks"][0]) == set(documented["hooks"]["contains"])
    options = set(flush_hooks.plan.OPTIONS) - {"root", "place"}
    assert set(yaml.safe_load(flush_hooks.DOCUMENTATION)["options"]) == options
