# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a user beside an inventory, really run: table, gate, waiver, groups, every format, wrong files."""

import html
import json

import fleets

FORMATS = ["json", "terminal", "html", "sarif", "junit", "markdown", "csv", "prometheus"]
HOSTILE = "{{ lookup('pipe', 'touch ran') }} {% raw %} <script>alert(1)</script> ]]> \u202e =1+1"
ENTRY = {"id": "SITE-HOOK001", "title": "The site has no firewall script in cron", "severity": "high",
         "problem": "{subject} is a firewall script", "needs": ["node_flush_hooks.cron"], "kind": "none_of",
         "select": "node_flush_hooks.hooks[].{subject: path}", "observed": "{subject}", "expected": HOSTILE,
         "why": HOSTILE, "fix": {"manual": "rm {subject} # " + HOSTILE, "class": "guarded"}, "sources": [HOSTILE]}


def fleet_of(folder, *names, entry=None, **variables):
    """A Fleet whose hosts have the variables, and site.yml beside the inventory."""
    fleet = fleets.Fleet(folder, *names)
    (folder / "site.yml").write_text(json.dumps([entry or ENTRY]), encoding="utf-8")
    path = folder / "hosts.json"
    inventory = json.loads(path.read_text(encoding="utf-8"))
    inventory["all"]["vars"].update({"node_policy_check_files": ["site.yml"], "node_assess_sections": ["SITE-HOOK"],
                                     **variables})
    path.write_text(json.dumps(inventory), encoding="utf-8")
    return fleet


def report_of(fleet, host):
    return json.loads((fleet.folder / "report" / "nodes" / (host + ".json")).read_text(encoding="utf-8"))


def statuses(report):
    return {row["check"]: row["status"] for row in report["findings"]}


def test_a_check_of_the_user_is_in_the_table_in_every_format_and_in_the_gate(tmp_path):
    fleet = fleet_of(tmp_path, "good1", "bad1")
    done = fleet.run("audit", node_report_formats=FORMATS, node_gate_severity="high")
    assert '"checks": ["SITE-HOOK001"]' in done.stdout, done.stdout + done.stderr
    assert statuses(report_of(fleet, "bad1")) == {"SITE-HOOK001": "fail"}
    assert statuses(report_of(fleet, "good1")) == {"SITE-HOOK001": "pass"}
    row = report_of(fleet, "bad1")["findings"][0]
    written = HOSTILE.replace("\u202e", "\\u202e")
    assert (row["problem"], row["expected"]) == ("/etc/cron.d/firewall is a firewall script", written)
    user, = report_of(fleet, "bad1")["user_checks"]
    assert (user["file"], user["why"], user["class"]) == ("site.yml", written, "guarded")
    for name in ("report.html", "results.sarif", "junit.xml", "summary.md", "findings.csv"):
        text = (tmp_path / "report" / name).read_text(encoding="utf-8")
        # As it is read: without the escapes of HTML and Markdown.
        assert "SITE-HOOK001" in text and "lookup('pipe'" in html.unescape(text).replace("\\", ""), name
        assert "\u202e" not in text, name
        assert "<script>alert" not in text or name in ("results.sarif", "findings.csv"), name
    assert 'check="SITE-HOOK001"' in "".join(
        path.read_text(encoding="utf-8") for path in (tmp_path / "report").glob("*.prom"))
    sarif = json.loads((tmp_path / "report" / "results.sarif").read_text(encoding="utf-8"))
    rule, = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert rule["help"]["text"].endswith("Check: site.yml") and rule["helpUri"].endswith("docs/user-checks.md")
    assert not list(tmp_path.rglob("ran"))


def test_the_class_of_its_fix_and_a_waiver_count(tmp_path):
    fleet = fleet_of(tmp_path, "bad1", "bad2")
    done = fleet.run("audit", node_gate_classes=["safe"])
    assert done.returncode == 0 and "SITE-HOOK001" in done.stdout, done.stdout + done.stderr
    done = fleet.run("audit", node_policy_waivers=[
        {"check": "SITE-HOOK001", "host": "bad1", "reason": "r", "owner": "o", "expires": "2999-01-31"}],
        node_policy_severities={"SITE-HOOK001": "medium"})
    assert done.returncode == 2 and "bad2 is not fit for traffic: " in done.stdout, done.stdout + done.stderr
    assert statuses(report_of(fleet, "bad1")) == {"SITE-HOOK001": "waived"}
    assert report_of(fleet, "bad2")["findings"][0]["severity"] == "medium"


def test_two_groups_may_have_different_checks(tmp_path):
    fleet = fleet_of(tmp_path, "good1", "bad1")
    path = tmp_path / "hosts.json"
    inventory = json.loads(path.read_text(encoding="utf-8"))
    other = dict(ENTRY, id="EDGE-HOOK001")
    (tmp_path / "edge").mkdir()
    (tmp_path / "edge" / "checks.yml").write_text(json.dumps([other]), encoding="utf-8")
    inventory["all"]["children"]["edge"] = {"hosts": {"bad1": None}, "vars": {
        "node_policy_check_files": ["edge"], "node_assess_sections": ["EDGE-HOOK"]}}
    path.write_text(json.dumps(inventory), encoding="utf-8")
    done = fleet.run("audit", node_report_formats=["json", "html"])
    assert statuses(report_of(fleet, "bad1")) == {"EDGE-HOOK001": "fail"}, done.stdout + done.stderr
    assert statuses(report_of(fleet, "good1")) == {"SITE-HOOK001": "pass"}
    rolled = json.loads((tmp_path / "report" / "fleet.json").read_text(encoding="utf-8"))
    assert [(row["check"], row["fail"]) for row in rolled["checks"]] == [("EDGE-HOOK001", ["bad1"])]


def test_a_mistake_is_told_before_a_host_is_touched(tmp_path):
    fleet = fleet_of(tmp_path, "gone", entry=dict(ENTRY, id="HOOK001"))
    done = fleet.run("audit")
    assert done.returncode == 2 and "UNREACHABLE" not in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert ("site.yml: HOOK001: the id belongs to a check of the collection; did you mean SITE-HOOK001?"
            in " ".join((done.stdout + done.stderr).split())), done.stdout


def test_a_fix_of_the_collection_has_a_check_of_the_user_judged_again(tmp_path):
    entry = dict(ENTRY, select="node_flush_hooks.hooks[?live].{subject: path}")
    fleet = fleet_of(tmp_path, "bad1", entry=entry, node_assess_sections=["HOOK", "SITE-HOOK"])
    done = fleet.run("audit")
    assert statuses(report_of(fleet, "bad1"))["SITE-HOOK001"] == "fail", done.stdout + done.stderr
    done = fleet.run("preflight", preflight_fix="guarded")
    found = statuses(report_of(fleet, "bad1"))
    assert (found["HOOK001"], found["SITE-HOOK001"]) == ("pass", "pass"), done.stdout + done.stderr
    assert report_of(fleet, "bad1")["user_checks"][0]["check"] == "SITE-HOOK001"
