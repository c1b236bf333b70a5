# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles take from findings. PRIVATE to the collection."""

from collections.abc import Mapping

from ..module_utils import _names
from ..module_utils._errors import BadInput
from . import _catalogue, _conntrack_need, _finding, _run
from ._options import checked
from ._plain import plain

MODULES_ROLE = "harden_kernel_modules"
HOOKS_ROLE = "harden_flush_hooks"
_CONNTRACK = "CTRACK"
_EVERYTHING = ["/"]


def fixable(findings, fix, role=None, place=None):
    """The findings that fail and whose fix is a role (`role` where given), up to the class `fix`.

    Nothing runs in an image that could be disrupted: there `guarded`, which edits what others own, includes every class.
    """
    if not isinstance(findings, list):
        raise BadInput("needs a list of findings, not %s" % type(findings).__name__)
    if not all(isinstance(row, dict) and {"check", "status"} <= set(row) for row in findings):
        raise BadInput("needs findings as kubenode.netfilter.assess makes them, but a row lacks check or status")
    checked("fix", fix, {"type": "str", "choices": ("none",) + _catalogue.FIX_CLASSES})
    fix = "disruptive" if place == "image" and fix == "guarded" else fix
    classes = _catalogue.FIX_CLASSES[:_catalogue.FIX_CLASSES.index(fix) + 1] if fix != "none" else ()
    checks = _catalogue.catalogue()
    chosen = []
    for row in findings:
        check = checks.get(row["check"])
        if row["status"] == _finding.FAIL and check and check.fix["role"] and check.fix["class"] in classes and role in (None, check.fix["role"]):
            chosen.append(row)
    return chosen


def assessed(facts, section=None):
    """True where this run made findings for the host, of the section where one is given."""
    if not _run.summary_of(facts_of(facts)):
        return False
    if section == _CONNTRACK and _conntrack_need.is_outdated(
            _run.section_of(facts, "node_conntrack"), _run.section_of(facts, "node_kernel_modules")):
        return False  # Modules were loaded since, and with them came what is to be judged.
    return section is None or any(row["check"].startswith(section) for row in _run.findings_of(facts))


def modules_to_load(facts, extra, unblock, file):
    """The whole set for one call of the module kernel_modules, or nothing."""
    names = _names.checked(checked("extra", extra, {"type": "list", "elements": "str"}))
    if (_run.summary_of(facts_of(facts)) or {}).get("immutable"):
        return []
    wrong = fixable(_run.findings_of(facts) or [], "guarded" if unblock else "safe", MODULES_ROLE)
    subjects = {row["subject"] for row in wrong}
    rows = [row for row in _run.part_of(facts, "node_assess_required_modules") or [] if row["name"]]
    # KMOD012 speaks of loading on demand as such; what is left to load then has findings of its own.
    lacking = [row["name"] for row in rows if row["subject"] in subjects]
    if any(row["subject"].startswith("and ") for row in wrong):
        # More than findings name one by one: then all that is needed and can be loaded.
        lacking += [row["name"] for row in rows if not row["optional"] and row["state"] in ("loaded", "loadable") and (
            unblock or not row["blocked_by"])]
    if not lacking and not names:
        return []
    kept = [row["name"] for row in rows if any((place["file"] or "").endswith("/" + file) for place in row["persisted_by"])]
    return sorted(set(names + [_names.normalise(name) for name in lacking + kept]))


def facts_of(facts):
    """The facts, where they are some."""
    if not isinstance(facts, Mapping):
        raise BadInput("needs the ansible_facts of a host, not %s" % type(plain(facts)).__name__)
    return facts


def failed_modules(result):
    """[{"subject", "text"}] of a result of the module kernel_modules."""
    if not isinstance(result, dict):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    return [{"subject": row["name"], "text": row["msg"]} for row in result.get("modules") or [] if row["failed"]]


def hooks_to_fix(facts, only):
    """What the module flush_hooks is to work on: `only` where it names anything, else the subjects of what failed; or nothing."""
    only = checked("only", only, {"type": "list", "elements": "str"})
    if (_run.summary_of(facts_of(facts)) or {}).get("immutable"):
        return []
    wrong = fixable(_run.findings_of(facts) or [], "guarded", HOOKS_ROLE)
    if only or not wrong:
        return only
    subjects = {row["subject"] for row in wrong}
    named = {subject for subject in subjects if not subject.startswith("and ")}
    # More than findings name one by one: then all there is, unless some of it is to stay as it is.
    return _EVERYTHING if named != subjects and not _is_narrowed(facts, HOOKS_ROLE) else sorted(named)


def _is_narrowed(facts, role):
    """True where some of what the role would fix is waived, or was not judged because its check was left out or disabled."""
    summary = _run.summary_of(facts)
    spared = set(summary.get("left_out", ())) | {row["check"] for row in summary.get("disabled", ())}
    spared |= {row["check"] for row in _run.findings_of(facts) if row["status"] == _finding.WAIVED}
    return any(check.id in spared and check.fix["role"] == role for check in _catalogue.catalogue().values())


def failed_hooks(result):
    """[{"subject", "text"}] of a result of the module flush_hooks: what it left, by file and by unit."""
    if not isinstance(result, dict):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    left = [row for row in result.get("hooks") or [] if row["msg"] and not row["action"]]
    found = {(name, row["msg"]) for row in left for name in (row["path"], row["unit"]) if name}
    return [{"subject": subject, "text": text} for subject, text in sorted(found)]
