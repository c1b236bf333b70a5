# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about kernel modules to the options of the module kernel_modules. PRIVATE to the collection."""

from ...module_utils import _names
from .. import _run
from .._options import checked
from .outcomes import FAILED, NOTHING, Refusal, Work, of_message
from .select import fixable

ROLE = "harden_kernel_modules"
# The sections whose evidence a change makes stale: sysctls of connection tracking come and go with their modules.
STALE = ("KMOD", "CTRACK")


def work(facts, settings, up_to=None):
    """The Work on a host with `facts`. The file is written as a whole, so the names include those it holds already and
    the node still needs."""
    extra = _names.checked(checked("harden_kernel_modules_names", settings["names"],
                                   {"type": "list", "elements": "str"}))
    unblock = settings["unblock"] or up_to in ("guarded", "disruptive")
    failing, fix = _run.findings_of(facts) or [], "guarded" if unblock else "safe"
    findings = fixable(failing, fix, ROLE, part="modules")
    if settings["persist"]:
        findings += fixable(failing, fix, ROLE, part="modules_load_d")
    rows = [row for row in _run.part_of(facts, "node_assess_required_modules") or [] if row["name"]]
    names = extra + _lacking(findings, rows, unblock)
    if not names:
        return NOTHING
    # A long answer of a node has no places: then any file may be the one that lists a module.
    section = _run.section_of(facts, "node_kernel_modules") or {}
    unplaced = {row["name"] for row in section.get("modules") or [] if row["persisted"] and not row["persisted_by"]}
    kept = [row["name"] for row in rows if row["name"] in unplaced or any(
        (place["file"] or "").endswith("/" + settings["file"]) for place in row["persisted_by"])]
    options = {"name": sorted({_names.normalise(name) for name in names + kept}), "unblock": unblock}
    if settings["persist"]:
        findings += _of_sysctls(facts, fixable(failing, fix, part="modules_at_boot"), names)
    return Work(findings, dict(options, **{name: settings[name] for name in ("load", "persist", "file")}))


def _of_sysctls(facts, findings, names):
    """Those of the `findings` about a sysctl that does not exist yet when sysctl.d is applied, whose module is one of
    `names`. The role harden_conntrack mends the others."""
    section = _run.section_of(facts, "node_conntrack") or {}
    module_of = {row["key"]: row["module"] for row in section.get("sysctls") or []}
    return [row for row in findings if module_of.get(row["subject"]) in names]


def _lacking(findings, rows, unblock):
    subjects = {row["subject"] for row in findings}
    # A finding that speaks of loading on demand as such names no module; the modules that it concerns have findings of
    # their own.
    lacking = [row["name"] for row in rows if row["subject"] in subjects]
    if any(subject.startswith("and ") for subject in subjects):
        # More than findings name one by one: then all that is needed and can be loaded.
        lacking += [row["name"] for row in rows if not row["optional"] and row["state"] in ("loaded", "loadable") and (
            unblock or not row["blocked_by"])]
    return lacking


def undo(settings: dict) -> dict:
    """The options that put back what the module changed."""
    return {"file": settings["file"]}


def refusals(result: dict, findings: list[dict]) -> list[Refusal]:
    """The Refusals in a result of the module."""
    if result.get("modules") is None:
        return of_message(result, {row["subject"] for row in findings})
    return [Refusal(row["name"], FAILED, row["msg"]) for row in result["modules"] if row["failed"]]
