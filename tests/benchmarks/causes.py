# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long joining the findings of a node to causes takes, compared with judging all checks of that node.

The node has half of the incidents of tests/incidents at once, as no real node has: more causes hold there.
"""

import contextlib
import statistics
import sys

from measure import TOP, Outcome, take_turns

ROUNDS = {False: 15, True: 2}
SECONDS_LIMIT = 0.010
CAUSES, CHECKS = "causes", "all checks"
# A node is judged in at most twice the time with its causes.
LIMIT = 1.0


def measure(smoke):
    sys.path[:0] = [str(TOP / ".build"), *(str(TOP / "tests" / name) for name in ("unit", "fixtures"))]
    import incidents

    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._causes.judge import causes_of
    from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess

    rows = []
    for row in incidents.incidents():
        if "like" in row and not row.get("alone"):
            # Two states may need different values of one key.
            with contextlib.suppress(incidents.Clash):
                incidents.state_of(*rows, row)
                rows.append(row)
    evidence, policy = incidents.state_of(*rows[::2])
    findings = assess.judged(evidence, policy, incidents.checks())[0]
    found = causes_of(findings, evidence, incidents.HOST)
    seconds = take_turns({CAUSES: lambda: causes_of(findings, evidence, incidents.HOST),
                          CHECKS: lambda: assess.judged(evidence, policy, incidents.checks())}, ROUNDS[smoke])
    median = statistics.median(seconds[CAUSES])
    failing = sum(row["status"] == "fail" for row in findings)
    what = "%d failing findings joined to %d causes, against judging all checks" % (failing, len(found))
    return Outcome("causes", what, CAUSES, CHECKS, seconds, LIMIT, True, [
        "%.1f ms a node, target at most %.0f ms: %s" % (
            median * 1000, SECONDS_LIMIT * 1000, "met" if median <= SECONDS_LIMIT else "missed")])
