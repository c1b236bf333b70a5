# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Matches lines of logs against the causes. PRIVATE to the collection."""

import collections

from ..module_utils._errors import BadInput
from ..module_utils._parse.logs.candidates import is_candidate
from ..module_utils._parse.logs.entries import parse_entries
from ..module_utils._parse.secrets import masked_line
from ._log_causes import CONFIDENCES, causes, compiled
from ._log_pods import failure_of, tied_pods
from ._log_times import is_later, moment
from ._render.text import escaped

# A line and the line that explains it are at most this many entries apart; kube-proxy writes both within one call.
_NEAR = 3
_MOST_SOURCE = 400
_MOST_PODS = 5
_ROW = "needs a text, a list of lines, or the lines of log_facts (dictionaries with source and text)"


def diagnose(logs, own_ports=None):
    """Findings for a text, a list of lines (oldest first), or rows of log_facts (newest first). `own_ports` are the
    ports of kube-proxy on that node, None if they are not known. Raises BadInput."""
    return [{key: value for key, value in row.items() if key not in ("last_of", "undated")}
            for row in found_in(logs, own_ports)]


def found_in(logs, own_ports=None):
    """The findings of diagnose(), each with `last_of`, `{source: time of the last line of it}`, and `undated`: how many
    of its lines have no time that is known."""
    found, failures, times = {}, [], collections.defaultdict(list)
    for source, lines in _sources(logs).items():
        for cause, shown in _shown(lines, failures, own_ports).items():
            finding = found.get(cause.id)
            if finding is None:
                finding = found[cause.id] = {
                    "cause": cause.id, "meaning": " ".join(cause.meaning.split()), "confidence": cause.confidence,
                    "check": cause.check, "role": cause.role, "fix": " ".join(cause.fix.split()),
                    "evidence": shown[0][1], "source": source and escaped(source[:_MOST_SOURCE]), "count": 0,
                    "first": None, "last": None, "pods": [], "pod_count": 0, "last_of": {}, "undated": 0}
            for entry, _text in shown:
                finding["count"] += entry.count
                times[cause].append(entry.time)
                _stretch(finding, entry.time)
                last = finding["last_of"].get(source)
                if moment(entry.time) is None:
                    finding["undated"] += entry.count
                elif last is None or is_later(entry.time, last):
                    finding["last_of"][source] = entry.time
    for cause in times if failures else ():
        pods = tied_pods(failures, cause, times[cause])
        found[cause.id].update(pods=pods[:_MOST_PODS], pod_count=len(pods))
    return sorted(found.values(), key=lambda row: (-CONFIDENCES.index(row["confidence"]), -row["count"], row["cause"]))


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
    """`{cause: [(entry, the line that shows it)]}` of one source, without causes that are normal, an effect of another
    cause, or over; adds to `failures` the pod sandboxes that were not created."""
    shown, before, opened = {}, collections.deque(maxlen=_NEAR), collections.Counter()
    ending = [cause for cause in causes() if cause.over_after]
    opening = [cause for cause in causes() if cause.opened_by]
    for entry in parse_entries(lines):
        for cause in ending:
            if cause in shown and compiled(cause.over_after).search(entry.text):
                del shown[cause]
        for cause in opening:
            start = compiled(cause.opened_by).search(entry.text)
            if start:
                opened[cause, start.group(1)] += 1
        best = _best(entry.text) if is_candidate(entry.text) else None
        if best is None:
            continue
        cause, match = best
        failures += filter(None, [failure_of(entry, cause)])
        is_effect = any(name in before for name in cause.silent_after)
        # An entry that follows an effect within the same call is an effect, too.
        before.append(cause.silent_after[0] if is_effect else cause.id)
        if cause.opened_by:
            is_effect = _is_own(cause, match.group(1), own, opened)
        if not cause.normal and not is_effect:
            shown.setdefault(cause, []).append((entry, _evidence(entry.text, match)))
    return shown


def _is_own(cause, name, own, opened):
    """Whether the writer itself holds the object that it reports as taken: `own` are the objects that it holds, or
    None; `opened` counts how often it tried to open each object."""
    if own is not None:
        return name in map(str, own)
    if (cause, name) not in opened:
        return True  # Not known; with two address families the writer holds it each time.
    # If the writer opens an object twice, one attempt succeeds, so there are more attempts than failures.
    opened[cause, name] -= 1
    return opened[cause, name] > 0


def _best(text):
    """(cause, match) of the cause that fits best: with the highest confidence; of equal ones, one that is not normal;
    then the last match in the text, because a caller nests the message of its tool in its own message."""
    matches = [(cause, cause.found_in(text)) for cause in causes()]
    return max(((cause, match) for cause, match in matches if match), default=None,
               key=lambda each: (CONFIDENCES.index(each[0].confidence), not each[0].normal, each[1].start()))


def _evidence(text, match):
    """The line of an entry that holds the match, without secrets and control characters."""
    start = text.rfind("\n", 0, match.start()) + 1
    line = text[start:].split("\n", 1)[0]
    return escaped(masked_line(line.strip(), 400))
