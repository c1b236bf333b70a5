# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unknown findings grouped by cause: users fix a cause, not each check that rests on it. PRIVATE to the collection."""

from .. import _finding
from .._render.text import some

_DENIED = "denied"
# A sentence names at most this many checks; the report names all.
_NAMED = 5


def needing_root(findings: list[dict], checks, evidence: dict) -> list[str]:
    """Ids of the checks that are unknown because the look was not made as root: access to a section that they need was
    denied."""
    if (evidence.get("node_host") or {}).get("as_root") is not False:
        return []
    denied = {name for name, section in evidence.items() if _DENIED in (section.get("collected") or {}).values()}
    needing = {check.id for check in checks if not denied.isdisjoint(need.partition(".")[0] for need in check.needs)}
    return sorted(needing & {row["check"] for row in findings if row["status"] == _finding.UNKNOWN})


def by_cause(findings, needs_root, below=(), severity=None):
    """[(findings, sentence)] of the unknown findings, in their order; a check whose cause no other check shares gets
    None as sentence. `below` are further unknown findings, below `severity`: they are in no row, but a sentence counts
    them, so that its number matches a table of all findings."""
    causes = _causes(findings, needs_root)
    others = _causes(below, needs_root)
    return [(rows, _sentence(cause, checks_of(rows), len(checks_of(others.get(cause, ()))), severity))
            for cause, rows in causes.items()]


def _causes(findings, needs_root):
    causes = {}
    for row in findings:
        if row["status"] == _finding.UNKNOWN:
            causes.setdefault(None if row["check"] in needs_root else row["reason"], []).append(row)
    return causes


def _sentence(cause, checks, others, severity):
    number, one = len(checks), len(checks) == 1
    if others:
        counted = "%d of %d unknown checks %s %s" % (number, number + others, "is" if one else "are",
                                                     severity if severity == "high" else severity + " or higher")
    else:
        counted = "%d %s unknown" % (number, "check" if one else "checks")
    if cause is None:
        return "not run as root: %s, use --become" % counted
    return None if one else "%s (%s): %s" % (counted, some(checks, _NAMED), cause)


def checks_of(findings: list[dict]) -> list[str]:
    """The ids of the findings, each once."""
    return list(dict.fromkeys(row["check"] for row in findings))
