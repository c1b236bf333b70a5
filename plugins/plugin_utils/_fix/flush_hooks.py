# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about hooks that flush the firewall to the options of the module flush_hooks. PRIVATE to the
collection."""

from .. import _finding, _run
from .._checks import catalogue
from .._options import checked
from .outcomes import FAILED, NOTHING, REFUSED, Refusal, Work, of_message
from .select import fixable

ROLE = "harden_flush_hooks"
STALE = ("HOOK",)
_PART = "hooks"
_EVERYTHING = ["/"]


def work(facts, settings, up_to=None):
    """The Work on a host with `facts`: what the role's `only` names, or without it the subjects of what failed."""
    only = checked("harden_flush_hooks_only", settings["only"], {"type": "list", "elements": "str"})
    if up_to == "safe":
        return NOTHING
    findings = fixable(_run.findings_of(facts) or [], "guarded", ROLE)
    only = only or _subjects(facts, findings)
    if not only:
        return NOTHING
    options = {name: settings[name] for name in ("start", "divert", "clean_saved")}
    return Work(findings, dict(options, only=only, hook_directories=settings["hook_directories"]))


def _subjects(facts, findings):
    subjects = {row["subject"] for row in findings}
    named = {subject for subject in subjects if not subject.startswith("and ")}
    # More than findings name one by one: then all hooks, unless some of them must stay.
    return _EVERYTHING if named != subjects and not _is_narrowed(facts) else sorted(named)


def _is_narrowed(facts):
    """True where some of what the role would fix is waived, or was not judged because its check was left out or
    disabled."""
    summary = _run.summary_of(facts)
    spared = set(summary.get("left_out", ())) | {row["check"] for row in summary.get("disabled", ())}
    spared |= {row["check"] for row in _run.findings_of(facts) if row["status"] == _finding.WAIVED}
    return any(check.id in spared and check.fix.get("part") == _PART for check in catalogue.catalogue().values())


def undo(settings: dict) -> dict:
    """The options that put back what the module changed."""
    return {"only": settings["only"]}


def refusals(result: dict, findings: list[dict]) -> list[Refusal]:
    """The Refusals in a result of the module, by file and by unit."""
    if result.get("hooks") is None:
        return of_message(result, {row["subject"] for row in findings})
    left = [row for row in result["hooks"] if row["msg"] and not row["action"]]
    found = {(name, FAILED if row["failed"] else REFUSED, row["msg"]) for row in left
             for name in (row["path"], row["unit"]) if name}
    return [Refusal(*row) for row in sorted(found)]
