# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the causes of errors in logs. PRIVATE to the collection."""

import collections

from ...module_utils._errors import BadInput
from ...module_utils._parse.logs.candidates import is_candidate
from ...module_utils._parse.logs.entries import parse_entries
from .._render.text import escaped
from .causes import CONFIDENCES, SEVERITIES, compiled, rows
from .nest import nest_of, with_effect_of
from .pods import failure_of, tied_pods
from .times import is_later, moment

# A line and the line that explains it are at most this many entries apart; kube-proxy writes both within one call.
_NEAR = 3
_MOST_SOURCE = 400
_MOST_PODS = 5
_ROW = "needs a text, a list of lines, or the lines of log_info (dictionaries with source and text)"


def diagnose(logs, own_ports=None):
    """Findings for a text, a list of lines (oldest first), or rows of log_info (newest first). `own_ports` are the
    ports of kube-proxy on that node, None if they are not known. Raises BadInput."""
    return [{key: value for key, value in row.items() if key not in ("last_of", "undated", "repeats", "lasts")}
            for row in found_in(logs, own_ports)]


def found_in(logs, own_ports=None):
    """The findings of diagnose(), each with `last_of`, `{source: time of the last line of it}`, `undated`: how many of
    its lines have no time that is known, and `repeats` and `lasts` of its nest."""
    found, failures, times = {}, [], collections.defaultdict(list)
    for source, lines in _sources(logs).items():
        for entry, nest, near in _shown(lines, failures, own_ports):
            finding = found.get(nest.core)
            if finding is None or SEVERITIES.index(nest.severity) > SEVERITIES.index(finding["severity"]):
                finding = found[nest.core] = dict(finding or _nothing(), **_described(nest, source))
            finding["beside"] = finding["beside"] or nest.fix_beside(near)
            finding["count"] += entry.count
            times[nest.core].append(entry.time)
            _stretch(finding, entry.time)
            last = finding["last_of"].get(source)
            if moment(entry.time) is None:
                finding["undated"] += entry.count
            elif last is None or is_later(entry.time, last):
                finding["last_of"][source] = entry.time
    for row in times if failures else ():
        pods = tied_pods(failures, row, times[row])
        found[row].update(pods=pods[:_MOST_PODS], pod_count=len(pods))
    for row in found.values():
        row["fix"] = row.pop("beside") or row["fix"]
    return sorted(found.values(), key=lambda row: (-SEVERITIES.index(row["severity"]),
                                                   -CONFIDENCES.index(row["confidence"]), -row["count"], row["cause"]))


def _nothing():
    return {"count": 0, "first": None, "last": None, "pods": [], "pod_count": 0, "last_of": {}, "undated": 0,
            "beside": None}


def _described(nest, source):
    return {"cause": nest.core.id, "meaning": nest.meaning, "severity": nest.severity, "confidence": nest.confidence,
            "check": nest.check, "role": nest.core.role, "fix": nest.fix, "evidence": nest.evidence,
            "source": source and escaped(source[:_MOST_SOURCE]), "repeats": nest.repeats, "lasts": nest.lasts}


def _sources(logs):
    """`{source: its lines, oldest first}`."""
    if isinstance(logs, str):
        return {None: logs.split("\n")}
    if not isinstance(logs, list):
        raise BadInput("%s, not %s" % (_ROW, type(logs).__name__))
    if all(isinstance(row, str) for row in logs):
        return {None: [line for row in logs for line in row.split("\n")]}
    sources = {}
    for row in reversed(logs):
        if not (isinstance(row, dict) and isinstance(row.get("text"), str)
                and isinstance(row.get("source"), (str, type(None)))):
            raise BadInput(_ROW)
        # Between the rows are lines that no row has.
        sources.setdefault(row.get("source"), []).extend(row["text"].split("\n") + [None])
    return sources


def _stretch(finding, time):
    """Extends `first` and `last` of a finding to a time, which may be any text."""
    if moment(time) is None:
        return
    if finding["first"] is None or is_later(finding["first"], time):
        finding["first"] = time
    if finding["last"] is None or is_later(time, finding["last"]):
        finding["last"] = time


