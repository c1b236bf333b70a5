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
    fleet.give({"node_policy_check_files": ["site.yml"], "node_assess_sections": ["SITE-HOOK"], **variables})
    return fleet


def statuses(fleet, host):
    return {row["check"]: row["status"] for row in fleet.report(host)["findings"]}


def test_a_check_of_the_user_is_in_the_table_in_every_format_and_in_the_gate(tmp_path):
    fleet = fleet_of(tmp_path, "good1", "bad1")
    done = fleet.run("audit", node_report_formats=FORMATS, node_gate_severity="high")
    assert '"checks": ["SITE-HOOK001"]' in done.stdout, done.stdout + done.stderr
    assert [statuses(fleet, host)["SITE-HOOK001"] for host in ("bad1", "good1")] == ["fail", "pass"]
    report, written = fleet.report("bad1"), HOSTILE.replace("\u202e", "\\u202e")
    row, user = report["findings"][0], report["user_checks"][0]
    assert (row["problem"], row["expected"]) == ("/etc/cron.d/firewall is a firewall script", written)
    assert (user["file"], user["why"], user["class"]) == ("site.yml", written, "guarded")
    for name in ("report.html", "results.sarif", "junit.xml", "summary.md", "findings.csv"):
        text = (tmp_path / "report" / name).read_text(encoding="utf-8")
        # As it is read: without the escapes of HTML and Markdown.
        read = html.unescape(text).replace("\\", "")
        assert "SITE-HOOK001" in read and "lookup('pipe'" in read, name
        assert "\u202e" not in text, name
        assert "<script>alert" not in text or name in ("results.sarif", "findings.csv"), name
    assert 'check="SITE-HOOK001"' in (tmp_path / "report/kubenode_netfilter.prom").read_text(encoding="utf-8")
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
    assert statuses(fleet, "bad1") == {"SITE-HOOK001": "waived"}
    assert fleet.report("bad2")["findings"][0]["severity"] == "medium"


def test_two_groups_may_have_different_checks(tmp_path):
    fleet = fleet_of(tmp_path, "good1", "bad1")
    (tmp_path / "edge").mkdir()
    (tmp_path / "edge" / "checks.yml").write_text(json.dumps([dict(ENTRY, id="EDGE-HOOK001")]), encoding="utf-8")
    fleet.give(groups={"edge": {"hosts": {"bad1": None}, "vars": {
        "node_policy_check_files": ["edge"], "node_assess_sections": ["EDGE-HOOK"]}}})
    done = fleet.run("audit", node_report_formats=["json", "html"])
    assert statuses(fleet, "bad1") == {"EDGE-HOOK001": "fail"}, done.stdout + done.stderr
    assert statuses(fleet, "good1") == {"SITE-HOOK001": "pass"}
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
    done = fleet.run("preflight", preflight_fix="guarded")
    found = statuses(fleet, "bad1")
    assert (found["HOOK001"], found["SITE-HOOK001"]) == ("pass", "pass"), done.stdout + done.stderr
    assert fleet.report("bad1")["user_checks"][0]["check"] == "SITE-HOOK001"
