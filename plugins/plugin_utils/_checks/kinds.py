# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a check judges what its `select` returns: one judge for each kind. PRIVATE to the collection.

A judge gets the selected and the wanted value, and returns the offenders. It raises ValueError, TypeError or KeyError
for a value that it cannot judge; the finding is unknown then.
"""

import dataclasses
from collections.abc import Callable

from .._logs import diagnosis, times

_UNDATED = "a time that the log does not have"
# A fault that repeats its line is over when the line is missing twice.
_MISSED = 2


def judge_none_of(selected, _want) -> list:
    """Nothing may be selected: every selected item is an offender."""
    return _list(selected)


def judge_none_outside(selected, want) -> list:
    """The `place` of every selected row must be in the wanted list."""
    return [row for row in _list(selected) if row["place"] not in want]


def judge_equals(selected, want) -> list:
    """The selected value must be the wanted one."""
    return [] if selected == want else [{"value": selected, "want": want}]


def judge_one_of(selected, want) -> list:
    """The selected value must be among the wanted ones."""
    return [] if selected in want else [{"value": selected, "want": ", ".join(str(item) for item in want)}]


def judge_at_most(selected, want) -> list:
    """The selected number must not be above the wanted one."""
    if not _is_number(selected):
        raise ValueError("select must return a number, not %s" % type(selected).__name__)
    return [] if selected <= want else [{"value": selected, "want": want}]


def judge_each_at_most(selected, want) -> list:
    """The `value` of no selected row may be above the wanted one. The real value of a row with a `doubt` may be higher,
    so such a row proves nothing while its value is within the limit."""
    for row in _list(selected):
        if not _is_number(row["value"]):
            raise ValueError("the value of a row must be a number, not %s" % type(row["value"]).__name__)
    offenders = [row for row in selected if row["value"] > want]
    doubts = [row["doubt"] for row in selected if row["value"] <= want and row.get("doubt")]
    if doubts and not offenders:
        raise ValueError(doubts[0])
    return offenders


def _list(selected):
    if not isinstance(selected, list):
        raise ValueError("select must return a list, not %s" % type(selected).__name__)
    return selected


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def judge_log_causes(selected, want) -> list:
    """No line of the last seconds may have an error of the selected severity: a row for each cause in `selected`, which
    has `logs` (the section node_logs) and `severity`."""
    logs = selected["logs"]
    if not logs["lines"]:
        return []  # True on most nodes; reading the causes takes longer than all other work of a judgement.
    recent = _is_recent if logs["ends"] is None else _is_at_the_end
    lasting = [row for row in diagnosis.found_in(logs["lines"], logs["kube_proxy_ports"])
               if row["severity"] == selected["severity"] and recent(row, logs, _limit(row, want))]
    period = "the last 15 minutes" if logs["ends"] is None else "the logs of the bundle"
    return [{"subject": row["cause"], "meaning": row["meaning"].rstrip(".") + _pods(row), "count": row["count"],
             "last": row["last"] or _UNDATED, "evidence": row["evidence"], "source": row["source"],
             "manual": _remedy(row), "period": period,
             "times": "once" if row["count"] == 1 else "%d times" % row["count"]}
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
    known = [each for each in (times.seconds_between(last, end) for end in ends) if each is not None]
    return not known or min(known) <= seconds


def _is_recent(row, logs, seconds):
    """Whether the last line of the cause is at most so many seconds from the time of the look; an error without a time
    counts, because only logs that were written to in that time are read, and so does one that is written once."""
    age = times.age_seconds(row["last"], logs["now"], logs["utc_offset_seconds"])
    return row["undated"] > 0 or row["lasts"] or age is not None and abs(age) <= seconds


@dataclasses.dataclass(frozen=True)
class Kind:
    """`want`: the types that the wanted value may have, () where the kind takes none. `fields`: what its rows have
    besides the fields that `select` gives them."""

    judge: Callable
    want: tuple = ()
    fields: frozenset = frozenset(("value",))


KINDS = {
    "none_of": Kind(judge_none_of),
    "none_outside": Kind(judge_none_outside, (list,)),
    "equals": Kind(judge_equals, (object,)),
    "one_of": Kind(judge_one_of, (list,)),
    "at_most": Kind(judge_at_most, (int, float)),
    "each_at_most": Kind(judge_each_at_most, (int, float)),
    "log_causes": Kind(judge_log_causes, (int,), frozenset((
        "subject", "meaning", "count", "last", "evidence", "source", "manual", "period", "times"))),
}
