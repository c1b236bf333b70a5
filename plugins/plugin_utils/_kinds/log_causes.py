# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge log_causes: no line of the last seconds may have an error of the selected severity. PRIVATE to the
collection."""

from .. import _diagnose, _log_times

WANT = (int,)
FIELDS = frozenset(("subject", "meaning", "count", "last", "evidence", "source", "manual", "period"))
_UNDATED = "a time that the log does not have"
# A fault that repeats its line is over when the line is missing twice.
_MISSED = 2


def judge_log_causes(selected, want):
    """A row for each cause in `selected`, which has `logs` (the section node_logs) and `severity`."""
    logs = selected["logs"]
    if not logs["lines"]:
        return []  # True on most nodes; reading the causes takes longer than all other work of a judgement.
    recent = _is_recent if logs["ends"] is None else _is_at_the_end
    lasting = [row for row in _diagnose.found_in(logs["lines"], logs["kube_proxy_ports"])
               if row["severity"] == selected["severity"] and recent(row, logs, _limit(row, want))]
    period = "the last 15 minutes" if logs["ends"] is None else "the logs of the bundle"
    return [{"subject": row["cause"], "meaning": row["meaning"].rstrip(".") + _pods(row), "count": row["count"],
             "last": row["last"] or _UNDATED, "evidence": row["evidence"], "source": row["source"],
             "manual": _remedy(row), "period": period}
            for row in lasting]


def _pods(row):
    """The pods that did not start, as the end of a sentence."""
    if not row["pod_count"]:
        return ""
    names = [pod["pod"] or "sandbox %s" % pod["sandbox"][:13] for pod in row["pods"]]
    left = ["and %d more" % (row["pod_count"] - len(names))] if row["pod_count"] > len(names) else []
    word = "pod that does" if row["pod_count"] == 1 else "pods that do"
    return "; %s not start: %s" % (word, ", ".join(names + left))


def _remedy(row):
    """The fix by hand, and the check that inspects the node itself."""
    fix = row["fix"].rstrip(".")
    fix += ", or use role %s" % row["role"] if row["role"] else ""
    return "%s. %s shows more." % (fix, row["check"]) if row["check"] else fix


def _limit(row, want):
    return min(want, row["repeats"] * _MISSED) if row["repeats"] else want


def _is_at_the_end(row, logs, seconds):
    """Whether the last line of a log was written at most so many seconds later, or whether that is not known: an error
    without a time counts, and so does one that is written once, at the start of its writer."""
    ends = {}
    for end in logs["ends"]:
        ends.setdefault(end["source"], []).append(end["time"])
    return row["undated"] > 0 or row["lasts"] or any(
        _passed(last, ends.get(source, ()), seconds) for source, last in row["last_of"].items())


def _passed(last, ends, seconds):
    """A log may have times of several forms, and only those of one form can be compared."""
    known = [each for each in (_log_times.seconds_between(last, end) for end in ends) if each is not None]
    return not known or min(known) <= seconds


def _is_recent(row, logs, seconds):
    """Whether the last line of the cause is at most so many seconds from the time of the look; an error without a time
    counts, because only logs that were written to in that time are read, and so does one that is written once."""
    age = _log_times.age_seconds(row["last"], logs["now"], logs["utc_offset_seconds"])
    return row["undated"] > 0 or row["lasts"] or age is not None and abs(age) <= seconds
