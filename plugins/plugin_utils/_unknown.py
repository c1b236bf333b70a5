# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unknown findings grouped by cause: users fix a cause, not each check that rests on it. PRIVATE to the collection."""

from . import _finding
from ._render.text import some

_DENIED = "denied"
# A sentence names at most so many checks; the report names all.
_NAMED = 5


def needing_root(findings: list[dict], checks, evidence: dict) -> list[str]:
    """Ids of the checks that are unknown because the look was not made as root: a section that they rest on was denied
    to it."""
    if (evidence.get("node_host") or {}).get("as_root") is not False:
        return []
    denied = {name for name, section in evidence.items() if _DENIED in (section.get("collected") or {}).values()}
    needing = {check.id for check in checks if not denied.isdisjoint(need.partition(".")[0] for need in check.needs)}
    return sorted(needing & {row["check"] for row in findings if row["status"] == _finding.UNKNOWN})


def by_cause(findings, needs_root):
    """[(findings, sentence)] of what is unknown, in the order of the findings; the sentence is None for a check whose
    cause no other check shares."""
    causes = {}
    for row in findings:
        if row["status"] == _finding.UNKNOWN:
            causes.setdefault(None if row["check"] in needs_root else row["reason"], []).append(row)
    return [(rows, _sentence(cause, checks_of(rows))) for cause, rows in causes.items()]


def _sentence(cause, checks):
    if cause is None:
        return "not run as root: %d %s unknown, use --become" % (len(checks), "check" if len(checks) == 1 else "checks")
    return "%d checks unknown (%s): %s" % (len(checks), some(checks, _NAMED), cause) if len(checks) > 1 else None


def checks_of(findings: list[dict]) -> list[str]:
    """The ids of the findings, each once."""
    return list(dict.fromkeys(row["check"] for row in findings))
