# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes findings from checks and evidence. The code handles kinds of checks, but no single check. PRIVATE to the
collection.

The few values of the evidence that a finding rests on, as lines of text.

These are the fields of the offending row that the check names in its expressions or texts, and the single values whose
paths stand in its expressions.
"""

import functools
import re
import shlex

from .. import _finding
from .._bundle import bundles
from .._joins.table import reads_of
from .._needs import node_needs
from .._render.text import escaped_lines
from . import references
from .expressions import paths_of, search
from .kinds import KINDS

_LINES = 8
_LINE = 160
_NAMED = 3
_WORD = re.compile(r"\w+")
# A finding has its own key for the subject; the controller makes the other fields, not the node.
_OURS = frozenset(("subject", "want", "manual", "advice", "without_role"))
_EMPTY = (None, "", [], {})
_NOT_READ = ("denied", "timeout", "unparsed")


def basis_of(check, evidence, row=None):
    """The lines, or None if there are no lines; `row` is the offending row as a dict, or None."""
    paths = {path: value for path, value in _values(check, evidence) if not isinstance(value, (dict, list))}
    # A judge that compares a single value puts it into a row; such a value is not printed twice.
    known = [(name, value) for path, value in paths.items() for name in ("value", path.rpartition(".")[2])]
    lines = []
    if row:
        named = _named(check.select, check.subject, check.problem, check.observed)
        lines = ["%s: %s" % (name, _shown(value)) for name, value in row.items()
                 if value not in _EMPTY and name in named and (name, value) not in known]
    else:
        lines = ["%s.collected.%s: %s" % source for source in _unread_lines(check, evidence)]
    lines += ["%s: %s" % (path, _shown(value)) for path, value in paths.items()]
    return "\n".join(_cut(line) for line in lines[:_LINES]) or None


def _values(check, evidence):
    """(path, value) of each path to evidence in the expressions of a check, the paths of its select first."""
    for path in _paths(check.select, check.unknown, check.applies_when):
        *above, key = path.split(".")
        place = evidence
        for name in above:
            place = place.get(name) if isinstance(place, dict) else None
        if isinstance(place, dict) and key in place:
            yield path, place[key]


@functools.lru_cache(maxsize=None)
def _paths(*expressions):
    found = [path for expression in expressions if expression for named in paths_of(expression)
             for path in reads_of(named)]
    return tuple(dict.fromkeys(path for path in found if path.startswith("node_")))


@functools.lru_cache(maxsize=None)
def _named(*texts):
    """Words of an expression, and fields of the texts that are filled in."""
    select, *filled = texts
    return frozenset(_WORD.findall(select)).union(*(references.FIELD.findall(text or "") for text in filled)) - _OURS


def _unread_lines(check, evidence):
    """(section, source, status) of each source that the check needs and the look could not read."""
    for need in check.needs:
        section, _dot, source = need.partition(".")
        found = evidence.get(section)
        collected = found.get("collected") if isinstance(found, dict) else None
        for name in sorted(collected) if isinstance(collected, dict) else ():
            if source in ("", name) and collected[name] in _NOT_READ:
                yield section, name, collected[name]


def _shown(value):
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        more = " and %d more" % (len(value) - _NAMED) if len(value) > _NAMED else ""
        return ", ".join(map(_shown, value[:_NAMED])) + more
    if isinstance(value, dict):
        return " ".join("%s %s" % (name, _shown(part)) for name, part in value.items() if part not in _EMPTY)
    return str(value)


def _cut(line):
    line = " ".join(escaped_lines(line[:2 * _LINE]).split())
    return line if len(line) <= _LINE else line[:_LINE - 3] + "..."


# A source with one of these statuses was not read, so no check that needs it may pass.
_UNREAD = {"denied": "may not be read (denied)", "timeout": "was not read in time (timeout)",
           "unparsed": "cannot be read as what it should be (unparsed)"}
_BUNDLE = "bundle"
_NO_REASON = "the node gives no reason"
# Characters of one text of a finding; a list of a node may be long.
_TEXT_LIMIT = 2000


def evaluate(checks, evidence, policy, not_reached=None, problems=None):
    """All findings of one host; `not_reached` is the reason why there is no evidence at all, `problems` are the reasons
    why sections are not used."""
    findings = []
    for check in checks:
        reason = not_reached or problems and _problem(check, problems)
        if reason:
            findings.append(_unknown(check, reason))
        elif check.opt_in and not policy.values[check.opt_in]:
            findings.append(_finding.finding(check, _finding.SKIP, reason="node_policy_%s is false" % check.opt_in))
        elif (evidence.get("node_host") or {}).get("place") == _BUNDLE:
            findings += bundles.within(check, _evaluate(check, evidence, policy), evidence)
        else:
            findings += _evaluate(check, evidence, policy)
    return findings


def _problem(check, problems):
    """Why a section that the check needs is not used, or None. Every check needs node_host, because remedies depend on
    it."""
    needed = ["node_host"] + [need.partition(".")[0] for need in check.needs]
    needed += node_needs.SECTIONS if "requirements" in needed else ()
    return next((problems[name] for name in needed if name in problems), None)


def _evaluate(check, evidence, policy):
    missing = [name for name in check.needs if name.partition(".")[0] not in evidence]
    if missing:
        return [_unknown(check, "%s was not collected" % missing[0].partition(".")[0], evidence)]
    if check.applies_when is not None:
        applies, problem = search(check.applies_when, evidence)
        if applies is None:
            return [_unknown(check,
                             "whether the check applies here is not known: %s" % (_unread(check, evidence) or problem),
                             evidence)]
        if not applies:
            return [_finding.finding(check, _finding.SKIP, reason=check.skipped)]
    doubts, problem = search(check.unknown, evidence) if check.unknown else ([], None)
    if doubts is None or doubts and isinstance(doubts, (bool, str, int, float)):
        return [_unknown(check, problem or (one_line(doubts) if isinstance(doubts, str) else _NO_REASON), evidence)]
    offenders, problem = _judge(check, evidence, policy)
    if offenders is None:
        return [_unknown(check, problem, evidence)]
    noted = _is_noted(check)
    found = [] if noted else _failures(check, offenders, evidence, policy)
    unread = _unread(check, evidence)
    if doubts:
        found.append(_doubtful(check, doubts, policy, evidence))
    elif unread:
        found.append(_unknown(check, unread, evidence))
    return found or [_finding.finding(check, _finding.PASS, expected=check.title,
                                      observed=_notes(check, offenders, policy) if noted else "")]


def _is_noted(check):
    """Whether offenders are no failures; a policy that raises the severity of the check makes them failures."""
    return check.note is not None and check.severity == _finding.SEVERITIES[0]


def _notes(check, offenders, policy):
    texts = list(dict.fromkeys(_text(check.note, row) for row in offenders))
    limit = policy.values["max_offenders"]
    return "; ".join(texts[:limit] + (["and %d more" % (len(texts) - limit)] if len(texts) > limit else []))


def _judge(check, evidence, policy):
    selected, problem = search(check.select, evidence)
    if selected is None:
        return None, problem
    try:
        return KINDS[check.kind].judge(selected, wanted(check, policy)), None
    except KeyError as error:
        return None, "a row of select lacks %s" % error.args
    except (TypeError, ValueError) as error:
        return None, str(error)


def wanted(check, policy):
    """`want` is the name of a policy value or a literal."""
    if isinstance(check.want, str) and check.want in policy.values:
        return policy.values[check.want]
    return check.want


def _unread(check, evidence):
    """Which needed source was not read and why, or an empty text."""
    for need in check.needs:
        section, _dot, source = need.partition(".")
        if section == "requirements":
            continue  # Derived here; `needs` lists its sources by their own names.
        collected = evidence[section].get("collected") if isinstance(evidence[section], dict) else None
        if not isinstance(collected, dict):
            return "%s does not show what was read" % section
        unread = [name for name, status in collected.items() if str(status) in _UNREAD and source in ("", name)]
        if unread:
            return "%s of %s %s" % (min(unread), section, _UNREAD[str(collected[min(unread)])])
    return ""


def _unknown(check, reason, evidence=None):
    return _finding.finding(check, _finding.UNKNOWN, reason=reason,
                            evidence=basis_of(check, evidence) if evidence else None)


def _doubtful(check, doubts, policy, evidence):
    names = list(dict.fromkeys(_doubtful_name(check, row) for row in doubts))
    limit = policy.values["max_offenders"]
    more = ", and %d more" % (len(names) - limit) if len(names) > limit else ""
    reasons = sorted({str(row["evidence"]) for row in doubts if isinstance(row, dict) and row.get("evidence")})
    return _finding.finding(check, _finding.UNKNOWN, observed="not known: %s%s" % (", ".join(names[:limit]), more),
                            reason="; ".join(reasons[:3]) or _NO_REASON, evidence=basis_of(check, evidence))


def _doubtful_name(check, row):
    """A row for unread evidence lacks the fields of a subject, but may have its own `subject`."""
    return _text("{subject}" if isinstance(row, dict) and row.get("subject") else check.subject, row)


def _failures(check, offenders, evidence, policy):
    """One finding for each subject, up to max_offenders, and then one that counts the rest."""
    limit = policy.values["max_offenders"]
    want = wanted(check, policy)
    found = []
    for offender in offenders[:limit]:
        row = dict(offender) if isinstance(offender, dict) else {"subject": offender, "value": offender}
        row.setdefault("want", want)
        found.append(
            _finding.finding(
                check, _finding.FAIL, subject=_text(check.subject, row), observed=_text(check.observed, row),
                expected=_text(check.expected, row), reason=_text(check.reason, row)
                if check.reason else one_line(check.why), remediation=_remediation(check, row, evidence),
                problem=_text(check.problem, row) if check.problem else None, evidence=basis_of(check, evidence, row)))
    more = max(0, len(offenders) - limit) + (_left_out(check, evidence) if offenders else 0)
    if more:
        found.append(
            _finding.finding(
                check, _finding.FAIL, subject="and %d more" % more,
                observed="%d in all" % (min(len(offenders), limit) + more), expected=check.title,
                reason=one_line(check.why), remediation="As for the other subjects.",
                problem="... and %d more (%d in all)" % (more, min(len(offenders), limit) + more)
                if check.problem else None))
    return found


def _left_out(check, evidence):
    """The number of offenders that the node did not name, for example because its answer is limited."""
    number = search(check.left_out, evidence)[0] if check.left_out else 0
    return number if isinstance(number, int) else 0


def _remediation(check, row, evidence):
    """A select may give a row its own `manual`, if the `manual` of the check does not help, and `without_role`, if its
    role does not."""
    manual = _text(one_line(row.get("manual") or check.fix["manual"] or ""), row)
    host = evidence.get("node_host") or {}
    if check.fix["role"] and host.get("immutable"):
        return ("This node is immutable (%s), so nothing is changed on it; build the change into the image or its "
                "configuration. %s" % (
                    host.get("immutable_by") or "by detection", manual))
    if check.fix["role"] and not row.get("without_role"):
        # The manual may be a command: the sentence about the role must not become its arguments when it is copied.
        classed = _class_of(check, host)
        by = "playbook repair" if classed == "disruptive" else "role %s" % check.fix["role"]
        return "%s; or %s (%s)." % (manual.rstrip("."), by, classed)
    return manual


def _class_of(check, host):
    """As in _select.fixable: an image has no running service that could be disrupted."""
    return "guarded" if host.get("place") == "image" and check.fix["class"] == "disruptive" else check.fix["class"]


def one_line(text, limit=_TEXT_LIMIT):
    """`text` without line ends and of a sane length."""
    words = " ".join(escaped_lines(str(text)[:limit * 2]).split())
    return words if len(words) <= limit else words[:limit - 3] + "..."


def _text(template, row):
    """The template with `{field}` filled from the offender, quoted for a shell where it is `{field!q}`; a list is
    joined, null becomes `unknown`."""
    if not isinstance(row, dict):
        row = {"subject": row, "value": row}

    def field(match):
        value = row.get(match.group(1))
        if isinstance(value, list):
            return ", ".join(str(item) for item in value)
        if isinstance(value, bool):
            return str(value).lower()  # As in the configuration files that users compare it with.
        return "unknown" if value is None else str(value)

    def filled(match):
        return shlex.quote(field(match)) if match.group().endswith(references.QUOTED) else field(match)

    return one_line(references.FIELD.sub(filled, template))
