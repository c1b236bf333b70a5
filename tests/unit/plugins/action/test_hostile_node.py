# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compromised node answers every module with settings of this collection; none of them takes effect on the
controller."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml
from healthy import healthy
from hostile_node import HostileNode

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

TOP = pathlib.Path(__file__).resolve().parents[4]
EVIL = "evil-value"
# The faults of the node: they give work for every role, and for a restart of kubelet and a migration of the backend.
BROKEN = {"KMOD005": 1, "CTRACK004": None, "HOOK001": None, "HOOK020": 1, "BACKEND001": 1}
# Another host of the run then writes out the variables of this host whose names are ours, the names of its facts, and
# the groups of the inventory.
AFTERWARDS = """
- hosts: watcher
  gather_facts: false
  tasks:
    - check_mode: false
      ansible.builtin.copy:
        dest: "{{ seen }}"
        content: "{{ {'ours': hostvars['hostile'] | dict2items | selectattr('key', 'match', '(__)?(node_|harden_|preflight_|bake_|repair_)') | list,
                      'facts': hostvars['hostile']['ansible_facts'].keys() | list, 'groups': groups} | to_json }}"
"""


def failing_evidence(check, row=None):
    """The changes to the evidence of a healthy node in the table of a check, from the given row or the first row that
    fails."""
    rows = yaml.safe_load((TOP / "tests" / "checks" / (check + ".yml")).read_text(encoding="utf-8"))
    chosen = rows[row] if row else next(each for each in rows if each["expect"] == "fail")
    return chosen.get("modules") or {}, chosen.get("evidence") or {}


def broken_evidence():
    modules, evidence = {}, {}
    for check, row in BROKEN.items():
        more_modules, more = failing_evidence(check, row)
        modules.update(more_modules)
        for section, changes in more.items():
            evidence.setdefault(section, {}).update(changes)
    return healthy(policies.default_policy().module_names, modules, evidence)


def evil_answers(folder, changed=()):
    """Answers that set every public variable of every role and playbook to a harmful value or to a value that the test
    can find again."""
    settings = dict.fromkeys(policies.known_names(), EVIL)
    settings.update(
        {
            "preflight_fix": "guarded", "node_gate_mode": "never", "node_report_folder": str(
                folder / "evil-value-report"), "repair_kubectl_host": "localhost",
            "repair_kubectl": ["touch", str(folder / "touched"), EVIL], "repair_cordoned": True,
            "__repair_cordon": {"doubt": ""}, "__repair_backend": {"migration": {"backend": EVIL}}})
    poison = {"changed": True, "add_host": {"host_name": EVIL, "groups": [EVIL]}, "add_group": EVIL,
              "ansible_stats": {"data": {EVIL: 1}}, "files": [], "modules": [], "settings": [], "hooks": [],
              "daemon_reload": False, "unfinished": False, "advice": None, "name": "kubelet.service",
              "state": "started", "warnings": [EVIL + "\x1b[2J"], "invocation": {EVIL: 1}, "refused": None,
              "ansible_facts": dict(settings, ansible_connection="local", ansible_become_exe=EVIL)}
    looked = dict(poison, ansible_facts=dict(poison["ansible_facts"], **broken_evidence()))
    together = {"changed": True, "results": [{"module": name, "changed": True, "failed": False,
                                              "result": json.dumps(looked)} for name in changed]}
    return {"*": looked, "node_changes": dict(looked, **together)}


def run(folder, play, node, *arguments, good=None, **variables):
    """Variables in capitals are for the environment, the others for the inventory."""
    inventory = {"all": {"hosts": {
        "hostile": {"ansible_connection": "local", "ansible_python_interpreter": str(node.interpreter)},
        "watcher": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}}}
    if good:
        inventory["all"]["hosts"]["good"] = {"ansible_connection": "local",
                                             "ansible_python_interpreter": str(good.interpreter)}
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    given = {"node_report_folder": str(folder / "report"), "node_gate_mode": "warn"}
    # Set in the inventory, because facts override it. Facts cannot override extra variables.
    (folder / "group_vars").mkdir()
    given.update((name, value) for name, value in variables.items() if name.islower())
    (folder / "group_vars" / "all.yml").write_text(yaml.safe_dump(given))
    (folder / "play.yml").write_text(play)
    (folder / "afterwards.yml").write_text(AFTERWARDS)
    hosts = "hostile,good" if good else "hostile"
    extra = json.dumps({"preflight_hosts": hosts, "repair_hosts": hosts, "seen": str(folder / "seen.json")})
    plays = [str(folder / "play.yml"), str(folder / "afterwards.yml")]
    environment = {name: value for name, value in variables.items() if name.isupper()}
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", str(folder / "hosts.yml"), *plays, "-e", extra, *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
        check=False, cwd=str(folder),
        env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(TOP / ".build"), ANSIBLE_NOCOLOR="1", **environment))


def variables_of(seen):
    """{name: value} without the warnings of a registered result: they are texts to show, and Ansible itself quotes the
    removed values in them."""
    values = {row["key"]: row["value"] for row in seen["ours"]}
    return {name: {key: value[key] for key in value if key != "warnings"} if isinstance(value, dict) else value
            for name, value in values.items()}


