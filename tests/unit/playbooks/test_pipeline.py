# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks and roles as a pipeline calls them, really run: strategies, batches, lost hosts, tags, callbacks, wrong
values."""

import json
import re

import fleets
import pytest
from fleets import recap

FREE = {"ANSIBLE_STRATEGY": "free"}


def ran(done):
    """The tasks that ran, by what stands before the bar of their names."""
    return set(re.findall(r"^TASK \[(?:[\w.]+ : )?(\w+)", done.stdout, re.M))


def test_a_rollout_ends_with_the_batch_that_has_a_blocked_host_whatever_the_strategy(tmp_path):
    fleet = fleets.Fleet(tmp_path, "good1", "bad1", "good2", "gone", "good3", "good4")
    done = fleet.run("preflight", environment=FREE, preflight_serial=[1, 2])
    assert done.returncode == 2, done.stdout + done.stderr
    left = ("gone", "good3", "good4")
    assert fleet.states() == {**dict.fromkeys(("good1", "bad1", "good2"), "assessed"),
                              **dict.fromkeys(left, "not_rolled_out")}
    assert recap(done.stdout, "bad1")["failed"] == 1 and recap(done.stdout, "good2")["failed"] == 0, done.stdout
    assert recap(done.stdout, "gone") is None and recap(done.stdout, "good3") is None
    assert "Not reached by the rollout: gone, good3, good4." in done.stdout


@pytest.mark.parametrize("wanted", [{}, {"node_assess_evidence": True}, {"node_report_evidence": True}],
                         ids=["default", "assess", "report"])
def test_facts_hold_the_evidence_that_is_asked_for(tmp_path, wanted):
    """Sections that no role reads stay out of the facts, and a report with evidence has them, after a fix too."""
    fleet = fleets.Fleet(tmp_path, "bad1")
    done = fleet.run("keep_facts.yml", preflight_fix="guarded", **wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    report = fleet.report("bad1")
    assert {row["outcome"] for row in report["findings"] if row["outcome"]} == {"fixed"}
    kept = set(re.findall(r"kept: (\w+)", done.stdout))
    assert {"node_assess_findings", "node_host"} <= kept
    assert ("node_flush_hooks" in kept) == bool(wanted)
    assert ("evidence" in report) == bool(wanted.get("node_report_evidence"))
    if "evidence" in report:
        assert not any(row["live"] for row in report["evidence"]["node_flush_hooks"]["hooks"])


def test_a_batch_that_may_lose_half_and_one_that_is_lost_as_a_whole(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "good1", "gone", "good2")
    done = fleet.run("preflight", preflight_serial=[2, 1], preflight_max_fail_percentage=50)
    assert fleet.states() == {"bad1": "assessed", "good1": "assessed", "gone": "not_reached",
                              "good2": "not_rolled_out"}, done.stdout + done.stderr
    assert (done.returncode, recap(done.stdout, "bad1")["failed"], recap(done.stdout, "gone")["failed"]) == (2, 1, 1)


@pytest.mark.parametrize("hosts, serial, limit, left_out, words", [
    (["bad1", "good1", "good2", "bad2", "good3"], 2, 1, {"good3"},
     "2 of the 5 hosts of the play blocked, failed or unreachable (bad1, bad2), and max_hosts is 1."),
    (["bad1", "good1"], 1, "100%", {"good1"},
     "1 of its 1 hosts blocked, failed or unreachable (bad1), and Ansible ends a play that loses a whole batch."),
], ids=["hosts", "batch"])
def test_a_rollout_ends_where_too_many_hosts_of_all_batches_are_lost(tmp_path, hosts, serial, limit, left_out, words):
    fleet = fleets.Fleet(tmp_path, *hosts)
    done = fleet.run("preflight", preflight_serial=serial, node_gate_max_hosts=limit)
    assert done.returncode == 2 and words in " ".join(done.stdout.split()), done.stdout + done.stderr
    assert {name for name, state in fleet.states().items() if state == "not_rolled_out"} == left_out


def test_check_mode_ends_no_rollout_and_a_callback_of_a_program_stays_parseable(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "good1")
    done = fleet.run("preflight", "--check", environment={"ANSIBLE_CALLBACK_PLUGINS": str(fleets.PLUGINS),
                                                          "ANSIBLE_STDOUT_CALLBACK": "machine"}, preflight_serial=[1])
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["hosts"]) == (2, ["bad1", "good1"]) and set(fleet.states().values()) == {"assessed"}
    assert ["HOOK001" in text and "good1" in text for text in shown["texts"] if text] == [True]


def test_roles_alone_under_a_strategy_without_lockstep(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "bad2", "good1", "gone")
    done = fleet.run("roles_alone.yml")
    assert fleet.states() == {"bad1": "assessed", "bad2": "assessed", "good1": "assessed",
                              "gone": "not_reached"}, done.stdout + done.stderr
    totals = json.loads((tmp_path / "report/fleet.json").read_text())["totals"]
    assert (totals["fit"], totals["pending"]) == (3, 0) and len(list((tmp_path / "report/nodes").iterdir())) == 4
    assert done.stdout.count("All nodes") == 1 and "gone was not reached" in done.stdout
    assert recap(done.stdout, "gone")["failed"] == 1, done.stdout
    assert done.stdout.count("set serial: 1 in the play") >= 2, done.stdout


def test_a_lost_host_of_a_role_alone_is_shown_and_fails_where_that_is_asked_for(tmp_path):
    fleet = fleets.Fleet(tmp_path, "gone", "gone2", "good1")
    done = fleet.run("unreachable_hosts.yml")
    assert done.returncode == 2 and recap(done.stdout, "good1")["failed"] == 0
    assert "gone was not assessed: unreachable:" in " ".join(done.stderr.split()), done.stderr
    assert recap(done.stdout, "gone")["ok"] >= 1 and recap(done.stdout, "gone")["failed"] == 1, done.stdout


def test_tags_of_a_role_and_of_the_report(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1")
    listed = fleet.run("preflight", "--list-tasks", "--tags", "report").stdout
    assert re.findall(r"^ +(\w+)\tTAGS", listed, re.M) == ["Fix", "Report"], listed
    done = fleet.run("preflight", "--tags", "harden_flush_hooks", preflight_fix="guarded")
    assert done.returncode == 0 and recap(done.stdout, "bad1")["changed"] == 1, done.stdout
    assert {"Fix", "Report", "Gate"} <= ran(done), done.stdout
    assert (tmp_path / "bad1/etc/cron.d/firewall").read_text() != fleets.CRON
    done = fleet.run("\n- hosts: all\n  gather_facts: false\n  roles: [kubenode.netfilter.harden_flush_hooks]\n",
                     "--tags", "harden_flush_hooks", harden_flush_hooks_state="absent")
    assert done.returncode == 0 and (tmp_path / "bad1/etc/cron.d/firewall").read_text() == fleets.CRON, done.stdout


@pytest.mark.parametrize("arguments, variables, words", [
    ((), {"preflight_hosts": "wrokers"}, "preflight_hosts: wrokers matches no host; did you mean workers?"),
    (("--tags", "reprot"), {"preflight_max_fail_percentage": 5},
     "--tags: the tag reprot is not known; did you mean report?")])
def test_wrong_values_are_refused_before_any_node_is_contacted(tmp_path, arguments, variables, words):
    done = fleets.Fleet(tmp_path, "good1").run("preflight", *arguments, **variables)
    assert done.returncode != 0 and "TASK" not in done.stdout, done.stdout
    assert words in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize("hosts, arguments, words", [
    ({}, (), "The inventory has no host. Add -i INVENTORY; for this machine: -i localhost, -c local"),
    ({"spare": {}}, ("-e", "preflight_hosts=spare"), "preflight_hosts: the group spare has no host. Add hosts to it")])
def test_a_play_without_hosts_is_one_sentence(tmp_path, hosts, arguments, words):
    inventory = {"all": {"children": hosts, "hosts": {"x": None} if hosts else {}}}
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    done = fleets.run_playbook(fleets.TOP / "playbooks/audit.yml", "-i", str(tmp_path / "hosts.json"), *arguments)
    shown = " ".join(done.stdout.split())
    assert done.returncode == 2 and "[ERROR]: " + words in shown, done.stdout
    assert "filter" not in shown and "Origin" not in shown and "Traceback" not in shown, done.stdout


def test_files_of_a_run_name_every_host_and_are_written_anew_where_a_rollout_ends(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "good1", "gone")
    done = fleet.run("preflight", preflight_serial=[1], node_report_formats=["csv", "junit", "markdown", "prometheus"])
    assert done.returncode == 2, done.stdout + done.stderr
    texts = {path.name: path.read_text() for path in (tmp_path / "report").iterdir() if path.is_file()}
    assert sorted(texts) == ["findings.csv", "fleet.json", "junit.xml", "kubenode_netfilter.prom", "summary.md"]
    assert '"good1","","","not_rolled_out"' in texts["findings.csv"] and texts["junit.xml"].count("<testsuite ") == 3
    assert ('kubenode_netfilter_node_reached{node="good1"} 0' in texts["kubenode_netfilter.prom"]
            and "1 blocked \\(bad1\\), 2 not rolled out" in texts["summary.md"])
    assert [path.name for path in (tmp_path / "report/nodes").iterdir()] == ["bad1.json"]
