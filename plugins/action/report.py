# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of kubenode.netfilter.report: write and show what the run found, for a whole batch or host by host.

Which tables a run prints.
"""

import contextlib
import functools
import os
from collections.abc import Collection

from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding
from ..plugin_utils._calls.action import Action
from ..plugin_utils._fleet import overview, rollup
from ..plugin_utils._plain import plain
from ..plugin_utils._play import play, repository
from ..plugin_utils._play.play import templating
from ..plugin_utils._policy import limits, policies
from ..plugin_utils._render.files import FORMATS, LIMIT, TELL_CHANGES, render_json, rendered
from ..plugin_utils._render.summary import batch_text, went_well
from ..plugin_utils._render.terminal import ORDER, blocks_of, render_fleet, render_node
from ..plugin_utils._render.text import READ_ONE_BY_ONE, sentence, wrapped
from ..plugin_utils._runs import earlier, store
from ..plugin_utils._runs.pseudonyms import Pseudonyms

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
    shared = _is_shared(reports) if folds else {}
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


def _is_shared(reports):
    """{Block: hosts} of the Blocks that two hosts or more have in common, in the order that they have on a screen."""
    found, places = {}, {}
    for report in reports:
        for place, block in enumerate(blocks_of(report) if report["summary"]["reached"] else ()):
            found.setdefault(block, []).append(report["host"])
            places[block] = min(place, places.get(block, place))
    blocks = sorted((block for block in found if len(found[block]) > 1), key=lambda block: (
        ORDER.index(block.status), places[block], -_finding.SEVERITIES.index(block.severity), block.check, block.texts))
    return {block: found[block] for block in blocks}


# The name of the custom statistics of a run.
STATS = "kubenode_netfilter"
# Where output goes into a file or a pipe.
WIDTH = 120
# No terminal is wider; a larger number in a variable is a mistake.
_WIDEST = 10000


def _terminal_width():
    with contextlib.suppress(OSError, ValueError):
        # A terminal without a known size reports 0 columns.
        return os.get_terminal_size(1).columns or WIDTH
    return WIDTH


# Workers are cut off from the terminal. A strategy imports this file in the parent process, which is not.
TERMINAL = _terminal_width()


class ActionModule(Action):
    """Runs on the controller alone; it writes in check mode too, a report is what an audit is for.

    With `run_once` it reports the whole batch. A strategy without lockstep runs it for each host all the same: then it
    reports that host.
    """

    _requires_connection = False
    OPTIONS = {
        "folder": {"type": "str"},
        "formats": {"type": "list", "elements": "str", "choices": list(FORMATS)},
        "evidence": {"type": "bool"},
        "details": {"type": "str", "choices": list(DETAILS)},
        "baseline": {"type": "str"},
        "keep": {"type": "int"},
        "group_by": {"type": "list", "elements": "str"},
        "pseudonyms": {"type": "bool"},
    }

    def work(self, arguments, task_vars):
        arguments = dict(policies.role_settings("node_report", task_vars, templating(self._templar)),
                         **{name: value for name, value in arguments.items() if value is not None})
        keep = 10 if arguments.get("keep") is None else arguments["keep"]
        limits.refuse_wrong_value("node_report_keep", keep, label="keep")
        limits.refuse_wrong_value("node_report_folder", arguments["folder"], label="report: folder")
        once = play.runs_once(self._task)
        names, batch, alive = play.hosts_of(task_vars)
        reports = rollup.reports_of(names, task_vars["hostvars"], arguments.get("evidence", False),
                                    arguments.get("group_by"))
        # Where hosts keep in step, each that is still in the batch has had its turn.
        pending = {name for name in alive if name not in reports and not (once and name in batch)}
        baseline = arguments.get("baseline") or None
        play.refuse_stranger("baseline", baseline, task_vars)
        fleet = rollup.roll_up(names, reports, pending, baseline=baseline, inventory=repository.path_in_repository(
            plain(task_vars.get("ansible_inventory_sources"))))
        mine = [name for name in (batch if once else [plain(task_vars["inventory_hostname"])]) if name in reports]
        formats = ["json", "terminal"] if arguments.get("formats") is None else arguments["formats"]
        files, problems, complete, shared = [], [], once, None
        if set(formats) - {"terminal"}:
            folder = os.path.abspath(os.path.expanduser(arguments["folder"]))
            changes = (earlier.since_last(folder, reports, fleet)
                       if TELL_CHANGES.intersection(formats) and not fleet["totals"]["pending"] else None)
            texts = dict({store.FLEET: render_json(fleet)},
                         **rendered(formats, reports, dict(fleet, changes=changes)))
            # Other formats are made of JSON, and a later comparison reads it, so it is always written with them.
            of_nodes = {name: reports[name] for name in (reports if once else mine)}
            files, problems, complete = _written(folder, of_nodes, fleet, texts, once, keep)
            if arguments.get("pseudonyms") and (once or complete):
                others = repository.names_of(plain(task_vars["groups"]["all"]), names, task_vars["hostvars"])
                shared = store.write_shared(folder, functools.partial(_shared, formats, reports, dict(
                    fleet, changes=changes), others))
        result = {"changed": False, "files": files, "totals": fleet["totals"]}
        written = os.path.dirname(files[0]) if files else None
        if written:
            result["folder"] = written
        if shared:
            result["shared"] = shared
        if problems:
            result["warnings"] = problems
        if once or complete:
            result["ansible_stats"] = overview.stats_of(STATS, overview.stated(fleet, written))
        if "terminal" in formats:
            limit = next((path for path in files if os.path.basename(path) == LIMIT), None)
            details = arguments.get("details") or "auto"
            if once:
                # Hosts that the play has lost are not among those of the batch.
                batch = set(batch) | {name for name in names if name not in alive and name not in reports}
                result.update(_shown(render_batch, list(reports.values()), batch, fleet, details, folder=written,
                                     limit_file=limit))
            else:
                result.update(_shown(render_tables, [reports[name] for name in mine], fleet if complete else None,
                                     details, folder=written, limit_file=limit, of_play=list(reports.values())))
        return result


def _shared(formats, reports, fleet, others, known):
    """What _store.write_shared() takes: the mapping, the reports of the hosts and the files of the run, which have the
    pseudonyms; `others` are more names of hosts, {name: host}."""
    gone = (fleet["changes"] or {}).get("gone_hosts", ())
    names = Pseudonyms([*(row["host"] for row in fleet["hosts"]), *gone], known, others)
    names.learn([*reports.values(), fleet])
    reports = {names.host(host): names.of(report) for host, report in reports.items()}
    fleet = names.of(fleet)
    changes = fleet.pop("changes")
    texts = dict({store.FLEET: render_json(fleet)}, **rendered(formats, reports, dict(fleet, changes=changes)))
    # It is for a command on this controller.
    texts.pop(LIMIT, None)
    return names.known, {host: render_json(report) for host, report in reports.items()}, texts


def _written(folder, reports, fleet, texts, once, keep):
    """(files, problems, whether to show the roll-up): writes the files of the hosts, and those of the run last, so that
    they never name a file that is not there. A file of one host that cannot be written is a problem, and costs no other
    host its own."""
    files, problems = [], []
    with store.opened(folder) as opened:
        for name in sorted(reports):
            try:
                files.append(store.write_node(opened, name, render_json(reports[name])))
            except BadInput as error:
                problems.append(sentence(error))
        paths, complete = store.write_fleet(opened, fleet, texts, newer=once, keep=keep)
        return paths + files, problems, once or complete


def _shown(render, *given, **named):
    """Shows the tables that `render` makes of its arguments; returns them for the result where stdout belongs to a
    program."""
    display = Display()
    for_people = play.stdout_is_for_people()
    color = for_people and bool(ANSIBLE_COLOR) and not os.environ.get("NO_COLOR")
    tables = render(*given, width=_width() if for_people else WIDTH, color=color, **named)
    if not for_people:
        return {"text": "\n".join(tables)}
    if tables:
        # Ansible prints no empty line after a text, so the screens are one text.
        display.display("\n".join(tables))
    return {}


def _width():
    """Columns of the terminal, or the variable COLUMNS in its place."""
    override = os.environ.get("COLUMNS", "")
    return int(override) if override.isdecimal() and 0 < int(override) <= _WIDEST else TERMINAL
