# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real runs over a fleet: groups by variables of the inventory, nodes that differ, progress, and what each node is
sent, on Pythons of the controller's version and others."""

import json
import re
import sys

import fleets

HOOK = "flush hook /etc/cron.d/firewall"


def test_a_rollout_that_ends_keeps_the_baseline_and_the_groups(tmp_path):
    zones = {"bad1": "a", "bad2": "a", "good1": "b", "good2": "b", "good3": "b"}
    fleet = fleets.Fleet(tmp_path, *zones)
    # A variable of the inventory that is a template.
    fleet.give({"rack": "rack-{{ zone }}"}, **{name: {"zone": zone} for name, zone in zones.items()})
    done = fleet.run("preflight", preflight_serial=[4, 1], node_report_baseline="bad1", node_report_group_by=["rack"])
    found = json.loads((tmp_path / "report/fleet.json").read_text(encoding="utf-8"))
    assert fleet.states()["good3"] == "not_rolled_out", done.stdout + done.stderr
    scope = {check["check"]: check["scope"] for check in found["checks"]}["HOOK001"]
    assert (scope["by"], scope["value"], scope["judged"]) == ("rack", "rack-a", 4)
    assert "HOOK001 fails on all nodes with rack rack-a and no other (2 of 4 judged)" in " ".join(done.stdout.split())
    assert found["baseline"] == "bad1" and {row["by"]: row["others"] for row in found["outliers"]}[HOOK] == {
        "good1": "none", "good2": "none"}
    node = fleet.report("bad1")
    assert node["group_by"] == {"rack": "rack-a"} and list(node["items"]["hooks"]) == [HOOK.rpartition(" ")[2]]


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
    # The custom statistics that Ansible prints at the end of a run.
    stats = json.loads(re.search(r"^\tRUN: (\{.*\})$", done.stdout, re.M).group(1))
    ours = stats["kubenode_netfilter"]
    assert ours["blocked_hosts"] == ["bad1"] and ours["totals"]["hosts"] == 6 and ours["totals"]["pending"] == 0
    assert ours["folder"] == str(tmp_path / "report") and sum(ours["failing_findings"].values()) == 1
    assert stats["kubenode_netfilter_rollout"] == {"ended": False, "blocked": 1, "blocked_hosts": ["bad1"],
                                                   "not_rolled_out": 0}


# What a node's Python is sent goes by here. As another version it finds a wrong magic number in the guard.
INTERPRETER = """\
#!/bin/sh
cat >"{folder}/sent.$$"
grep -c "MAGIC_NUMBER != " "{folder}/sent.$$" >>"{folder}/bytecode"
{edit} "{folder}/sent.$$" | {python} "$@"
"""
OTHER = "sed 's/MAGIC_NUMBER != /MAGIC_NUMBER == /'"


def sent_in_an_audit(folder, hosts, other=None):
    """(states of the hosts, {host: [whether each program that it was sent was bytecode]}) of an audit of so many
    `hosts`, one after the other, of which that with the number `other` has another Python."""
    names = ["good%02d" % number for number in range(hosts)]
    fleet = fleets.Fleet(folder, *names)
    for number, name in enumerate(names):
        interpreter = folder / ("python-" + name)
        (folder / ("of-" + name)).mkdir()
        interpreter.write_text(INTERPRETER.format(folder=folder / ("of-" + name), python=sys.executable,
                                                  edit=OTHER if number == other else "cat"), encoding="utf-8")
        interpreter.chmod(0o755)
        fleet.give(**{name: {"ansible_python_interpreter": str(interpreter)}})
    done = fleet.run("audit", "--forks", "1", environment={"ANSIBLE_REMOTE_TMP": str(folder / "remote")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "remote").exists(), "a module over standard input needs no folder on the node"
    sent = {name: [line != "0" for line in (folder / ("of-" + name) / "bytecode").read_text().split()]
            for name in names}
    return fleet.states(), sent


def test_many_nodes_get_bytecode_until_one_has_another_python(tmp_path):
    states, sent = sent_in_an_audit(tmp_path, hosts=10, other=2)
    assert set(states.values()) == {"assessed"} and len(states) == 10
    assert [sent["good%02d" % number] for number in range(10)] == [[True]] * 2 + [[True, False]] + [[False]] * 7


def test_few_nodes_get_sources(tmp_path):
    states, sent = sent_in_an_audit(tmp_path, hosts=2)
    assert set(states.values()) == {"assessed"} and list(sent.values()) == [[False]] * 2
