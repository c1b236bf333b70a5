# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tables a run prints. PRIVATE to the collection."""

from .. import _finding
from .terminal import blocks_of, render_fleet, render_node

DETAILS = ("auto", "all", "failing", "none")
# So many tables are read one by one; more are folded.
_READ_ONE_BY_ONE = 5


def render_tables(reports, fleet, details, width, color):
    """The tables as texts, the roll-up last; of a single host it is shown where the host has no table. `fleet` is None
    where the roll-up is not complete."""
    folds = details == "auto" and len(reports) > _READ_ONE_BY_ONE
    shared = _shared(reports) if folds else {}
    shown = [report for report in reports if _is_shown(report, details, folds, shared)]
    tables = [render_node(report, width, color, shared) + "\n" for report in shown]
    return tables + ([render_fleet(fleet, width, color, shared)]
                     if fleet and (len(fleet["hosts"]) > 1 or not tables) else [])


def _is_shown(report, details, folds, shared):
    """Whether a host has a table: with `folds` where it has a block that no other host has."""
    if folds:
        return report["summary"]["reached"] and any(block not in shared for block in blocks_of(report))
    return details in ("auto", "all") or (details == "failing"
                                          and (report["summary"]["fail"] > 0 or not report["summary"]["reached"]))


def _shared(reports):
    """{Block: hosts} of what two hosts or more have in common, what is worst first."""
    found = {}
    for report in reports:
        for block in blocks_of(report) if report["summary"]["reached"] else ():
            found.setdefault(block, []).append(report["host"])
    blocks = sorted((block for block, hosts in found.items() if len(hosts) > 1), key=lambda block: (
        -_finding.STATUSES.index(block.status), -_finding.SEVERITIES.index(block.severity), block.check, block.texts))
    return {block: found[block] for block in blocks}
