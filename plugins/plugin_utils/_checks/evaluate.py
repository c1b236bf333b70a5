# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes findings from checks and evidence. The code handles kinds of checks, but no single check. PRIVATE to the
collection."""

import shlex

from .. import _finding
from .._bundle import bundles
from .._needs import node_needs
from .._render.text import escaped_lines
from . import references
from .basis import basis_of
from .expressions import search
from .kinds import KINDS

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
