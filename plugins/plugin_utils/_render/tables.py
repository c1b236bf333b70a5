# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tables a run prints. PRIVATE to the collection."""

from collections.abc import Collection

from .. import _finding
from .summary import batch_text, went_well
from .terminal import ORDER, blocks_of, render_fleet, render_node
from .text import READ_ONE_BY_ONE, wrapped

DETAILS = ("auto", "all", "failing", "none")


def render_batch(reports: list[dict], batch: Collection[str], fleet: dict, details: str, width: int, color: bool,
                 folder: "str | None" = None, limit_file: "str | None" = None) -> list[str]:
    """The texts of one batch of a play, whose hosts are `batch`: one line if other batches follow and all went well,
    otherwise the tables. `reports` are all reports of the play so far; earlier batches may have been printed as one
    line."""
    mine = [report for report in reports if report["host"] in batch]
    if len(fleet["hosts"]) > READ_ONE_BY_ONE and fleet["totals"]["pending"] and went_well(fleet, batch):
        tables = render_tables(mine, None, details, width, color) if details in ("all", "failing") else []
        return tables + ["\n".join("  " + line for line in wrapped(batch_text(fleet, batch), width - 2))]
    whole = details == "auto" and len(fleet["hosts"]) > READ_ONE_BY_ONE
    return render_tables(reports if whole else mine, fleet, details, width, color, folder, limit_file, reports)


def render_tables(reports: list[dict], fleet: "dict | None", details: str, width: int, color: bool,
                  folder: "str | None" = None, limit_file: "str | None" = None,
                  of_play: "list[dict] | None" = None) -> list[str]:
    """The tables as texts, with the roll-up and the folder of the reports last. For a single host the roll-up is shown
    only where the host has no table. Pass None as `fleet` where the roll-up is not complete. `of_play` are the reports
    of all hosts of the play, where `reports` are the reports of some hosts."""
    folds = details == "auto" and len(reports) > READ_ONE_BY_ONE
    shared = _shared(reports) if folds else {}
    shown = [report for report in reports if _is_shown(report, details, folds, shared)]
    rolled_up = fleet and (len(fleet["hosts"]) > 1 or not shown)
    tables = [render_node(report, width, color, shared, not rolled_up, details == "all") + "\n" for report in shown]
    if rolled_up:
        tables.append(render_fleet(fleet, width, color, shared, limit_file, reports if of_play is None else of_play,
                                   details))
    return tables + (["  reports: %s" % folder] if folder else [])


def _is_shown(report, details, folds, shared):
    """Whether a host has a table; with `folds` only if it has a block that no other host has."""
    if folds:
        return report["summary"]["reached"] and any(block not in shared for block in blocks_of(report))
    return details in ("auto", "all") or (details == "failing"
                                          and report["summary"]["verdict"]["state"] in ("blocked", "not_reached"))


def _shared(reports):
    """{Block: hosts} of the Blocks that two hosts or more have in common, in the order that they have on a screen."""
    found, places = {}, {}
    for report in reports:
        for place, block in enumerate(blocks_of(report) if report["summary"]["reached"] else ()):
            found.setdefault(block, []).append(report["host"])
            places[block] = min(place, places.get(block, place))
    blocks = sorted((block for block in found if len(found[block]) > 1), key=lambda block: (
        ORDER.index(block.status), places[block], -_finding.SEVERITIES.index(block.severity), block.check, block.texts))
    return {block: found[block] for block in blocks}
