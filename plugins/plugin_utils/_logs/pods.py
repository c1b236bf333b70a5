# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods whose sandbox was not created, linked to the cause that the logs show. PRIVATE to the collection.

kubelet and the runtime write the same failure several times: with the name of the pod, with the ID of the sandbox, or
with both. The error of the network plugin is nested in the message. If the plugin waited until kubelet gave up
(RunPodSandbox has four minutes, kubelet's runtimeRequestTimeout doubled), the error is only a deadline, and only the
time links it to the lines that other programs wrote meanwhile.
"""

import bisect
import re
from typing import NamedTuple

from ...module_utils._parse.secrets import masked_line
from .._render.text import escaped
from .causes import CONFIDENCES
from .times import in_form

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
