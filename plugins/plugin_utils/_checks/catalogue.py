# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks, as the entries of roles/node_policy/files/checks. PRIVATE to the collection.

The texts of a check that reports print besides its findings.

Checks of the collection are read from its files. Checks of the user are in the facts and in the report of each host
that they judged: two groups of hosts may have different checks, and a report may be read on a machine without the
files.

Which checks run: by section, by id and by pattern.
"""

import dataclasses
import fnmatch
import functools
import re
import types
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...module_utils._errors import BadInput
from .. import _finding
from .._options import checked, unknown_name
from .._role_data import ROLES, load_yaml
from . import references
from .expressions import compiled
from .kinds import KINDS

FIX_CLASSES = ("safe", "guarded", "disruptive")
_ID = re.compile(r"^[A-Z]+\d{3}$")
# {key of fix: whether it must be there}; a fix with a role needs its class and part, too.
_FIX_KEYS = {"role": True, "part": False, "class": False, "manual": True, "safety": True}
# {part: role}: the parts of the roles, as `fix` of an entry names them. In the place of a role stands `repair`, the
# playbook that restarts; no role does. A check without a role may name a part, too:
# `lower_limit` is done only if the role is asked for it, and checks that name `migrated` must hold before a migration
# between the backends counts as done.
PARTS = {
    "modules": "harden_kernel_modules", "modules_load_d": "harden_kernel_modules",
    "limit": "harden_conntrack", "lower_limit": "harden_conntrack",
    "switches": "harden_conntrack", "modules_at_boot": "harden_conntrack", "conflicts": "harden_conntrack",
    "hooks": "harden_flush_hooks", "backend": "harden_iptables_backend", "migrated": "harden_iptables_backend",
    "kubelet_restart": "repair", "kube_proxy_restart": "repair",
}


@dataclasses.dataclass(frozen=True)
class Check:
    """One entry. `problem` describes the fault of an offender; without it the title is printed. `needs` names evidence
    sections, or single sources of a section as `section.source`, that must have been read; `left_out` is an expression
    for the number of offenders that the node did not name; `opt_in` is the policy value without which the check is
    skipped; `note` is the text of an offender that needs no fix: the check then passes with it. `file` is not a key of
    an entry: it is the user's file that contains the check, None for a check of the collection."""

    id: str
    title: str
    severity: str
    kind: str
    select: str
    needs: tuple
    why: str
    fix: dict
    sources: tuple
    problem: str = None
    want: object = None
    applies_when: str = None
    skipped: str = "does not apply"
    unknown: str = None
    left_out: str = None
    opt_in: str = None
    note: str = None
    subject: str = "{subject}"
    observed: str = "{value}"
    expected: str = "{want}"
    reason: str = ""
    file: str = None

    @property
    def section(self) -> str:
        """The letters of the id: KMOD, KPROXY, ..."""
        return _finding.section_of(self.id)


@functools.lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Check]:
    """All checks by id, in order; read and validated once in a process."""
    entries = []
    for path in sorted((ROLES / "node_policy" / "files" / "checks").glob("*.yml")):
        entries += [(path.name, entry) for entry in load_yaml(path)]
    return types.MappingProxyType(checks_of(entries))


def checks_of(entries: Iterable[tuple[str, dict]]) -> dict[str, Check]:
    """`{id: Check}` of `[(where, entry)]`. Raises BadInput for an invalid entry."""
    checks = {}
    for where, entry in entries:
        named = "%s: %s" % (where, entry.get("id") or "an entry without id")
        check = check_of(named, entry)
        if not _ID.match(check.id):
            raise BadInput("%s: an id is capital letters and three digits" % named)
        if check.id in checks:
            raise BadInput("%s: the id %s exists twice" % (where, check.id))
        checks[check.id] = check
    return dict(sorted(checks.items()))


def check_of(where: str, entry: dict) -> Check:
    """The Check of an entry, a dictionary; only the form of its id is not validated. Raises BadInput."""
    fields = {field.name: field for field in dataclasses.fields(Check) if field.name != "file"}
    refuse_wrong_keys(where, entry, fields)
    references.refuse_wrong_types(where, entry)
    _refuse_wrong_fix(where, entry["fix"])
    check = Check(**dict(entry, needs=tuple(entry["needs"]), sources=tuple(entry["sources"]),
                         fix=dict({"class": None}, **entry["fix"])))
    checked("%s: severity" % where, check.severity, {"type": "str", "choices": _finding.SEVERITIES})
    if check.kind not in KINDS:
        raise unknown_name("%s: the kind" % where, check.kind, sorted(KINDS))
    kind = KINDS[check.kind]
    if bool(kind.want) != ("want" in entry):
        raise BadInput("%s: kind %s %s want" % (where, check.kind, "needs" if kind.want else "takes no"))
    references.refuse_wrong_want(where, check, kind.want)
    references.refuse_wrong_needs(where, check)
    for name in references.EXPRESSIONS:
        if getattr(check, name) is not None:
            compiled(getattr(check, name), "%s: %s" % (where, name))
    references.refuse_wrong_opt_in(where, check)
    references.refuse_wrong_fields(where, entry, kind.want, kind.fields)
    return check


