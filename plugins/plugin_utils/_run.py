# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of a run of ansible-playbook, and the facts that this run made. PRIVATE to the collection.

A strategy imports the file of an action in the parent process and only then forks a worker for each host, so all
workers of a run share the values set here. Facts may come from a cache that an earlier run filled; `ID` shows that.
Other tasks may have changed them since, so they are validated against the documentation at each reading.

The release of the collection that writes a report.
"""

import datetime
import functools
import os
from collections.abc import Mapping

from . import _finding
from ._answer import validate
from ._checks import catalogue
from ._policy import waiving
from ._role_data import ROLES, load_yaml

STARTED = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
ID = "%s-%d" % (STARTED.strftime("%Y%m%dT%H%M%SZ"), os.getpid())


# All findings of a host, each with a few sentences.
_ROOM = 4 * 1024 * 1024
# [the facts validated last, the result]: an action reads those of one host many times.
_latest = []


def summary_of(facts):
    """The summary in a host's `ansible_facts`; None if this run has not assessed the host, or if its summary and
    findings are damaged."""
    return _assessed(facts)[0]


def findings_of(facts):
    """The findings in a host's `ansible_facts`, or None where there is no summary."""
    return _assessed(facts)[1]


def _assessed(facts):
    """(summary, findings); both None if they do not have the form that `assess` makes."""
    if not isinstance(facts, Mapping):
        return None, None
    given = [facts.get(name) for name in ("node_assess_summary", "node_assess_findings")]
    if not (_latest and all(one is other for one, other in zip(given, _latest[0]))):
        _latest[:] = [given, _checked(facts)]
    return _latest[1]


def _checked(facts):
    known = facts.get("node_assess_summary")
    if not isinstance(known, Mapping) or known.get("run") != ID:
        return None, None
    summary, findings = part_of(facts, "node_assess_summary"), part_of(facts, "node_assess_findings")
    if summary is None or findings is None or not _is_summary(summary) or not all(map(_finding.is_finding, findings)):
        return None, None
    counts = _finding.summarise(findings)
    findings.sort(key=lambda row: row["check"])
    return (summary, findings) if counts == {name: summary[name] for name in counts} else (None, None)


def _is_summary(summary):
    """Whether no required value is null: whether the node was reached and is immutable, and the texts of each row."""
    texts = [summary["reached"],
             summary["immutable"]] + [row[key] for row in summary["disabled"] for key in ("check", "reason")]
    texts += [row[key] for row in summary.get("unusable", ()) for key in ("section", "reason")]
    return None not in texts + [
        row[key] for row in summary["waivers"] for key in waiving.KEYS + ("days_left",)]


def user_checks_of(facts):
    """The texts that the report prints for the user's checks that judged a host, see _described."""
    return part_of(facts, catalogue.FACT) or []


def part_of(facts, name):
    """One of the facts that `assess` documents, as plain values; None where it is not there, or not as it is
    documented."""
    shapes = validate.documented("assess")["ansible_facts"].contains
    try:
        return validate.fitted(facts.get(name), shapes[name],
                               validate.Room(_ROOM)) if isinstance(facts, Mapping) else None
    except validate.Misfit:
        return None


def section_of(facts, name):
    """One section of the evidence in a host's `ansible_facts`, as plain values; None where it is not there, or not as
    it is documented."""
    try:
        return validate.checked_section(name, facts.get(name)) if isinstance(facts, Mapping) else None
    except validate.Misfit:
        return None


NAME = "kubenode.netfilter"


@functools.lru_cache(maxsize=1)
def version() -> str:
    """The version of the collection: an installed one has MANIFEST.json, a checkout galaxy.yml."""
    try:
        return load_yaml(ROLES.parent / "MANIFEST.json")["collection_info"]["version"]
    except OSError:
        return load_yaml(ROLES.parent / "galaxy.yml")["version"]


def tool() -> dict:
    """The entry of each report about the program that wrote it."""
    return {"name": NAME, "version": version()}
