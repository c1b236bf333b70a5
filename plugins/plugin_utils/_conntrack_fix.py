# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was found about connection tracking to what the module conntrack is asked for. PRIVATE to the collection."""

from ..module_utils._conntrack.keys import BUCKETS, MAX, TIMEOUTS, dotted
from ..module_utils._conntrack.need import need_of
from ..module_utils._conntrack.size import MOST
from ..module_utils._errors import BadInput
from . import _conntrack_need, _finding, _run
from ._options import checked
from ._select import MODULES_ROLE, facts_of, fixable

ROLE = "harden_conntrack"
# Findings that the limit answers, those that only a lower one does, and those whose subjects are keys that must be 1.
_OF_LIMIT = ("CTRACK001", "CTRACK002", "CTRACK003", "CTRACK004", "CTRACK006", "CTRACK009", "CTRACK013")
_OF_LOWER_LIMIT = ("CTRACK008", "CTRACK010")
_OF_SWITCHES = ("CTRACK014", "CTRACK015", "CTRACK016")
_LATE, _OVERRULED = "CTRACK011", "CTRACK012"
# Subjects of findings about the limit and the buckets besides the keys themselves.
_OF_TABLE = ("the table", "nf_conntrack_max")
_OPTIONS = {"max": {"type": "int"}, "buckets": {"type": "int"}, "peak": {"type": "int"}, "timeouts": {"type": "dict"}, "lower": {"type": "bool"},
            "yields": {"type": "bool"}}


def conntrack_to_set(facts, given):
    """Options of the module conntrack for a host with `facts`, {} where there is nothing to do; `given` are the role's, 0 being its own choice."""
    given = {name: checked(name, given[name], spec) for name, spec in _OPTIONS.items()}
    for name in ("max", "buckets", "peak"):
        if not 0 <= given[name] <= MOST:
            raise BadInput("harden_conntrack_%s is %d; give 0 to %d" % (name, given[name], MOST))
    if (_run.summary_of(facts_of(facts)) or {}).get("immutable"):
        return {}
    findings = _run.findings_of(facts) or []
    subjects = {}
    for row in fixable(findings, "guarded" if given["yields"] else "safe", ROLE):
        subjects.setdefault(row["check"], []).append(row["subject"])
    section = _run.section_of(facts, "node_conntrack") or {}
    wanted = {"max": given["max"], "buckets": given["buckets"], "timeouts": dict(given["timeouts"]), "sysctls": [], "modules": []}
    _add_size(wanted, section, _size(facts, section, given["peak"]), given, subjects, findings)
    wanted["sysctls"] = sorted({key for check in _OF_SWITCHES for key in subjects.get(check, ())})
    rows = {row["key"]: row for row in section.get("sysctls") or []}
    # What the role of kernel modules lists itself, as it is told by its own findings, is left to it.
    listed = {row["subject"] for row in fixable(findings, "guarded" if given["yields"] else "safe", MODULES_ROLE)}
    wanted["modules"] = sorted({rows[key]["module"] for key in subjects.get(_LATE, ()) if key in rows} - listed)
    for key in subjects.get(_OVERRULED, ()):
        _add_overruled(wanted, key, rows.get(key, {}).get("assigned"))
    return {name: value for name, value in wanted.items() if value}


def _size(facts, section, peak):
    """What the formula says with the role's peak beside that of the policy; None where memory and processors are not known."""
    known = _run.part_of(facts, "node_assess_conntrack") or {}
    if not section or known.get("run") != _run.ID or not known.get("options"):
        return None
    try:
        return need_of(section, **dict(known["options"], peak=max(peak, known["options"]["peak"] or 0)))
    except BadInput:
        return None  # The policy was checked: these facts are not as assess left them.


def _add_size(wanted, section, size, given, subjects, findings):
    if size is None:
        return
    failing = {row["check"] for row in findings if row["status"] == _finding.FAIL}
    asked = any(check in subjects for check in _OF_LIMIT) or (given["lower"] and failing & set(_OF_LOWER_LIMIT)) or (
        given["peak"] and size["enough"] is False)
    if not (asked or given["max"] or given["buckets"]):
        return
    if not given["max"] and asked:
        wanted["max"] = size["max"] if given["lower"] else max(size["max"], section["max"] or 0)
    # As many buckets as entries, as the kernel itself has it since 5.15.
    wanted["buckets"] = given["buckets"] or wanted["max"]


def _add_overruled(wanted, key, assigned):
    """Ask for what sysctl.d says, so that who overrules it has to yield."""
    if not isinstance(assigned, int) or assigned < 1:
        return
    if key in TIMEOUTS:
        wanted["timeouts"].setdefault(key, assigned)
    elif key in (dotted(MAX), dotted(BUCKETS)):
        name = "max" if key == dotted(MAX) else "buckets"
        wanted[name] = max(wanted[name], assigned)
    elif assigned == 1:
        wanted["sysctls"] = sorted(set(wanted["sysctls"]) | {key})


def failed_conntrack(result):
    """[{"subject", "text"}] of a result of the module conntrack: by key, and by what findings call the table."""
    if not isinstance(result, dict):
        raise BadInput("needs a registered result, not %s" % type(result).__name__)
    rows = result.get("settings")
    if rows is None:
        # It refused as a whole, so it is for all that findings may speak of.
        text = result.get("msg") if result.get("failed") else None
        return [{"subject": subject, "text": text} for subject in _OF_TABLE + _conntrack_need.SWITCHES] if text else []
    failed = {(row["key"], row["msg"]) for row in rows if row["failed"]}
    failed |= {(subject, text) for key, text in failed if key in (dotted(MAX), dotted(BUCKETS)) for subject in _OF_TABLE}
    return [{"subject": subject, "text": text} for subject, text in sorted(failed)]