def refuse_wrong_keys(where: str, entry: dict, fields: dict) -> None:
    """Raises BadInput for a key of an entry that is no field, and for a missing one; `fields` are those of a
    dataclass, by name."""
    for key in entry:
        if key not in fields:
            raise unknown_name("%s: the key" % where, key, fields)
    missing = [name for name, field in fields.items() if field.default is dataclasses.MISSING and name not in entry]
    if missing:
        raise BadInput("%s lacks %s" % (where, ", ".join(missing)))


def _refuse_wrong_fix(where, fix):
    for key in fix:
        if key not in _FIX_KEYS:
            raise unknown_name("%s: fix: the key" % where, key, _FIX_KEYS)
    missing = [key for key, required in _FIX_KEYS.items() if required and key not in fix
               or key == "class" and fix.get("role") and not fix.get("class")]
    if missing:
        raise BadInput("%s: fix lacks %s" % (where, ", ".join(missing)))
    checked("%s: fix.class" % where, fix.get("class"), {"type": "str", "choices": FIX_CLASSES})
    part, role = fix.get("part"), fix["role"]
    if role and not part:
        raise BadInput("%s: fix names the role %s and must name its part, one of %s"
                       % (where, role, ", ".join(_parts_of(role)) or "none"))
    if part and part not in PARTS:
        raise unknown_name("%s: the part" % where, part, PARTS)
    if part and role not in (None, PARTS[part]):
        raise BadInput("%s: the part %s belongs to the role %s, not to %s" % (where, part, PARTS[part], role))


def _parts_of(role):
    return [part for part, owner in PARTS.items() if owner == role]


FACT = "node_assess_user_checks"


class Described(NamedTuple):
    """One check; a check of the collection has the `file` None."""

    why: str
    needs: tuple
    sources: tuple
    manual: str
    role: str
    fix_class: str
    file: str


def rows_of(checks, findings):
    """A row for each check of the user among `checks` (all checks by id) that has a finding."""
    judged = {row["check"] for row in findings}
    return [{"check": check.id, "file": check.file, "why": check.why, "needs": list(check.needs),
             "sources": list(check.sources), "manual": check.fix["manual"], "class": check.fix["class"]}
            for check in checks.values() if check.file and check.id in judged]


def of_reports(reports):
    """The rows of all reports, each check once."""
    return list({row["check"]: row for report in reports for row in report.get("user_checks") or ()}.values())


def described(check_id, rows=()):
    """The check with an id, from the collection or from `rows` of the user; None if it is in neither, which may happen
    with an earlier report."""
    check = catalogue().get(check_id)
    if check:
        return Described(check.why, tuple(check.needs), tuple(check.sources), check.fix["manual"], check.fix["role"],
                         check.fix["class"], None)
    for row in rows:
        if row["check"] == check_id:
            return Described(row["why"] or "", tuple(row["needs"]), tuple(row["sources"]), row["manual"], None,
                             row["class"], row["file"])
    return None


def chosen_checks(sections=None, checks=None, skip=None, known=None):
    """The checks of the `sections` (all where none is given) that match one of `checks` (all where none is given) and
    none of `skip`. `known` are all checks by id, here and below; without it those of the collection."""
    return [check for check in _known(known).values() if (not sections or check.section in sections)
            and (not checks or _matches(check.id, checks)) and not _matches(check.id, skip or ())]


def with_users(chosen, known, findings):
    """The `chosen` checks, and the user's checks among `known` that have `findings` in this run and need a section that
    one of `chosen` needs: a fix may have changed their result."""
    judged, sections = {row["check"] for row in findings or ()}, _sections_of(chosen)
    users = [check for check in known.values() if check.file and check.id in judged and check not in chosen]
    return chosen + [check for check in users if sections & _sections_of([check])]


def _sections_of(checks):
    return {need.partition(".")[0] for check in checks for need in check.needs} - {"node_host"}


def _matches(check_id, patterns):
    return any(fnmatch.fnmatchcase(check_id, pattern) for pattern in patterns)


def _known(known):
    return catalogue() if known is None else known


def known_sections(known: dict | None = None) -> list[str]:
    """The letters that check ids begin with."""
    return sorted({check.section for check in _known(known).values()})


def refuse_unknown_sections(where, sections, known=None):
    """Raises BadInput for letters that no check id begins with; `where` names the option or variable."""
    for section in sections:
        if section not in known_sections(known):
            raise unknown_name("%s: the section" % where, section, known_sections(known))


def refuse_unknown_checks(where, patterns, known=None):
    """Raises BadInput for an id or a pattern that no check matches."""
    for pattern in patterns:
        if not any(_matches(check_id, [str(pattern)]) for check_id in _known(known)):
            sections = [section + "*" for section in known_sections(known)]
            raise unknown_name("%s: the check" % where, pattern, sections + list(_known(known)), listed=sections)


def refuse_no_check(where, chosen):
    """Raises BadInput for a selection that leaves nothing: a node that no check looked at must not look healthy."""
    if not chosen:
        raise BadInput("%s leave no check to run" % where)
