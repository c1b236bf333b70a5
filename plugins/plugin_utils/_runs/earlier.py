# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that a report folder keeps, found by name and read back. PRIVATE to the collection."""

import contextlib
import json
import os
import stat

from ...module_utils._errors import BadInput
from .. import _finding, _options
from .._render.text import escaped
from . import differences, history, store

# Earlier versions wrote no evidence into findings, and no comparison reads it.
_COMPARED = tuple(key for key in _finding.KEYS if key != "evidence")
LATEST, PREVIOUS = "latest", "previous"
# A roll-up of thousands of hosts, and the report of a node with all evidence.
_FLEET_LIMIT, _NODE_LIMIT = 64 * 1024 * 1024, 4 * 1024 * 1024


def runs_in(folder: str) -> list:
    """The runs with a roll-up that a report folder keeps, the oldest first."""
    path = os.path.join(folder, history.RUNS)
    names = history.names_in(path) if os.path.isdir(path) else []
    return [name for name in names if os.path.isfile(os.path.join(path, name, history.FLEET))]


def path_of(folder: str, name: str, after: "str | None" = None) -> str:
    """The folder of the run `name`: the name of one or its beginning, `latest`, `previous` (the base of `after`), or a
    path with a slash. Raises BadInput."""
    if "/" in name:
        return os.path.abspath(os.path.expanduser(name))
    known = runs_in(folder)
    if not known:
        raise BadInput("The report folder %s has no earlier run" % folder)
    if name == PREVIOUS:
        return os.path.join(folder, history.RUNS, _base(folder, _before(known, after), _fleet(
            os.path.join(folder, history.RUNS, after)) if after in known else {"run": after, "hosts": []}))
    found = [_last(folder, known)] if name == LATEST else [name] if name in known else [
        run for run in known if name and run.startswith(name)]
    if len(found) > 1:
        raise BadInput("The run %s is not unique; these runs begin with it: %s" % (name, _listed(found)))
    if not found:
        near = _options.close_to(name, known + [LATEST, PREVIOUS])
        raise BadInput("The run %s is not known; %s" % (name, "did you mean %s?" % near
                                                        if near else "known: %s" % _listed(known)))
    return os.path.join(folder, history.RUNS, found[0])


def _last(folder, known):
    """The run that the link `latest` points to; without a valid link, the last run."""
    try:
        around, name = os.path.split(os.readlink(os.path.join(folder, history.LATEST)))
    except OSError:
        return known[-1]
    return name if around == history.RUNS and name in known else known[-1]


def _before(known, after):
    """The runs before `after`, or all where it is not known."""
    return known[:known.index(after)] if after in known else known


def _listed(names):
    return "%s%s" % ("%d others, " % (len(names) - 5) if len(names) > 5 else "", ", ".join(names[-5:]))


def since_last(folder: str, reports: dict, fleet: dict) -> "dict | None":
    """The changes since the base of this run among the runs that a report folder keeps; None if there is no such run or
    it cannot be read."""
    with contextlib.suppress(BadInput):
        before = read_run(os.path.join(folder, history.RUNS, _base(folder, [
            name for name in runs_in(folder) if name != fleet["run"]], fleet)))
        return differences.of_runs(before, {"fleet": fleet, "reports": reports})
    return None


def _base(folder, names, fleet):
    """The last of the runs `names` that assessed at least half of the hosts that the run of `fleet` assessed, such as
    none that was limited to one of 200 hosts; without such a run, the last one. Raises BadInput."""
    if not names:
        raise BadInput("There is no run before %s to compare it with" % fleet["run"])
    hosts = _assessed(fleet)
    for name in reversed(names):
        with contextlib.suppress(BadInput):
            if len(hosts & _assessed(_fleet(os.path.join(folder, history.RUNS, name)))) * 2 >= len(hosts):
                return name
    return names[-1]


def _assessed(fleet):
    return {row["host"] for row in fleet["hosts"] if row["status"] == differences.ASSESSED}


def read_run(path: str, hosts=None) -> dict:
    """`{"fleet": roll-up, "reports": {host: report}}` of the run in a folder, with the reports of `hosts` alone where
    they are given. Raises BadInput."""
    fleet = _fleet(path)
    assessed = sorted(_assessed(fleet))
    for host in hosts or ():
        if host not in assessed:
            near = _options.close_to(host, assessed)
            raise BadInput(escaped("The node %s was not assessed in the run %s%s" % (
                host, fleet["run"], "; did you mean %s?" % near if near else "")))
    wanted, nodes = assessed if hosts is None else hosts, os.path.join(path, "nodes")
    if wanted and not (os.path.isdir(nodes) and os.listdir(nodes)):
        raise BadInput("The run %s has no reports of nodes in %s" % (fleet["run"], nodes))
    return {"fleet": fleet, "reports": {host: report_in(store.node_path(path, host), host) for host in wanted}}


def _fleet(path):
    fleet = _read(os.path.join(path, history.FLEET), _FLEET_LIMIT)
    if not _is_fleet(fleet):
        raise BadInput("%s is not the roll-up of a run" % os.path.join(path, history.FLEET))
    return fleet


def report_in(name: str, host: str) -> dict:
    """The report of a node in a file. Raises BadInput."""
    report = _read(name, _NODE_LIMIT)
    if not _is_report(report) or report.get("host") != host:
        raise BadInput("%s is not a report of the node %s" % (name, escaped(host)))
    return report


def _read(path, limit):
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise BadInput("%s is not a file" % path)
            text = stream.read(limit + 1)
        if len(text) > limit:
            raise BadInput("%s is larger than %d MB" % (path, limit // 1024 // 1024))
        return json.loads(text)
    except OSError as error:
        raise BadInput("%s could not be read: %s" % (path, error.strerror)) from None
    except (ValueError, RecursionError):
        raise BadInput("%s is not valid JSON" % path) from None


def _is_fleet(fleet):
    return (isinstance(fleet, dict) and history.is_run(fleet.get("run")) and isinstance(fleet.get("started"), str)
            and isinstance(fleet.get("hosts"), list)
            and all(isinstance(row, dict) and isinstance(row.get("host"), str) and isinstance(row.get("status"), str)
                    and isinstance(row.get("reason"), (str, type(None))) for row in fleet["hosts"]))


def _is_report(report):
    """Whether a report has the keys that a comparison reads, with the types of this version."""
    if not isinstance(report, dict) or not isinstance(report.get("summary"), dict):
        return False
    rows, disabled = report.get("findings"), report["summary"].get("disabled") or []
    return isinstance(disabled, list) and all(
        isinstance(row, dict) and isinstance(row.get("check"), str) for row in disabled) and isinstance(
            rows, list) and all(
        isinstance(row, dict) and all(isinstance(row.get(key), (str, type(None))) for key in _COMPARED)
        and set(_COMPARED) <= set(row) and _finding.is_finding(row) for row in rows)
