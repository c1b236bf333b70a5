# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which causes hold on a node, and which findings each of them explains. The code handles causes, but no single one.
PRIVATE to the collection.

The causes, as the entries of roles/node_policy/files/causes.
"""

import dataclasses
import functools
import re
import shlex
from collections.abc import Iterable

from ...module_utils._errors import BadInput
from .. import _finding
from .._checks import catalogue as _checks
from .._checks.expressions import compiled, search
from .._options import checked, unknown_name
from .._role_data import ROLES, load_yaml
from .commands import fields_of

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
    return causes_from(entries)


def causes_from(entries: Iterable["tuple[str, dict]"]) -> "tuple[Cause, ...]":
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


# Words that begin a sentence and are no names.
_OPENING = ("The", "A", "An", "No", "Rules", "Required", "After", "Address", "Some", "None", "Packets", "Commands")
# A finding without a cause is its own: what users feel by its severity.
_FELT = {"high": "some_services", "medium": "pods", "low": "later", "info": "none"}
_LOG_KIND = "log_causes"
_FAMILIES = {"IPv4": re.compile(r"\bipv4\b|\btable ip\b", re.IGNORECASE),
             "IPv6": re.compile(r"\bipv6\b|\btable ip6\b", re.IGNORECASE)}
# The first sentence of a remediation; the roles and playbooks that it ends with are what the cause itself names.
_SENTENCE = re.compile(r"(.*?)(?:\. (?=[A-Z])|\.?$)", re.DOTALL)
_OR_ROLE = re.compile(r"; or (?:role|playbook) \w+ \(\w+\)\.?$")
_PLACEHOLDER = re.compile(r"(?<![\w-])NODE(?![\w-])")
_REMAINDER = re.compile(r"and [0-9]+ more$")
_AUDIT = "ansible-playbook kubenode.netfilter.audit -b"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def causes_of(findings, known, host, catalogue=None, node=None):
    """The causes of the failing findings of one host, the one that users feel most first: `cause` (an id, or None for a
    finding that is its own cause), `sentence`, `short` (the sentence without its details), `effect`, `felt`,
    `certainty`, `since`, `evidence`, `fix`, `then`, `class`, `severity` (the worst of its findings) and `explains`,
    rows of `check` and `subject`. `known` are the sections of evidence, `host` is the name for commands, and `node`
    that for kubectl, by default the same. Each failing finding is in exactly one of them.

    A row of a cause that holds may have, besides the fields of its texts:

    `lead`     findings that show the cause; a lead that a more specific cause explains does not count, and without one
               that is left the row does not hold. The texts get `problem`, `subject`, `observed`, `reason` and
               `remedy` (the first sentence of its remediation; `do` where the row has none) of the first one, and
               `more`, such as " (and 2 more)"
    `joined`   family: a finding must be of an address family of the leads (`families` in texts), if it is of one;
               subject: it must name a subject of the leads
    `of`       texts, one of which a finding must name
    `only`     {check: texts, one of which its findings must name}
    `logs`     words, one of which a finding about a log must have; without them no such finding is explained
    `by`       findings of what did it, of which one must be of a family of the leads, if it names one; the texts get
               `by`, its subject, and `by_problem`
    `times`    rows of `of` and `seconds`: how long ago what `by` names last ran. That of the first finding of `by` is
               given as `when`, such as " about 12 min ago", where it is less than `after`, seconds
    `seconds`  the age of the cause, `ago` in texts
    """
    failing, names = {}, {"host": shlex.quote(host), "node": shlex.quote(node or host)}
    for row in findings:
        if row["status"] == _finding.FAIL:
            failing.setdefault(row["check"], []).append(row)
    scope = dict(known, failing=failing, **names, **fields_of(known, **names))
    left = {id(row): row for rows in failing.values() for row in rows if not _is_remainder(row)}
    found = []
    for cause in (causes() if catalogue is None else catalogue) if failing else ():
        if any(check in failing for check in cause.explains):
            for held in _held(cause, scope):
                row = _instance(cause, held, left, names)
                if row:
                    found.append(row)
                    left = {key: each for key, each in left.items() if not any(each is one for one in row["rows"])}
    found += [_own(row, names) for row in left.values()]
    _add_remainders(found, [row for rows in failing.values() for row in rows if _is_remainder(row)], names)
    for row in found:
        rows = row.pop("rows")
        row.update(severity=max((each["severity"] for each in rows), key=_finding.SEVERITIES.index),
                   explains=[{"check": each["check"], "subject": each["subject"]} for each in rows])
    return sorted(found, key=lambda row: (
        EFFECTS.index(row["felt"]), CERTAINTIES.index(row["certainty"]),
        -_finding.SEVERITIES.index(row["severity"]), row["cause"] is None, row["sentence"]))


def _is_remainder(row):
    """Whether a finding counts further subjects of its check."""
    return row["expected"] == row["title"] and _REMAINDER.match(row["subject"]) is not None


def _add_remainders(found, remainders, names):
    """Adds each of them to the cause that explains most of the findings of its check that are named."""
    for row in remainders:
        shares = [sum(each["check"] == row["check"] for each in cause["rows"]) for cause in found]
        if any(shares):
            found[shares.index(max(shares))]["rows"].append(row)
        else:
            found.append(_own(row, names))


def _held(cause, scope):
    """The rows of a cause that holds; an expression that meets missing evidence does not hold."""
    rows = search(cause.holds, scope)[0]
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _instance(cause, held, left, names):
    """A cause with the findings that it explains, or None."""
    # A row may be selected twice.
    lead, by = (list({id(row): row for row in held.get(key) or () if id(row) in left}.values())
                for key in ("lead", "by"))
    families = {name for row in lead for name in _families(row["subject"])}
    by = [row for row in by if not families or not _families(_words_of(row)) or families & _families(_words_of(row))]
    if "lead" in held and not lead or "by" in held and not by:
        return None
    held = {key: value for key, value in held.items() if value is not None and key not in ("lead", "by")}
    held = {**(_lead_fields(lead) if lead else {}), **names, **held}
    if by:
        held.update(by=by[0]["subject"], by_problem=_problem(by[0]), when=_when(by[0], held))
    if held.get("seconds") is not None:
        held["ago"] = _ago(held["seconds"])
    mine = lead + by
    mine += [row for row in left.values() if row["check"] in cause.explains
             and _belongs(row, held, lead, families) and not any(row is each for each in mine)]
    if not mine:
        return None
    texts = {name: _filled(getattr(cause, name), held) for name in ("sentence", "effect", "since", "evidence", "then")}
    short = _filled(cause.sentence.partition(": {")[0], dict(held, more=""))
    return dict(texts, short=short, cause=cause.id, felt=cause.felt, certainty=cause.certainty, rows=mine,
                fix=_filled(cause.fix["command"], held), **{"class": cause.fix["class"]})


def _when(by, held):
    """When the program of a finding last ran: empty where that is not known, or was too long ago to be the cause."""
    seconds = [row["seconds"] for row in held.get("times") or () if row["of"] == by["subject"]]
    recent = seconds and held.get("after") and min(seconds) < held["after"]
    return " about %s ago" % _ago(min(seconds)) if recent else ""


def _filled(template, held):
    """A text of a cause. A field that begins it keeps its capital letter."""
    text = template.format_map(_Fields(held)).strip()
    return held["problem"][:1] + text[1:] if template.startswith("{problem}") and "problem" in held else text


def _lead_fields(lead):
    first, remedy = lead[0], _first_sentence(lead[0]["remediation"])
    families = [name for name in _FAMILIES if any(name in _families(row["subject"]) for row in lead)]
    return {"problem": _problem(first), "subject": first["subject"], "observed": first["observed"],
            "reason": first["reason"].rstrip("."), "remedy": remedy, "do": remedy,
            "more": " (and %d more)" % (len(lead) - 1) if len(lead) > 1 else "", "families": " and ".join(families)}


def _problem(row):
    return row["problem"] or "%s: %s" % (row["title"], row["subject"])


def _belongs(row, held, lead, families):
    """Whether the evidence joins a finding to the row of a cause."""
    if _is_of_log(row):
        words = _words_of(row) + " " + row["remediation"]
        return any(str(word) in words for word in held.get("logs") or ())
    only = held.get("only") or {}
    if row["check"] in only:
        return _names(row, only[row["check"]] or [])
    if held.get("joined") == "family":
        mine = _families(row["subject"])
        if mine and families and not mine & families:
            return False
    if held.get("joined") == "subject":
        return _names(row, [each["subject"] for each in lead])
    return _names(row, held.get("of"))


def _names(finding, texts):
    """Whether a finding names one of the texts as whole words; None stands for any finding."""
    if texts is None:
        return True
    words = _words_of(finding)
    return any(text and re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(str(text)), words) for text in texts)


def _words_of(finding):
    return " ".join((finding["subject"], finding["problem"] or "", finding["observed"], finding["reason"]))


def _families(text):
    """The address families that a text names; only the first one where it begins with it."""
    named = [name for name, pattern in _FAMILIES.items() if pattern.search(text)]
    return {name for name in named if text.startswith(name.lower() + " ")} or set(named)


def _is_of_log(row):
    check = _checks.catalogue().get(row["check"])
    return check is not None and check.kind == _LOG_KIND


def _own(row, names):
    check = _checks.catalogue().get(row["check"])
    return {"cause": None, "sentence": _finding.problem_of(row), "short": row["problem"] or row["title"], "effect": "",
            "since": "", "evidence": "", "felt": _FELT[row["severity"]], "certainty": "sure", "rows": [row],
            "fix": _PLACEHOLDER.sub(lambda _at: names["host"], row["remediation"]),
            "then": "%s -l %s: %s passes" % (_AUDIT, names["host"], row["check"]),
            "class": check.fix["class"] if check else None}


def _first_sentence(text):
    return _SENTENCE.match(_OR_ROLE.sub("", text)).group(1)


def _ago(seconds):
    """A number of seconds in its two largest units."""
    left, parts = int(seconds), []
    for size, unit in _UNITS:
        if left >= size and len(parts) < 2:
            parts.append("%d %s" % (left // size, unit))
            left %= size
        elif parts:
            break
    return " ".join(parts) or "0 s"


def names_of(cause):
    """{(check, subject)} of the findings that a cause explains."""
    return {(row["check"], row["subject"]) for row in cause["explains"]}


def within(text):
    """A sentence as a part of another one."""
    first, blank, rest = text.partition(" ")
    return first.lower() + blank + rest if first in _OPENING else text


class _Fields(dict):
    """The fields of a row for the texts of a cause; lists are joined."""

    def __missing__(self, key):
        return ""

    def __getitem__(self, key):
        value = dict.get(self, key, "")
        return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else within(str(value))
