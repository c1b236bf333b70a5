# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first process of the namespaces of a run: brings the node into one state after the other.

    inside.py WORK TREES BINARIES CGROUP STATE...     writes a row for each state, see table.py
"""

import contextlib
import re
import subprocess
import sys
import time

import actions
import audit
import table
from one_node import Cluster
from node import NotDone


# Playbooks that mend, with their variables.
PLAYBOOKS = ("preflight", "repair")


class Run:
    """`reports` is the folder for the reports of the collection."""

    def __init__(self, cluster, reports):
        self.cluster, self.reports = cluster, reports
        self.mode = None
        self.clean = False

    def row(self, state):
        """The observations of a state, as data of a row."""
        row = {"state": state["state"]}
        began = time.monotonic()
        try:
            self._node_for(state)
            row["versions"] = self.cluster.versions()
            self.clean = False
            actions.take(self.cluster, state.get("does", ()))
            row["lost"] = self.cluster.lost_requests()
            report = self._judge("broken")
            row.update(_reported(state, report))
            if "mends" in state:
                row["printed"], row["mend_problem"] = self._mend(state["mends"], report)
                after = self.cluster.lost_requests()
                report = self._judge("mended")
                row.update(lost_after=after, left=[audit.text_of(one) for one in audit.failing(report, "high")])
            self.clean = not (table.loses(row.get("lost_after", row["lost"])) or audit.failing(report, "high"))
            row["green"] = self.clean
        except (NotDone, OSError, subprocess.SubprocessError) as error:
            row["not_done"] = "%s" % error
            self.clean = False
        row["seconds"] = round(time.monotonic() - began)
        return row

    def _node_for(self, state):
        mode = state.get("mode", "iptables")
        if not self.clean or mode != self.mode:
            self.cluster.start_node(mode)
            self.mode = mode

    def _judge(self, name, playbook="audit", options=None):
        return audit.judge(self.cluster.node, self.reports / name, playbook, options)

    def _mend(self, mends, report):
        """(what was printed and done, the reason why it was not done completely)."""
        printed = []
        for mend in mends:
            playbook = next((name for name in PLAYBOOKS if name in mend), None)
            if playbook:
                report = self._judge(playbook, playbook, mend[playbook])
                printed.append("%s with %s: rc %d, %d s" % (
                    playbook, ", ".join("%s=%s" % pair for pair in mend[playbook].items()), report["status"],
                    report["seconds"]))
            elif "check" in mend:
                command = _printed(report, mend)
                if command is None:
                    return printed, "%s does not print %s" % (mend["check"], mend["prints"])
                printed.append(command)
                try:
                    actions.take(self.cluster, mend.get("does", [{"run": command}]))
                except NotDone as error:
                    return printed, "%s" % error
            else:
                actions.take(self.cluster, [mend])
        return printed, None


def _printed(report, mend):
    """The command that the fix of that check prints, or None."""
    for row in report["findings"]:
        found = row["check"] == mend["check"] and re.search(mend["prints"], row["remediation"])
        if found:
            return found.group(0)
    return None


def _reported(state, report):
    failing = audit.failing(report)
    named = [row for row in failing if row["check"] in state.get("cause", ()) and row["severity"] == "high"
             and re.search(state.get("names", ""), audit.text_of(row))]
    return {
        "first": "%s %s" % (failing[0]["check"], failing[0]["problem"]) if failing else None,
        "cause": "%s %s" % (named[0]["check"], named[0]["problem"]) if named else None,
        "failing": ["%s (%s) %s" % (row["check"], row["severity"], row["subject"]) for row in failing],
        "unknown": sorted({row["check"] for row in report["findings"] if row["status"] == "unknown"}),
        "place": report["summary"].get("place"), "audit_seconds": round(report["seconds"], 1)}


def main():
    work, tree, folder, parent, *wanted = sys.argv[1:]
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", work], check=True)
    states = [state for state in table.read_states() if state["state"] in wanted]
    cluster = Cluster(work, tree, folder, parent)
    wrong = 0
    with contextlib.ExitStack() as stack:
        stack.callback(cluster.stop)
        try:
            cluster.start()
        except NotDone as error:
            sys.exit("real-node: the control plane did not start: %s" % error)
        run = Run(cluster, table.RESULTS / "reports")
        for state in states:
            row = run.row(state)
            table.keep(row)
            wrong += not table.is_right(state, row)
            print("%-50s %s" % (state["state"], table.said(state, row)), flush=True)
    print("%d passed, %d failed" % (len(states) - wrong, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
