# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causes of log lines, as the entries of roles/node_policy/files/log_causes. PRIVATE to the collection."""

import dataclasses
import functools
import re

from ..module_utils._errors import BadInput
from . import _catalogue
from ._options import unknown_name
from ._role_data import ROLES, load_yaml

CONFIDENCES = ("low", "middle", "high")
# A repeat without an upper limit can take polynomial time in the length of a hostile line.
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
_QUOTED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]")
_MOST_REPEATS = 1000
_UP_TO = re.compile(r"\{(?:\d+,)?(\d+)\}")


@dataclasses.dataclass(frozen=True)
class Cause:
    """One entry. `normal` means that healthy nodes write the line, too. After the line of a cause in `silent_after`,
    this cause is only an effect. A line that matches `over_after` ends the cause. `opened_by` matches the line that the
    program writes before the attempt that failed; the first group of both patterns names the object. While the fault
    lasts, the line is repeated within `repeats` seconds, and the start of a pod may wait for its end for `delays_pods`
    seconds. `since` and `until` are versions of the program that writes the line."""

    id: str
    pattern: str
    meaning: str
    fix: str
    confidence: str
    example: str
    check: str = None
    role: str = None
    since: str = None
    until: str = None
    normal: bool = False
    silent_after: tuple = ()
    over_after: str = None
    opened_by: str = None
    repeats: int = None
    delays_pods: int = None

    def found_in(self, text):
        """The match of the pattern in a text, or None."""
        return compiled(self.pattern).search(text)


@functools.lru_cache(maxsize=None)
def compiled(pattern: str) -> re.Pattern:
    """A pattern of an entry, compiled once."""
    return re.compile(pattern)


@functools.lru_cache(maxsize=1)
def causes() -> tuple:
    """All causes in the order of their files; read and validated once in a process."""
    entries = []
    for path in sorted((ROLES / "node_policy" / "files" / "log_causes").glob("*.yml")):
        entries += [(path.name, entry) for entry in load_yaml(path)]
    return causes_of(entries)


def causes_of(entries):
    """A tuple of `Cause` of `[(where, entry)]`. Raises BadInput for an invalid entry."""
    found = {}
    for where, entry in entries:
        cause = _cause_of("%s: %s" % (where, entry.get("id") or "an entry without id"), entry)
        if cause.id in found:
            raise BadInput("%s: the id %s exists twice" % (where, cause.id))
        found[cause.id] = cause
    for cause in found.values():
        for name in cause.silent_after:
            if name not in found:
                raise unknown_name("%s: silent_after" % cause.id, name, found)
    return tuple(found.values())


def _cause_of(where, entry):
    fields = {field.name: field for field in dataclasses.fields(Cause)}
    for key in entry:
        if key not in fields:
            raise unknown_name("%s: the key" % where, key, fields)
    missing = [name for name, field in fields.items() if field.default is dataclasses.MISSING and not entry.get(name)]
    if missing:
        raise BadInput("%s lacks %s" % (where, ", ".join(missing)))
    cause = Cause(**dict(entry, silent_after=tuple(entry.get("silent_after", ()))))
    if cause.confidence not in CONFIDENCES:
        raise BadInput("%s: confidence must be one of %s" % (where, ", ".join(CONFIDENCES)))
    for key in ("pattern", "over_after", "opened_by"):
        _refuse_wrong_pattern("%s: %s" % (where, key), getattr(cause, key))
    if not cause.found_in(cause.example):
        raise BadInput("%s: pattern is not found in example" % where)
    if cause.check and cause.check not in _catalogue.catalogue():
        raise unknown_name("%s: the check" % where, cause.check, _catalogue.catalogue())
    if cause.role and cause.role not in _catalogue.PARTS.values():
        raise unknown_name("%s: the role" % where, cause.role, set(_catalogue.PARTS.values()))
    return cause


def _refuse_wrong_pattern(where, pattern):
    try:
        compiled(pattern or "")
    except re.error as error:
        raise BadInput("%s is not a regular expression: %s" % (where, error)) from None
    bare = _QUOTED.sub("c", pattern or "")
    if _UNBOUNDED.search(bare) or any(int(most) > _MOST_REPEATS for most in _UP_TO.findall(bare)):
        raise BadInput("%s repeats without a limit; write {0,80} in place of * and +" % where)