def _shown(lines, failures, own):
    """[(entry, nest, text of the messages beside it)] of one source, without the normal ones, effects of another error
    and errors that are over; adds to `failures` the pod sandboxes that were not created."""
    shown, before, opened = [], collections.deque(maxlen=_NEAR), collections.Counter()
    opening, lasting = [row for row in rows() if row.opened_by], collections.defaultdict(list)
    entries = list(parse_entries(lines))
    for at, entry in enumerate(entries):
        for row in [row for row in lasting if compiled(row.over_after).search(entry.text)]:
            for index in lasting.pop(row):
                shown[index] = None
        for row in opening:
            start = compiled(row.opened_by).search(entry.text)
            if start:
                opened[row, start.group(1)] += 1
        nest = nest_of(entry.text) if is_candidate(entry.text) else None
        if nest is None or any(_is_of_another(row.not_beside, entries) for row in nest.rows if row.not_beside):
            continue
        failures += filter(None, [failure_of(entry, nest)])
        silent_after = {name for row in nest.rows for name in row.silent_after}
        is_effect = not silent_after.isdisjoint(before)
        # An entry that follows an effect within the same call is an effect, too.
        before.append(min(silent_after) if is_effect else nest.core.id)
        if nest.core.opened_by:
            is_effect = _is_own(nest.core, nest.at.group(1), own, opened)
        is_normal = nest.is_normal or at and nest.is_normal_after(entries[at - 1].text)
        if not is_normal and not is_effect:
            for row in nest.rows:
                if row.over_after:
                    lasting[row].append(len(shown))
            near = entries[max(0, at - _NEAR):at + _NEAR + 1] if nest.core.fix_where else ()
            shown.append((entry, nest, "\n".join(each.text for each in near)))
    return _causes_alone([each for each in shown if each])


def _is_of_another(pattern, entries):
    """Whether the log has a message that shows another program than the one that a row is about."""
    return any(compiled(pattern).search(entry.text) for entry in entries)


def _causes_alone(shown):
    """Without the messages of an agent that only have an effect, where another one has the cause: the one before it, or
    otherwise the next one, which gets that effect. An unknown error in the same second as a known one follows from it,
    where it is not graver."""
    last, early, effects, kept = {}, {}, {}, []
    for agent, entry, nest, near in _of_agents(shown):
        before, cause = last.get(agent, (None, None))
        if nest.is_effect:
            kept.append((agent, entry, nest, near))
            if cause is None:
                early[agent] = _graver(nest, early.get(agent))
            else:
                effects[agent, cause.core] = _graver(nest, effects.get((agent, cause.core)))
        elif not (cause and nest.is_unknown and not cause.is_unknown and _second(entry) == _second(before)
                  and _graver(cause, nest) is cause):
            kept.append((agent, entry, nest, near))
            last[agent] = entry, nest
            if agent in early:
                effects[agent, nest.core] = _graver(early.pop(agent), effects.get((agent, nest.core)))
    return [(entry, with_effect_of(nest, effects.get((agent, nest.core))), near) for agent, entry, nest, near in kept
            if not nest.is_effect or agent not in last]


def _of_agents(shown):
    """(agent or None, entry, nest, near) of each message. The line of a tool that stands alone, in the same second
    right after a message of an agent that has no cause, is what that agent logs of it."""
    caller, second = None, None
    for entry, nest, near in shown:
        agent = nest.agent or (caller if _second(entry) == second and nest.core.who != "kernel" else None)
        yield agent, entry, nest, near
        caller, second = (agent if nest.is_effect else None), _second(entry)


def _graver(nest, other):
    """The graver one of two nests, the first one where they are equal."""
    return max(filter(None, (nest, other)), key=lambda each: SEVERITIES.index(each.severity))


def _second(entry):
    return (entry.time or "").partition(".")[0]


def _is_own(row, name, own, opened):
    """Whether the writer itself holds the object that it reports as taken: `own` are the objects that it holds, or
    None; `opened` counts how often it tried to open each object."""
    if own is not None:
        return name in map(str, own)
    if (row, name) not in opened:
        return True  # Not known; with two address families the writer holds it each time.
    # If the writer opens an object twice, one attempt succeeds, so there are more attempts than failures.
    opened[row, name] -= 1
    return opened[row, name] > 0
