# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about conntrack to the options of the module conntrack. PRIVATE to the collection."""

import re

from ...module_utils._conntrack.keys import BUCKETS, MAX, TIMEOUTS, dotted
from ...module_utils._conntrack.size import MOST, need_of
from ...module_utils._errors import BadInput
from .. import _finding, _run
from .._checks import catalogue
from .._needs import conntrack
from .._needs.conntrack import unsettled
from .outcomes import FAILED, NOTHING, Refusal, Work, of_message
from .select import fixable

ROLE = "harden_conntrack"
STALE = ("CTRACK",)
# Subjects of findings about the limit and the buckets besides the keys themselves.
_OF_TABLE = ("the table", "nf_conntrack_max")
# The program that configures an interface sets its switch.
_OF_INTERFACE = re.compile(r"net\.ipv4\.conf\.(?!all\.)\S+\.forwarding\Z")
_WANTED = ("max", "buckets", "timeouts", "sysctls", "modules")


def work(facts, settings, up_to=None):
    """The Work on a host with `facts`; of the role's settings 0 means that the formula decides."""
    for name in ("max", "buckets", "peak"):
        if not 0 <= settings[name] <= MOST:
            raise BadInput("harden_conntrack_%s is %d; give 0 to %d" % (name, settings[name], MOST))
    comment_out = settings["comment_out_conflicts"] or up_to in ("guarded", "disruptive")
    fix = "guarded" if comment_out else "safe"
    findings = _run.findings_of(facts) or []
    wrong = [row for row in fixable(findings, fix, ROLE) if not _OF_INTERFACE.match(row["subject"])]
    subjects = _by_part(wrong)
    section = _run.section_of(facts, "node_conntrack") or {}
    wanted = {"max": settings["max"], "buckets": settings["buckets"], "timeouts": dict(settings["timeouts"]),
              "sysctls": [], "modules": []}
    _add_size(wanted, section, _size(facts, section, settings["peak"]), settings, subjects, findings)
    wanted["sysctls"] = sorted(set(subjects.get("switches", ())))
    rows = {row["key"]: row for row in section.get("sysctls") or []}
    # Modules that have findings of their own are left to the role of kernel modules.
    listed = {row["subject"] for row in fixable(findings, fix, catalogue.PARTS["modules"])}
    module_of = {key: rows[key]["module"] for key in subjects.get("modules_at_boot", ()) if key in rows}
    wanted["modules"] = sorted(set(module_of.values()) - listed)
    for key in subjects.get("conflicts", ()):
        _add_conflict(wanted, key, rows.get(key, {}).get("assigned"))
    options = {name: wanted[name] for name in _WANTED if wanted[name]}
    if not options:
        return NOTHING
    kept = {name: settings[name] for name in ("resize", "lower", "persist")}
    left = [row for row in fixable(findings, fix, ROLE, part="modules_at_boot")
            if module_of.get(row["subject"]) in listed]
    return Work([row for row in wrong if row not in left],
                dict(options, comment_out_conflicts=comment_out, load=True, **kept))


def _by_part(findings):
    """{part: [subjects]} of findings that fail."""
    checks, subjects = catalogue.catalogue(), {}
    for row in findings:
        subjects.setdefault(checks[row["check"]].fix.get("part"), []).append(row["subject"])
    return subjects


def _size(facts, section, peak):
    """The result of the formula with the larger of the role's peak and the policy's; None where memory and processors
    are not known."""
    known = _run.part_of(facts, "node_assess_conntrack") or {}
    if not section or known.get("run") != _run.ID or not known.get("options"):
        return None
    try:
        options = dict(known["options"], peak=max(peak, known["options"]["peak"] or 0))
        return need_of(unsettled(section, known.get("losses")), **options)
    except BadInput:
        return None  # The policy was validated, so these facts were changed since assess set them.


def _add_size(wanted, section, size, settings, subjects, findings):
    if size is None:
        return
    failing = _by_part([row for row in findings
                        if row["status"] == _finding.FAIL and row["check"] in catalogue.catalogue()])
    needed = "limit" in subjects or (settings["lower"]
                                     and "lower_limit" in failing) or (settings["peak"] and size["enough"] is False)
    if not (needed or settings["max"] or settings["buckets"]):
        return
    if not settings["max"] and needed:
        wanted["max"] = size["max"] if settings["lower"] else max(size["max"], section["max"] or 0)
    # As many buckets as entries, as the kernel itself has it since 5.15.
    wanted["buckets"] = settings["buckets"] or wanted["max"]


def _add_conflict(wanted, key, assigned):
    """Ask for the value of sysctl.d, so that the line that overrides it is commented out."""
    if not isinstance(assigned, int) or assigned < 1:
        return
    if key in TIMEOUTS:
        wanted["timeouts"].setdefault(key, assigned)
    elif key in (dotted(MAX), dotted(BUCKETS)):
        name = "max" if key == dotted(MAX) else "buckets"
        wanted[name] = max(wanted[name], assigned)
    elif assigned == 1:
        wanted["sysctls"] = sorted(set(wanted["sysctls"]) | {key})


def undo(settings: dict) -> dict:
    """The options that put back what the module changed."""
    return {"lower": settings["lower"]}


def refusals(result: dict, _findings: list[dict]) -> list[Refusal]:
    """The Refusals in a result of the module: by key, and for the limit and the buckets by what findings call the
    table."""
    rows = result.get("settings")
    if rows is None:
        return of_message(result, _OF_TABLE + conntrack.SWITCHES)
    failed = {(row["key"], row["msg"]) for row in rows if row["failed"]}
    failed |= {(subject, text) for key, text in failed if key in (dotted(MAX), dotted(BUCKETS))
               for subject in _OF_TABLE}
    return [Refusal(subject, FAILED, text) for subject, text in sorted(failed)]
