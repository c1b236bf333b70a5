# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as metrics for the textfile collector of node_exporter. PRIVATE to the collection.

Texts and subjects are no labels: their number has no bound. One timestamp or parse error would make node_exporter drop
the whole file.
"""

import datetime

from .. import _finding
from .._causes.verdict import STATES, blocking_of, blocks
from .._fleet.overview import state_of
from .text import escaped

# The value of a check is the value of its worst finding.
_VALUES = {_finding.PASS: 0, _finding.SKIP: 1, _finding.WAIVED: 2, _finding.UNKNOWN: 3, _finding.FAIL: 4}
_PREFIX = "kubenode_netfilter_"
# Numbers of the evidence; a number that is not known on a node has no sample for that node.
_NUMBERS = {
    "conntrack_entries": "Connections in the conntrack table.",
    "conntrack_limit": "Connections that fit into the conntrack table (nf_conntrack_max), 0 for no limit.",
    "iptables_rules": "Rules of iptables of both families and backends.",
    "iptables_kube_rules": "Rules of iptables in KUBE-* chains.",
    "service_addresses": "Service addresses in the rules of kube-proxy.",
    "xtables_lock_waiters": "Processes that wait for the xtables lock.",
    "xtables_lock_wait_seconds": "Longest wait for the xtables lock.",
    "kube_proxy_sync_age_seconds": "Age of the last successful sync of kube-proxy, of the family with the oldest one.",
    "kube_proxy_change_wait_seconds": "Time that the oldest change has waited for a sync of kube-proxy, 0 for none.",
}


def render_prometheus(reports: dict, fleet: dict) -> str:
    """Gauges, each with HELP and TYPE: when the run began, whether a node was reached, its verdict and causes, its
    findings by status, the status of each check, and numbers of the evidence."""
    started = datetime.datetime.fromisoformat(fleet["started"]).timestamp()
    nodes = [(row["host"], reports.get(row["host"])) for row in fleet["hosts"]]
    judged = [(host, report) for host, report in nodes if report]
    lines = _metric("run_timestamp_seconds", "Start of the run that wrote this file.", [({}, int(started))])
    lines += _metric("node_reached", "1 where the node was assessed, 0 where it was not.",
                     [({"node": host}, int(bool(report and report["summary"]["reached"]))) for host, report in nodes])
    lines += _metric("node_verdict", "1 for the state of a node by the settings of the gate, 0 for the other states.",
                     [({"node": row["host"], "state": state}, int(state_of(row) == state)) for row in fleet["hosts"]
                      for state in STATES])
    lines += _metric("node_causes", "Causes of the failing findings of a node, by whether they block.",
                     [({"node": host, "blocks": word}, number) for host, report in judged
                      if report["summary"]["reached"] for word, number in _causes(report).items()])
    lines += _metric("findings", "Findings of a node by status.",
                     [({"node": host, "status": status}, report["summary"][status]) for host, report in judged
                      for status in _VALUES])
    lines += _metric("check_status", "Worst finding of a check on a node: 0 pass, 1 skip, 2 waived, 3 unknown, 4 fail.",
                     [({"node": host, "check": check, "severity": severity}, value)
                      for host, report in judged for (check, severity), value in sorted(_checks(report).items())])
    for name, text in _NUMBERS.items():
        lines += _metric(name, text, [({"node": host}, report["numbers"][name]) for host, report in judged
                                      if report["numbers"][name] is not None])
    lines += _metric("conntrack_peak_entries",
                     "Highest number of conntrack entries in this run and earlier reports.",
                     # The peak is 0 where it is not known.
                     [({"node": host}, report["conntrack_peak"]) for host, report in judged
                      if report["conntrack_peak"]])
    lines += _metric("waiver_end_timestamp_seconds",
                     "First end of the waivers that match findings of a check on a node.",
                     [({"node": host, "check": check}, end) for host, report in judged
                      for check, end in sorted(_waiver_ends(report).items())])
    lines += _metric("build_info", "Version of the collection that wrote this file.", [(
        {"version": fleet["tool"]["version"]}, 1)])
    return "".join(line + "\n" for line in lines)


def _causes(report):
    blocking, found = blocking_of(report["summary"]["verdict"]), {"true": 0, "false": 0}
    for cause in report["causes"]:
        found["true" if blocks(cause, blocking) else "false"] += 1
    return found


def _waiver_ends(report):
    """{check: when the first of its waivers ends}: a waiver is good until the end of its last day in UTC."""
    found = {}
    for row in report["summary"].get("waivers", ()):
        if row["matched"]:
            last = datetime.datetime.strptime(row["expires"] + "Z", "%Y-%m-%d%z")
            end = int((last + datetime.timedelta(days=1)).timestamp())
            found[row["check"]] = min(found.get(row["check"], end), end)
    return found


def _checks(report):
    found = {}
    for row in report["findings"]:
        key = row["check"], row["severity"]
        found[key] = max(found.get(key, 0), _VALUES[row["status"]])
    return found


def _metric(name, text, samples):
    if not samples:
        return []
    head = ["# HELP %s%s %s" % (_PREFIX, name, text), "# TYPE %s%s gauge" % (_PREFIX, name)]
    return head + ["%s%s%s %s" % (_PREFIX, name, _labels(labels), value) for labels, value in samples]


def _labels(labels):
    pairs = ['%s="%s"' % (name, escaped(value).replace("\\", "\\\\").replace('"', '\\"'))
             for name, value in labels.items()]
    return "{%s}" % ",".join(pairs) if pairs else ""
