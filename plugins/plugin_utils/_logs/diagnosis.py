# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the causes of errors in logs. PRIVATE to the collection.

Pods whose sandbox was not created, linked to the cause that the logs show.

kubelet and the runtime write the same failure several times: with the name of the pod, with the ID of the sandbox, or
with both. The error of the network plugin is nested in the message. If the plugin waited until kubelet gave up
(RunPodSandbox has four minutes, kubelet's runtimeRequestTimeout doubled), the error is only a deadline, and only the
time links it to the lines that other programs wrote meanwhile.
"""

import bisect
import collections
import re
from typing import NamedTuple

from ...module_utils._errors import BadInput
from ...module_utils._parse.logs.candidates import is_candidate
from ...module_utils._parse.logs.entries import parse_entries
from ...module_utils._parse.secrets import masked_line
from .._render.text import escaped
from .causes import CONFIDENCES, SEVERITIES, compiled, rows
from .nest import nest_of, with_effect_of
from .times import in_form, is_later, moment

_MOST_EVIDENCE = 400
# kubelet kuberuntime_sandbox.go, pod_workers.go and its event; cri-client; containerd sandbox_run.go; cri-o
# sandbox_network.go; dockershim.
_FAILED = re.compile(r"Failed to create sandbox for pod|CreatePodSandbox(?:Error| for pod failed)|"
                     r"FailedCreatePodSandBox|Failed to create pod sandbox|"
                     r"RunPodSandbox (?:from runtime service failed|for .{1,300}? failed)|"
                     r"failed to setup network for sandbox|failed to create pod network sandbox|"
                     r"etworkPlugin cni failed to set up pod")
_NAME, _NAMESPACE = r"[a-z0-9][a-z0-9.-]{0,252}", r"[a-z0-9][a-z0-9-]{0,62}"
_PODS = tuple(re.compile(pattern) for pattern in (
    r'\bpod="(?P<space>%s)/(?P<name>%s)"' % (_NAMESPACE, _NAME),
    r"PodSandboxMetadata\{Name:(?P<name>%s),Uid:[^,]{0,64},Namespace:(?P<space>%s)," % (_NAME, _NAMESPACE),
    r"pod network sandbox k8s_(?P<name>%s)_(?P<space>%s)_" % (_NAME, _NAMESPACE),
    r'set up pod \\{0,3}"(?P<name>%s)_(?P<space>%s)\\{0,3}" network' % (_NAME, _NAMESPACE),
    r'for \\{0,3}"(?P<name>%s)_(?P<space>%s)\([^)]{1,64}\)\\{0,3}" with CreatePodSandboxError' % (_NAME, _NAMESPACE),
    r"\bns/(?P<space>%s) pod/(?P<name>%s)" % (_NAMESPACE, _NAME),
    r"(?:^|\s)(?P<space>%s)\s{1,20}\S{1,20}\s{1,20}Warning\s{1,20}FailedCreatePodSandBox\s{1,20}pod/(?P<name>%s)"
    % (_NAMESPACE, _NAME)))
_SANDBOX = re.compile(r'(?:sandbox \\{0,7}"|sandbox k8s_[^\s(]{1,400}\()([0-9a-f]{64})\b')
# Messages of a caller that waited in vain; legacy iptables exits with 4 if the lock stays busy.
_WAITED = re.compile(r"[Dd]eadline ?[Ee]xceeded|[Tt]imed?[ -]?out|exit status 4|signal: killed")
# An agent writes its line when it stops waiting, which may be this long after kubelet's line.
_SLACK_SECONDS = 5
_LEAP_YEAR_SECONDS = 366 * 86400


class Failure(NamedTuple):
    """A sandbox that was not created. If the message lacks `pod` or `sandbox`, its value becomes None. `cause` is the
    id of the cause that fits the message best; `waited` is whether the failure may have a cause that the message does
    not name."""

    pod: "str | None"
    sandbox: "str | None"
    time: "str | None"
    evidence: str
    cause: str
    waited: bool


def failure_of(entry, nest):
    """The `Failure` of an entry with its `Nest`, or None for another message."""
    found = _FAILED.search(entry.text)
    name = next(filter(None, (pattern.search(entry.text) for pattern in _PODS)), None) if found else None
    sandbox = _SANDBOX.search(entry.text) if found else None
    if name is None and sandbox is None:
        return None
    line = entry.text[entry.text.rfind("\n", 0, found.start()) + 1:].split("\n", 1)[0]
    return Failure("%s/%s" % name.group("space", "name") if name else None, sandbox and sandbox.group(1), entry.time,
                   escaped(masked_line(line.strip(), _MOST_EVIDENCE)), nest.core.id,
                   nest.confidence != CONFIDENCES[-1] and bool(_WAITED.search(entry.text)))


def tied_pods(failures, cause, times):
    """`[{"pod", "sandbox", "time", "tied_by", "evidence"}]` of the failures that a `Row` explains, each pod once.
    `tied_by` is `message` if the message contains the cause, and `time` if the cause has lines, at `times`, from the
    time in which the pod waited."""
    names = {failure.sandbox: failure.pod for failure in failures if failure.pod and failure.sandbox}
    rows, ordered = {}, _in_order(times) if cause.delays_pods else {}
    for failure in failures:
        tied = "message" if failure.cause == cause.id else "time" if (
            failure.waited and _is_within(ordered, failure.time, cause.delays_pods)) else None
        pod = failure.pod or names.get(failure.sandbox)
        if tied:
            rows.setdefault(pod or failure.sandbox, {"pod": pod, "sandbox": failure.sandbox, "time": failure.time,
                                                     "tied_by": tied, "evidence": failure.evidence})
    return list(rows.values())


def _in_order(times):
    """`{form of a time: the times in order}`; sorted once, because a log may have very many."""
    found = {}
    for form, seen in filter(None, map(in_form, times)):
        found.setdefault(form, []).append(seen)
    return {form: sorted(seen) for form, seen in found.items()}


def _is_within(ordered, end, seconds):
    """Whether one of the times is at most so many seconds before `end`."""
    known = in_form(end)
    if known is None or known[0] not in ordered:
        return False
    form, ends = known[0], [known[1]]
    if not form[0]:
        ends.append(known[1] + _LEAP_YEAR_SECONDS)  # For a line of December, in January.
    for each in ends:
        found = ordered[form]
        at = bisect.bisect_right(found, each + _SLACK_SECONDS)
        if at and each - found[at - 1] <= seconds:
            return True
    return False


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
