# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tells one run of ansible-playbook from another. PRIVATE to the collection.

A strategy imports the file of an action in the parent process and only then forks a worker for each host, so all
workers of a run share what is set here. Facts may come out of a cache that an earlier run filled; `ID` shows it.
Whatever else writes facts may have damaged them since, so they are held to the documentation whenever they are read.
"""

import datetime
import os
from collections.abc import Mapping

from . import _evidence, _finding, _schema

STARTED = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
ID = "%s-%d" % (STARTED.strftime("%Y%m%dT%H%M%SZ"), os.getpid())


# All findings of a host, each with a few sentences.
_ROOM = 4 * 1024 * 1024


def summary_of(facts):
    """The summary in a host's `ansible_facts`, or None where this run has not assessed the host, or its summary and
    findings are damaged."""
    return _assessed(facts)[0]


def findings_of(facts):
    """The findings in a host's `ansible_facts`, or None where there is no summary."""
    return _assessed(facts)[1]


def _assessed(facts):
    """(summary, findings), both None where they are not as `assess` makes them."""
    if not isinstance(facts, Mapping):
        return None, None
    known = facts.get("node_assess_summary")
    if not isinstance(known, Mapping) or known.get("run") != ID:
        return None, None
    summary, findings = part_of(facts, "node_assess_summary"), part_of(facts, "node_assess_findings")
    if summary is None or findings is None or not _is_summary(summary) or not all(map(_finding.is_finding, findings)):
        return None, None
    counts = _finding.summarise(findings)
    return (summary, findings) if counts == {name: summary[name] for name in counts} else (None, None)


def _is_summary(summary):
    """Whether nothing is null that never is: whether the node was reached and is immutable, and of which check and
    waiver a row speaks."""
    texts = [summary["reached"],
             summary["immutable"]] + [row[key] for row in summary["disabled"] for key in ("check", "reason")]
    return None not in texts + [row[key] for row in summary["waivers"] for key in ("check", "subject")]


def part_of(facts, name):
    """One of the facts that `assess` documents, as plain values; None where it is not there, or not as it is
    documented."""
    shapes = _schema.documented("assess")["ansible_facts"].contains
    try:
        return _evidence.fitted(facts.get(name), shapes[name],
                                _evidence.Room(_ROOM)) if isinstance(facts, Mapping) else None
    except _evidence.Misfit:
        return None


def section_of(facts, name):
    """One section of the evidence in a host's `ansible_facts`, as plain values; None where it is not there, or not as
    it is documented."""
    try:
        return _evidence.checked_section(name, facts.get(name)) if isinstance(facts, Mapping) else None
    except _evidence.Misfit:
        return None
