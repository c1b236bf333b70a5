# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of log lines; klog and syslog write no year. PRIVATE to the collection."""

import datetime
import re

_TIME = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d)?",
                   re.ASCII)
# klog buffer.go: no year. A leap year has each day that such a time may name.
_SOME_YEAR = 2000
_MOST_OFFSET = 86400


def moment(text, near=None):
    """The time in UTC, or None if the text is not a time.

    A time without a year gets the year that brings it closest to `near`; one without a zone is taken as UTC.
    """
    found = _TIME.fullmatch(text or "")
    if not found:
        return None
    if found.group(1):
        return _of(found, int(found.group(1)))
    if near is None:
        return _of(found, _SOME_YEAR)
    # In January, a line of December is from the year before; in December, a line of January is from the next year.
    around = filter(None, (_of(found, near.year + years) for years in (-1, 0, 1)))
    return min(around, key=lambda each: abs(each - near), default=None)


def is_later(one, other):
    """Whether a time of a log is later than another one."""
    if other[4:5] == "-":
        second = moment(other)
        first = moment(one, second)
    else:
        first = moment(one)
        second = moment(other, first)
    return first is not None and second is not None and first > second


def in_form(text):
    """((whether it has a year, whether it has a zone), seconds) or None. Only times of one form can be put in order;
    one without a year is in a leap year."""
    found, seen = _TIME.fullmatch(text or ""), moment(text)
    if seen is None:
        return None
    return (bool(found.group(1)), bool(found.group(8))), (seen - datetime.datetime.min).total_seconds()


def seconds_between(one, other):
    """Seconds from a time of a log to another one, or None: where one of them alone has a zone, that is not known."""
    zones = [bool(found and found.group(8)) for found in (_TIME.fullmatch(one or ""), _TIME.fullmatch(other or ""))]
    with_year, without = (other, one) if (other or "")[4:5] == "-" else (one, other)
    end = moment(with_year)
    start = moment(without, end)
    if zones[0] != zones[1] or end is None or start is None:
        return None
    passed = (end - start).total_seconds()
    return passed if with_year is other else -passed


def age_seconds(text, now, utc_offset_seconds):
    """Seconds from a time of a log to `now`, which is in UTC, or None; a time without a zone is in the zone of the
    node."""
    end = moment(now)
    if end is None or abs(utc_offset_seconds) > _MOST_OFFSET:
        raise ValueError("the time of the node is not known")
    found = _TIME.fullmatch(text or "")
    zone = datetime.timedelta(seconds=0 if found and found.group(8) else utc_offset_seconds)
    seen = moment(text, end)
    return None if seen is None else (end - seen + zone).total_seconds()


def _of(found, year):
    _year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        plain = datetime.datetime(year, int(month), int(day), int(hour), int(minute), min(int(second), 59),
                                  int((fraction or "0")[:6].ljust(6, "0")))
        if zone in (None, "Z"):
            return plain
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        return plain - datetime.timedelta(minutes=minutes if zone[0] == "+" else -minutes)
    except (ValueError, OverflowError):
        return None