PREFLIGHT = "- import_playbook: kubenode.netfilter.preflight\n"
REPAIR = PREFLIGHT.replace("preflight", "repair")
CALLED = {"node_facts", "node_changes"}
SAFE = ("kernel_modules", "conntrack")


@pytest.mark.parametrize("play, arguments, fix, changed, asked", [
    (PREFLIGHT, ["--check"], "safe", SAFE, CALLED), (PREFLIGHT, [], "guarded", (*SAFE, "flush_hooks"), CALLED),
    (REPAIR, ["--check"], "safe", (), {"node_facts", "service_restart", "iptables_backend"}),
], ids=["check mode", "guarded", "repair"])
def test_no_answer_sets_anything(tmp_path, play, arguments, fix, changed, asked):
    node = HostileNode(tmp_path / "node", evil_answers(tmp_path, changed))
    done = run(tmp_path, play, node, *arguments, preflight_fix=fix)
    assert asked <= set(node.asked), (node.asked, done.stdout)
    assert done.returncode == 0, done.stdout
    seen = json.loads((tmp_path / "seen.json").read_text())
    ours = variables_of(seen)
    assert (ours["preflight_fix"], ours["node_gate_mode"]) == (fix, "warn") and "repair_kubectl" not in ours
    assert EVIL not in json.dumps([ours, seen["facts"],
                                   seen["groups"]]) and sorted(seen["groups"]) == ["all", "ungrouped"]
    assert ours["node_assess_summary"]["fail"] and (tmp_path / "report" / "nodes" / "hostile.json").exists()
    assert not (tmp_path / "touched").exists() and not list(tmp_path.glob("evil*"))


def test_a_restart_that_a_node_only_claims_is_not_believed(tmp_path):
    node = HostileNode(tmp_path / "node", evil_answers(tmp_path))
    done = run(tmp_path, REPAIR, node, repair_subjects=["kubelet"])
    assert done.returncode == 2 and "service_restart" in node.asked, done.stdout
    assert "iptables_backend" not in node.asked and "systemd_service" not in node.asked
    assert not (tmp_path / "touched").exists() and not list(tmp_path.glob("evil*"))


def test_facts_that_another_module_brought_are_refused_before_anything_is_done(tmp_path):
    node = HostileNode(tmp_path / "node", evil_answers(tmp_path))
    play = "- hosts: hostile\n  gather_facts: false\n  tasks: [{ansible.builtin.setup: }]\n"
    done = run(tmp_path, play + PREFLIGHT, node, preflight_fix="guarded")
    assert done.returncode == 2 and "The facts of this host contain" in done.stdout
    assert node.asked == ["setup"] and not (tmp_path / "touched").exists() and not list(tmp_path.glob("evil*"))


def test_facts_that_are_no_variables_are_no_danger(tmp_path):
    node = HostileNode(tmp_path / "node", evil_answers(tmp_path))
    play = "- hosts: hostile\n  gather_facts: false\n  tasks: [{ansible.builtin.setup: }]\n"
    done = run(tmp_path, play + PREFLIGHT.replace("preflight", "audit"), node, ANSIBLE_INJECT_FACT_VARS="False")
    assert done.returncode == 0 and node.asked == ["setup", "node_facts"], done.stdout
    assert EVIL not in json.dumps(variables_of(json.loads((tmp_path / "seen.json").read_text())))


@pytest.mark.parametrize("module, arguments, seconds", [("node_changes", ["--check"], 600), ("node_changes", [], 780)])
def test_a_node_that_hangs_is_given_up_and_the_others_go_on(tmp_path, module, arguments, seconds):
    node = HostileNode(tmp_path / "node", dict(evil_answers(tmp_path, (*SAFE, "flush_hooks")), **{module: "hang"}))
    good = HostileNode(tmp_path / "good", {"*": {"ansible_facts": healthy(policies.default_policy().module_names)}})
    done = run(tmp_path, PREFLIGHT, node, "-e", json.dumps({"preflight_serial": ["100%"]}), *arguments, good=good,
               preflight_fix="guarded")
    assert node.asked[-1] == module and good.asked, (node.asked, done.stdout)
    reports = {name: json.loads((tmp_path / "report" / "nodes" / (name + ".json")).read_text())
               for name in ("hostile", "good")}
    assert reports["good"]["summary"]["reached"] and not reports["hostile"]["summary"]["reached"]
    assert "the node did not answer within %d seconds" % seconds in json.dumps(reports["hostile"]["findings"])
    hung = pathlib.Path("/proc") / (tmp_path / "node" / "hangs").read_text() / "stat"
    assert not hung.exists() or " Z " in hung.read_text(), "the process that waits for the node is left over"


def test_a_node_that_hangs_in_its_restart_ends_the_play(tmp_path):
    node = HostileNode(tmp_path / "node", dict(evil_answers(tmp_path), service_restart="hang"))
    good = HostileNode(tmp_path / "good", {"*": {"ansible_facts": healthy(policies.default_policy().module_names)}})
    done = run(tmp_path, REPAIR, node, good=good, repair_subjects=["kubelet"])
    assert done.returncode == 2 and node.asked[-1] == "service_restart" and not good.asked, (node.asked, done.stdout)
    assert "the node did not answer within 780 seconds" in " ".join(done.stdout.split()), done.stdout
