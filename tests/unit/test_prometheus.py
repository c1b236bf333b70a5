# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The textfile as promtool and the parser of Prometheus read it, and the alerts that docs/reports.md has for it."""

import pathlib
import re
import textwrap

import golden_run
import promtool
import pytest
import report_runs
import yaml
from prometheus_client.parser import text_string_to_metric_families

PREFIX = "kubenode_netfilter_"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reports.md"


@pytest.fixture(scope="module")
def metrics():
    reports, fleet = report_runs.everything()
    reports = dict(reports, **{"with-evidence": report_runs.report_of("with-evidence")})
    text = report_runs.text_of("prometheus", reports, report_runs.roll_up(reports, lost=["gone"]))
    return {metric.name: metric for metric in text_string_to_metric_families(text)}


def test_every_metric_has_a_help_and_is_named_by_the_rules(metrics):
    for name, metric in metrics.items():
        assert re.fullmatch(PREFIX + "[a-z][a-z_]*[a-z]", name) and metric.type == "gauge"
        assert metric.documentation.endswith(".") and metric.samples
        # A gauge is no counter, histogram or summary, and a unit is a base unit and stands in full.
        assert not re.search("_(total|count|sum|bucket|info_.*|ms|sec|secs|minutes|percent|kb|mb)$", name)
        assert all(set(sample.labels) <= {"node", "check", "severity", "status", "state", "blocks", "version"}
                   for sample in metric.samples)
        series = [tuple(sorted(sample.labels.items())) for sample in metric.samples]
        assert len(set(series)) == len(series), "a series is written once"


def test_numbers_of_the_evidence(metrics):
    expected = {"conntrack_entries": 20480, "conntrack_limit": 131072, "iptables_rules": 384, "iptables_kube_rules": 0,
                "service_addresses": 31, "xtables_lock_waiters": 0, "xtables_lock_wait_seconds": 0,
                "kube_proxy_sync_age_seconds": 300.9, "kube_proxy_change_wait_seconds": 0}
    assert {name: sample.value for name in expected for sample in metrics[PREFIX + name].samples
            if sample.labels["node"] == "with-evidence"} == expected


@pytest.mark.parametrize("waivers, ends", [
    ([("2026-12-08", True), ("2026-12-07", True)], {"HOOK001": 1796688000}), ([("2026-12-08", False)], {}),
    ([("2026-12-08", None)], {})])
def test_a_waiver_ends_with_its_last_day_in_utc(waivers, ends):
    known = report_runs.report("a", report_runs.finding())
    known["summary"]["waivers"] = [{"check": "HOOK001", "host": "*", "subject": "*", "owner": "net", "days_left": 1,
                                    "expires": expires, "matched": matched} for expires, matched in waivers]
    text = report_runs.text_of("prometheus", *report_runs.run(known))
    assert dict(re.findall(r'waiver_end_timestamp_seconds\{node="a",check="(\w+)"\} (\d+)', text)) == {
        check: str(end) for check, end in ends.items()}


def test_a_number_that_is_not_known_has_no_sample():
    text = report_runs.text_of("prometheus", *report_runs.run(dict(report_runs.report_of("a"), numbers=dict.fromkeys(
        report_runs.report_of("a")["numbers"]))))
    assert "conntrack_entries" not in text and "conntrack_peak_entries" in text
    assert "conntrack_peak_entries" not in report_runs.text_of("prometheus", *report_runs.run(
        report_runs.report_of("a", not_reached="no route to host")))


def textfiles():
    known = golden_run.reports()
    runs = [(known, golden_run.fleet(known)), report_runs.everything(), report_runs.run(lost=["gone"]),
            report_runs.run()]
    runs += [report_runs.run(report_runs.report("a" + text, report_runs.finding("KMOD003", text, "fail", reason=text)))
             for text in report_runs.HOSTILE]
    return [report_runs.text_of("prometheus", *each) for each in runs]


def test_promtool_finds_nothing():
    assert [promtool.run("check", "metrics", given=text) for text in textfiles()] == [(0, "")] * len(textfiles())


@pytest.mark.parametrize("found, given, words", [
    ("kubenode_netfilter_findings", "kubenode_netfilter_findings_total", "non-counter metrics should not have"),
    ('node="node-1.example"', 'node="node-1"example"', "error while linting"),
    ("# HELP kubenode_netfilter_node_reached 1 where", "# kubenode_netfilter_node_reached 1 where", "no help text")])
def test_promtool_finds_what_is_wrong(found, given, words):
    text = textfiles()[0]
    assert found in text
    status, printed = promtool.run("check", "metrics", given=text.replace(found, given))
    assert status and words in printed


def alerts():
    """The alerts of the page."""
    blocks = re.findall(r"(?m)^(?:    .*\n)+", PAGE.read_text(encoding="utf-8"))
    (block,) = [textwrap.dedent(block) for block in blocks if "- alert:" in block]
    return yaml.safe_load(block)


def test_the_alerts_of_the_page_fire_when_they_should(tmp_path):
    rules = {"groups": [{"name": "kubenode", "rules": alerts()}]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    status, printed = promtool.run("check", "rules", tmp_path / "rules.yml")
    assert status == 0 and "%d rules found" % len(alerts()) in printed
    # A sample each minute of the run of tests/fixtures/golden, whose times count from 1970 here.
    kept = (golden_run.FOLDER / "kubenode_netfilter.prom").read_text(encoding="utf-8")
    series = [line.rpartition(" ") for line in kept.splitlines() if not line.startswith("#")]
    shift = next(int(value) for name, _blank, value in series if name == PREFIX + "run_timestamp_seconds")
    samples = [{"series": name, "values": "%sx%d" % (
        int(value) - shift if "timestamp_seconds" in name else value, 3 * 1440)} for name, _blank, value in series]
    known = {alert["alert"]: alert for alert in alerts()}

    def fired(name, minutes, *found):
        """What the alert shows for series with these labels."""
        summary = known[name]["annotations"]["summary"]
        shown = [{"exp_labels": dict(labels, **known[name]["labels"]), "exp_annotations": {"summary": re.sub(
            r"{{ \$labels\.(\w+) }}", lambda match, of=labels: of[match[1]], summary)}} for labels in found]
        return {"eval_time": "%dm" % minutes, "alertname": name, "exp_alerts": shown}

    failing = [{"check": check, "node": node} for node, check in (
        ("node-3<b>\\x1b[2J|=1", "HOOK001"), ("node-2.example", "KMOD003"))]
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "1h", "tests": [{
        "interval": "1m", "input_series": samples, "alert_rule_test": [
            fired("KubenodeNetfilterStale", 2 * 1440), fired("KubenodeNetfilterStale", 2 * 1440 + 60, {}),
            fired("KubenodeNetfilterCheckFails", 60, *failing),
            fired("KubenodeNetfilterBlocked", 60, {"node": "node-2.example", "state": "blocked"},
                  {"node": "node-3<b>\\x1b[2J|=1", "state": "blocked"}),
            # The waiver ends 15.5 days after the run.
            fired("KubenodeNetfilterWaiverEnds", 35 * 60),
            fired("KubenodeNetfilterWaiverEnds", 37 * 60, {"node": "node-2.example", "check": "HOOK001"}),
            fired("KubenodeNetfilterNotReached", 60, {"node": "lost-5"}, {"node": "node-4"})]}]}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    status, printed = promtool.run("test", "rules", tmp_path / "tests.yml")
    assert status == 0, printed
