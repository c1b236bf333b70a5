# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPU time on the controller for 2,000 nodes, replayed from stored evidence: to judge them and to write json,
prometheus and html, compared with a budget; and how fast the page is in Chromium."""

import json
import resource
import sys
import time

from measure import TOP, Outcome, need_packages, workplace

NODES = {False: 2000, True: 60}
BUDGET = 0.010
KILOBYTES, MEGABYTES, PAINT, FILTER = 1000, 15, 2000, 200
CONTENDER, ALLOWED = "judge and reports", "10 ms a node"
# A page is loaded before it is painted.
PAINTED = """
new Promise((done) => new PerformanceObserver((list) => {
  list.getEntriesByName("first-contentful-paint").forEach((entry) => done(entry.startTime));
}).observe({type: "paint", buffered: true}))
"""
FILTERS = """
(() => {
  const box = document.getElementById("text");
  const type = (text) => { box.value = text; box.dispatchEvent(new Event("input", {bubbles: true})); };
  ["node-1", "-node-1", "conntrack"].forEach(type);
  document.querySelectorAll("#statuses input").forEach((status) => { status.checked = true; });
  type("");
  return performance.getEntriesByName("filter").map((entry) => entry.duration);
})()
"""


def variants():
    """Evidence as text: of a healthy node, of two nodes that are not healthy, and of a node without any module."""
    from healthy import healthy
    from report_runs import POLICY
    return [json.dumps(healthy(POLICY.module_names, modules))
            for modules in ({}, {"nf_conntrack": "loadable"}, {"xt_mark": "unknown"}, {"*": "absent"})]


def judged(count, texts):
    """({host: report}, CPU seconds); the time to read the stored evidence is not counted."""
    from report_runs import POLICY

    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess
    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fleet import rollup
    checks, reports, seconds = assess.chosen_checks(None), {}, 0
    for number in range(count):
        evidence = json.loads(texts[0 if number % 10 else 1 + number // 10 % 2])
        # Numbers differ from node to node, so their findings do not fold.
        evidence["node_conntrack"]["count"] = number
        start = time.process_time()
        facts = assess.exported(evidence, POLICY, checks, None)
        reports["node-%04d" % number] = rollup.node_report("node-%04d" % number, facts)
        seconds += time.process_time() - start
    return reports, seconds


def written(reports):
    """(page, CPU seconds) of all files that a run writes."""
    from report_runs import roll_up

    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import rendered
    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.files import render_json
    start = time.process_time()
    fleet = roll_up(reports)
    for each in (*reports.values(), fleet):
        render_json(each)
    page = rendered(["html", "prometheus"], reports, fleet)["report.html"]
    return page, time.process_time() - start


def drawn(page):
    """(milliseconds to the first paint, milliseconds of the slowest filter) in Chromium."""
    from chromium import DRAWN, chromium
    need_packages("chromium")
    with workplace() as folder, chromium() as tab:
        path = folder / "report.html"
        path.write_text(page, encoding="utf-8")
        tab.open(path)
        paint = tab.run(PAINTED)
        tab.until(DRAWN)
        filters = tab.run(FILTERS)
    return paint, max(filters)


def measure(smoke):
    sys.path[:0] = [str(TOP / "tests" / "fixtures"), str(TOP / "tests" / "checks"), str(TOP / ".build")]
    count, texts = NODES[smoke], variants()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reports, judging = judged(count, texts)
    page, writing = written(reports)
    kilobytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / count
    broken, seconds = judged(count // 10, texts[3:] * 3)
    seconds += written(broken)[1]
    failing = [row["status"] for row in next(iter(broken.values()))["findings"]].count("fail")
    paint, slowest = drawn(page)
    megabytes = len(page.encode()) / 1e6
    findings = sum(len(report["findings"]) for report in reports.values())
    outcome = Outcome("scale", "%d nodes with %d findings, CPU time of the controller against its budget" % (
        count, findings), CONTENDER, ALLOWED, {CONTENDER: [judging + writing], ALLOWED: [BUDGET * count]}, 1, True, [])
    outcome.notes.append("a node: judge %.2f ms, roll-up with json, prometheus and html %.2f ms, %.0f KB (below %d)" % (
        judging * 1000 / count, writing * 1000 / count, kilobytes, KILOBYTES))
    outcome.notes.append("a node with %d findings that fail: %.2f ms in all" % (failing, seconds * 1000 / len(broken)))
    met = "met" if megabytes <= MEGABYTES and paint < PAINT and slowest < FILTER else "missed"
    outcome.notes.append("the page: %.1f MB, first paint %.0f ms, slowest filter %.0f ms (at most %d MB, %d ms and "
                         "%d ms: %s)" % (megabytes, paint, slowest, MEGABYTES, PAINT, FILTER, met))
    return outcome
