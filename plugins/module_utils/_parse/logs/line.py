# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of a log without the prefixes that its writer and carriers put before the message. PRIVATE to the
collection.

Known formats: klog (text and JSON), CRI files, json-file of Docker, the journal (short and JSON), syslog and dmesg.
"""

import json
import re
import time
from typing import NamedTuple

# A longer line is cut; no line that matches a cause is half as long.
LONGEST = 8192
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# containerd, internal/cri/io/logger.go: time, stream, P for a part and F for the end of a line.
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]{8,20}\S{1,6}) (stdout|stderr) ([FP]) ?")
# Tags of Docker may hold a colon, as in the name of an image (docs.docker.com/engine/logging/log_tags).
_WRITER = r"(\S{1,300}\[\d{1,10}\]|[^\s:]{1,200}): ?"
_SYSLOG = re.compile(r"(?:<\d{1,3}>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) \S{1,255} " + _WRITER)
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,16}) \S{1,255} " + _WRITER)
_DMESG = re.compile(r"(?:<\d{1,3}>)?\[ {0,12}(?:\d{1,12}\.\d{1,9}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d:]{10,20})\]"
                    r"(?:\[ {0,12}[TC]\d{1,10}\])? ")
# klog, buffer.go: letter, month and day, time, pid, file and line.
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{1,9}) +\d{1,10} [\w.-]{1,80}:\d{1,7}\] ")
_LOGRUS = re.compile(r'time="([^"]{10,40})"')
_REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(.*?)\]?\Z", re.DOTALL)


class Line(NamedTuple):
    """`writer` separates the streams of one file, `whole` is false for a part of a line, `count` is above one if the
    carrier counted repetitions. `time` is null, or as exact as in the line: klog and syslog print no year."""

    text: str
    time: "str | None" = None
    writer: str = ""
    whole: bool = True
    count: int = 1


def parse_line(line):
    """The `Line` of one line of a log."""
    line = line[:LONGEST].rstrip("\r\n")
    if line.startswith("{"):
        return _of_json(line)
    found = _CRI.match(line)
    if found:
        inner = parse_line(line[found.end():])
        return inner._replace(time=found.group(1), writer=found.group(2), whole=found.group(3) == "F")
    found = _SYSLOG.match(line)
    if found and found.group(1) in _MONTHS:
        when = "%02d-%02dT%s" % (_MONTHS.index(found.group(1)) + 1, int(found.group(2)), found.group(3))
        return _carried(line[found.end():], when, found.group(4))
    found = _RFC3339.match(line)
    if found:
        return _carried(line[found.end():], found.group(1), found.group(2))
    found = _DMESG.match(line)
    if found:
        return Line(line[found.end():], None, "kernel")
    return Line(line, _own_time(line))


def _carried(text, when, writer):
    """A line that syslog or the journal carried. rsyslog writes control characters as #011."""
    text = text.replace("#011", "\t").replace("#012", "\n")
    found = _REPEATED.match(text)
    dmesg = _DMESG.match(text)
    if found:
        return Line(found.group(2), when, writer, True, int(found.group(1)))
    return Line(text[dmesg.end():] if dmesg else text, when, writer)


def _own_time(text):
    found = _KLOG.match(text)
    if found:
        return "%s-%sT%s" % found.groups()
    found = _LOGRUS.match(text)
    return found.group(1) if found else None


def _of_json(line):
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return Line(line)
    if not isinstance(row, dict):
        return Line(line)
    if isinstance(row.get("log"), str):
        inner = parse_line(row["log"]) if not row["log"].startswith("{") else Line(row["log"].rstrip("\n"))
        # Docker splits a long line; only its last part ends with a newline.
        return inner._replace(time=_text(row.get("time")) or inner.time, writer=_text(row.get("stream")) or "",
                              whole=row["log"].endswith("\n"))
    if "MESSAGE" in row:
        # Containers of Docker may share a tag, and dockerd sends the lines of all (daemon/logger/journald).
        name = _text(row.get("CONTAINER_ID")) or _text(row.get("SYSLOG_IDENTIFIER")) or ""
        return Line(_message(row["MESSAGE"]), _time_of(row.get("__REALTIME_TIMESTAMP"), 1000000),
                    "%s[%s]" % (name, _text(row.get("_PID")) or ""), row.get("CONTAINER_PARTIAL_MESSAGE") != "true")
    texts = [_text(row.get("msg")) or ""]
    texts += ['%s="%s"' % (key, value) for key, value in sorted(row.items())
              if isinstance(value, str) and key not in ("msg", "ts", "caller", "level")]
    return Line('"%s" %s' % (texts[0], " ".join(texts[1:])), _text(row.get("ts")) or _time_of(row.get("ts"), 1000))


def _text(value):
    return value if isinstance(value, str) else None


def _message(value):
    """journald writes a message that is not text as an array of bytes (systemd.journal-fields)."""
    if isinstance(value, list):
        return bytes(byte for byte in value if isinstance(byte, int) and 0 <= byte < 256).decode("utf-8", "replace")
    return _text(value) or ""


def _time_of(value, per_second):
    """The UTC time of `value` in units of 1/`per_second` seconds since 1970, or None."""
    try:
        seconds = int(value) // per_second
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (TypeError, ValueError, OverflowError, OSError):
        return None
