# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes, as the entries of roles/node_policy/files/causes. PRIVATE to the collection."""

import dataclasses
import functools
from collections.abc import Iterable

from ...module_utils._errors import BadInput
from .._checks import catalogue as _checks
from .._checks.expressions import compiled
from .._options import checked, unknown_name
from .._role_data import ROLES, load_yaml

# What users feel, the worst first. A cause with an effect of `later` waits for a boot or a load, one of `none` harms no
# connection.
EFFECTS = ("all_services", "some_services", "pods", "later", "none")
CERTAINTIES = ("sure", "likely")
_FIX_KEYS = ("class", "command")


@dataclasses.dataclass(frozen=True)
class Cause:
    """One entry. `holds` is an expression over the sections of evidence, `failing` ({check: its findings}) and `host`;
    each of its rows is one cause on the node, and the texts take their fields from it (judge.causes_of() has the fields
    of a row). `explains` are the checks whose findings it explains. Of two causes that explain a finding the one with
    the higher `specific` gets it."""

    id: str
    sentence: str
    effect: str
    felt: str
    certainty: str
    specific: int
    holds: str
    explains: tuple
    fix: dict
    then: str
    sources: tuple
    since: str = ""
    evidence: str = ""


@functools.lru_cache(maxsize=1)
def causes() -> "tuple[Cause, ...]":
    """All causes, the most specific first; read and validated once in a process."""
    entries = [(path.name, entry) for path in sorted((ROLES / "node_policy" / "files" / "causes").glob("*.yml"))
               for entry in load_yaml(path)]
    return causes_of(entries)


def causes_of(entries: Iterable["tuple[str, dict]"]) -> "tuple[Cause, ...]":
    """The causes of `[(where, entry)]`, the most specific first. Raises BadInput for an invalid entry."""
    found = {}
    for where, entry in entries:
        cause = _cause_of("%s: %s" % (where, entry.get("id") or "an entry without id"), entry)
        if cause.id in found:
            raise BadInput("%s: the id %s exists twice" % (where, cause.id))
        found[cause.id] = cause
    return tuple(sorted(found.values(), key=lambda cause: (-cause.specific, cause.id)))


def _cause_of(where, entry):
    _checks.refuse_wrong_keys(where, entry, {field.name: field for field in dataclasses.fields(Cause)})
    cause = Cause(**dict(entry, explains=tuple(entry["explains"]), sources=tuple(entry["sources"])))
    checked("%s: felt" % where, cause.felt, {"type": "str", "choices": EFFECTS})
    checked("%s: certainty" % where, cause.certainty, {"type": "str", "choices": CERTAINTIES})
    checked("%s: specific" % where, cause.specific, {"type": "int"})
    compiled(cause.holds, "%s: holds" % where)
    for check in cause.explains:
        if check not in _checks.catalogue():
            raise unknown_name("%s: explains: the check" % where, check, _checks.catalogue())
    for key in cause.fix:
        if key not in _FIX_KEYS:
            raise unknown_name("%s: fix: the key" % where, key, _FIX_KEYS)
    checked("%s: fix.class" % where, cause.fix.get("class"), {"type": "str", "choices": _checks.FIX_CLASSES})
    return cause
