# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The baseline of the gate: an earlier report, kept in version control, whose findings do not block until a date.
PRIVATE to the collection."""

import contextlib
import os
from collections.abc import Mapping
from typing import NamedTuple

from ...module_utils._errors import BadInput
from .. import _finding, _run
from .._causes.judge import names_of
from .._plain import plain
from .._play import repository
from .._policy import waiving
from .._render.text import escaped
from . import differences, earlier, history, store

_OPTION = "node_gate_baseline"
# The statuses before, with which a finding is not new, by its present status.
_NOT_NEW = {_finding.FAIL: (_finding.FAIL,), _finding.WAIVED: (_finding.FAIL, _finding.WAIVED),
            _finding.UNKNOWN: (_finding.FAIL, _finding.UNKNOWN)}


class Baseline(NamedTuple):
    """What an earlier report found on a host: its findings, and the ids of its causes (None if it has no causes).
    `note` is why it does not count, `ending` that its end is near."""

    name: str
    findings: "list | tuple" = ()
    causes: "frozenset | None" = None
    note: str = ""
    ending: str = ""

    def known(self, findings: list, causes: list) -> frozenset:
        """{(check, subject)} of the findings that are neither new nor worse. A finding is worse if its severity is
        higher, or if it is explained by a cause that the baseline does not have."""
        then, found = differences.by_check(self.findings), set()
        for check, rows in differences.by_check(findings).items():
            found.update((check, row["subject"]) for subject, row in rows.items()
                         if _is_known(subject, row, then.get(check, {}), rows))
        for cause in causes if self.causes is not None else ():
            if cause["cause"] and cause["cause"] not in self.causes:
                found.difference_update(names_of(cause))
        return frozenset(found)

    def mended(self, findings: list) -> int:
        """How many findings of the baseline were judged again and do not fail."""
        return sum(row["change"] == differences.FIXED for row in differences.of_findings(self.findings, findings))


def _is_known(subject, row, then, now):
    """`then` and `now` are the findings of the check by subject. A report names only the first of many subjects: a
    subject that the baseline does not name is known while not more of them fail in all."""
    if row["status"] not in _NOT_NEW:
        return False
    if row["status"] == _finding.UNKNOWN:
        # Of a check that is unknown there is one finding, whatever the subjects were.
        before = then.values()
    else:
        rest = then.get(None) if _number(now) <= _number(then) else None
        before = filter(None, [then.get(subject) if subject is not None else rest, rest])
    return any(each["status"] in _NOT_NEW[row["status"]] and _finding.at_least(each["severity"], row["severity"])
               for each in before)


def _number(rows):
    """How many subjects fail, named or only counted."""
    return sum(1 if subject is not None else int(row["subject"].split()[1]) for subject, row in rows.items()
               if row["status"] == _finding.FAIL)


def of_gate(settings: Mapping, variables: Mapping, folder: str) -> "Baseline | None":
    """The baseline that the settings of node_gate name for the host with `variables`; None where they name none.
    `folder` is the report folder. Raises BadInput for one that cannot be used."""
    name, owner = settings["baseline"], settings["baseline_owner"]
    if not name:
        return None
    if not settings["baseline_expires"] or not owner:
        raise BadInput("%s needs %s_expires, its last day, such as 2027-01-31, and %s_owner, who renews it"
                       % (_OPTION, _OPTION, _OPTION))
    expires = waiving.date_of(settings["baseline_expires"])
    ending = waiving.end_of("the baseline %s" % name, expires, _run.STARTED.date(), owner)
    if expires < _run.STARTED.date():
        return Baseline(name, note="%s and counts no more" % ending)
    try:
        host, groups = plain(variables["inventory_hostname"]), variables.get("groups") or {}
        report = _report(_path(name, folder, variables), host, plain(groups.get("all") or [host]))
        if report and report.get("run") == _run.ID:
            raise BadInput("%s is a report of this run itself" % name)
    except BadInput as error:
        raise BadInput("%s: %s" % (_OPTION, error)) from None
    if not report or not report["summary"].get("reached"):
        why = "does not have" if not report else "did not reach"
        return Baseline(name, note="the baseline %s %s %s, so all of its findings are new" % (name, why, host),
                        ending=ending or "")
    causes = report.get("causes")
    return Baseline(name, report["findings"], None if causes is None else frozenset(row["cause"] for row in causes),
                    ending=ending or "")


def _path(name, folder, variables):
    """The file or the folder that is meant."""
    folder = os.path.abspath(os.path.expanduser(folder))
    if "/" not in name and not name.endswith(".json"):
        if name in (earlier.LATEST, earlier.PREVIOUS):
            raise BadInput("%s changes with each run, so each finding would block once; give the name of a run, or keep "
                           "a copy of its folder in version control" % name)
        return earlier.path_of(folder, name)
    given = os.path.expanduser(name)
    paths = [os.path.abspath(os.path.join(str(around), given)) for around in repository.folders_of(
        plain(variables.get("ansible_inventory_sources")))]
    path = next(filter(os.path.exists, paths), paths[0])
    if (path + "/").startswith(folder + "/") and not path.startswith(os.path.join(folder, history.RUNS, "")):
        raise BadInput("%s is in the report folder, and each run replaces it; copy it into version control" % name)
    return path


def _report(path, host, inventory):
    """The report of a host in a file, or in the folder of a run; None where the run does not have the host."""
    if not os.path.isdir(path):
        return _checked(earlier.report_in(path, host), path)
    file = store.node_path(path, host)
    if os.path.exists(file):
        return _checked(earlier.report_in(file, host), file)
    fleet = earlier.read_run(path, ())["fleet"]
    rows = {row["host"]: row for row in fleet["hosts"]}
    if not set(rows) & set(inventory):
        raise BadInput("%s is a run of other hosts (%s); it has no host of this inventory" % (
            path, escaped(", ".join(sorted(rows)[:3])) or "none"))
    if rows.get(host, {}).get("status") == differences.ASSESSED:
        # Its sentence has the path of the missing file.
        earlier.report_in(file, host)
    return None


def _checked(report, path):
    with contextlib.suppress(KeyError, TypeError):
        if all(row["cause"] is None or isinstance(row["cause"], str) for row in report.get("causes") or ()):
            return report
    raise BadInput("%s has causes that no report has" % path)
