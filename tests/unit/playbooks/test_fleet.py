# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output and reports of a real run over a fleet: groups by variables of the inventory, nodes that differ, progress."""

import json
import re

import fleets

HOOK = "flush hook /etc/cron.d/firewall"


def fleet_of(folder, racks):
    """A Fleet in which each host has an inventory variable that is a template."""
    fleet = fleets.Fleet(folder, *sorted(racks))
    path = folder / "hosts.json"
    inventory = json.loads(path.read_text(encoding="utf-8"))
    for name, variables in inventory["all"]["children"]["workers"]["hosts"].items():
        variables.update(zone=racks[name], rack="rack-{{ zone }}")
    path.write_text(json.dumps(inventory), encoding="utf-8")
    return fleet


def rolled_up(fleet):
    return json.loads((fleet.folder / "report" / "fleet.json").read_text(encoding="utf-8"))


def test_a_rollout_that_ends_keeps_the_baseline_and_the_groups(tmp_path):
    fleet = fleet_of(tmp_path, {"bad1": "a", "bad2": "a", "good1": "b", "good2": "b", "good3": "b"})
    done = fleet.run("preflight", preflight_serial=[4, 1], node_report_baseline="bad1", node_report_group_by=["rack"])
    found = rolled_up(fleet)
    assert fleet.states()["good3"] == "not_rolled_out", done.stdout + done.stderr
    scope = {check["check"]: check["scope"] for check in found["checks"]}["HOOK001"]
    assert (scope["by"], scope["value"], scope["judged"]) == ("rack", "rack-a", 4)
    assert "HOOK001 fails on all nodes with rack rack-a and no other (2 of 4 judged)" in " ".join(done.stdout.split())
    assert found["baseline"] == "bad1" and {row["by"]: row["others"] for row in found["outliers"]}[HOOK] == {
        "good1": "none", "good2": "none"}
    node = json.loads((tmp_path / "report/nodes/bad1.json").read_text(encoding="utf-8"))
    assert node["group_by"] == {"rack": "rack-a"} and list(node["items"]["hooks"]) == [HOOK.rpartition(" ")[2]]


def custom_stats(done):
    """The custom statistics that Ansible prints at the end of a run."""
    return json.loads(re.search(r"^\tRUN: (\{.*\})$", done.stdout, re.M).group(1))


def test_batches_that_went_well_are_a_line_and_the_last_one_shows_all(tmp_path):
    fleet = fleets.Fleet(tmp_path, "good1", "good2", "good3", "good4", "good5", "bad1")
    done = fleet.run("preflight", environment={"ANSIBLE_SHOW_CUSTOM_STATS": "1"}, preflight_serial=[1, 4, 1])
    assert re.findall(r"^  batch: .*$", done.stdout, re.M) == [
        "  batch: 1 fit; 1 of 6 hosts done",
        "  batch: 4 fit; 5 of 6 hosts done"], done.stdout + done.stderr
    assert done.stdout.count("All nodes") == done.stdout.count("  reports: ") == 1
    assert re.findall(r"^(\w+\d) is not fit", done.stdout, re.M) == ["bad1"] * 2
    text = " ".join(done.stdout.split())
    for words in (HOOK + ": iptables -t nat -F", "fail by severity: 1 ",
                  "worst hosts: bad1 (1", "blocked: --limit bad1 1 blocked (bad1), 5 fit"):
        assert words in text, done.stdout
    stats = custom_stats(done)
    ours = stats["kubenode_netfilter"]
    assert ours["blocked_hosts"] == ["bad1"] and ours["totals"]["hosts"] == 6 and ours["totals"]["pending"] == 0
    assert ours["folder"] == str(tmp_path / "report") and sum(ours["failing_findings"].values()) == 1
    assert stats["kubenode_netfilter_rollout"] == {"ended": False, "blocked": 1, "blocked_hosts": ["bad1"],
                                                   "not_rolled_out": 0}
