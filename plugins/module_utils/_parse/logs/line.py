# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of a log without the prefixes of its writer and its carriers. PRIVATE to the collection.

Known formats: klog (text and JSON), logrus, zap, Felix, CRI files, json-file of Docker, kubectl logs with --prefix or
--timestamps, the journal (every form of one line), syslog, dmesg, and entries that log services export as JSON.

Times before log lines, and what terminals and collectors put around a line.
"""

import json
import re
import time
from typing import NamedTuple

from .candidates import is_candidate

# klog, buffer.go: letter, month and day, time, pid, file and line.
KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{1,9}) +\d{1,10} [\w.-]{1,80}:\d{1,7}\] ")
# Beginning of a log by Felix, zap, Go's log package and others; the text after it is the message.
STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)([T ])(\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: ?(Z|UTC|[+-]\d\d:?\d\d))?"
                   r"(?![\w:])")
# logrus on a terminal (text_formatter.go, printColored): a time, or seconds since the start of the program.
_LOGRUS = re.compile(r"(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)"
                     r"\[(\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d)|\d{1,9})\]")
# CoreDNS and node-cache, and logrus without a time: a level alone. kubeadm: each check of its preflight.
_LEVEL = re.compile(r"\[(?:DEBUG|INFO|WARNING|ERROR|FATAL|PANIC)\] |level=[a-z]{4,7} msg=|"
                    r"\s{0,8}\[(?:WARNING|ERROR) [\w.-]{1,120}\]: ")
# Events as kubectl describe and kubectl get print them.
_EVENT = re.compile(r"\s{0,8}(?:\d\w{1,12}\s{2,12})?(?:Normal|Warning)\s{2,20}[A-Z]\w{2,40}\s{1,40}\S")
_KEYS = re.compile(r"\b(?:time|ts|timestamp|t)=(?:\"([^\"]{10,40})\"|(\d{4}-\d\d-\d\dT[\d:.,]{8,20}\S{0,6}))")
# What a collector puts before a line: names, with at most a few marks between them.
_NAMES = re.compile(r"(?:[\w./:@()=\[\]-]{0,253}[ \t|>]{1,3}){0,5}(?:[\w./@()=\[\]-]{1,253}:)?\Z")
_REACH, _PREFIX = 400, 200
# Colours, movements of the cursor, titles of windows and character sets (ECMA-48, xterm), also where the character ESC
# became a text or was lost; frames of tables, and what HTML writes for characters.
_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[()][0-9A-B])")
_COLOUR = re.compile(r"(?:\^|#033|\\(?:e|x1b|033|u001b))?\[[0-9;]{0,20}m")
_FRAMES = "\u2502\u2503\u2551\u2514\u251c"
_AROUND = " |" + "".join(map(chr, range(0x2500, 0x2580)))
_ENTITY = re.compile(r"&(?:quot|apos|lt|gt|amp|nbsp|#34|#39|#x27|#x22|#60|#62);")
_ENTITIES = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "nbsp": " ", "#34": '"', "#39": "'",
             "#x27": "'", "#x22": '"', "#60": "<", "#62": ">"}
# Beginnings of the names of months, as syslog and journalctl print them in the locales that are in use.
_MONTHS = ("jan ene gen янв led sty oca", "feb fév fev фев úno lut şub", "mar mär mrt мар bře",
           "apr abr avr апр dub kwi nis", "may mai mag maj mei май мая kvě", "jun jui giu июн čer cze haz",
           "jul lug июл lip tem", "aug ago aoû авг srp sie ağu", "sep set сен zář wrz eyl",
           "oct okt ott out окт říj paź eki", "nov ноя lis kas", "dec dez dic déc дек pro gru ara")
_NUMBERED = re.compile(r"(\d{1,2})[月월]\Z")


def without_marks(text):
    """A text without colours, frames and the entities of HTML, and with usual blanks."""
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    if "[0m" in text:
        text = _COLOUR.sub("", text)
    if any(mark in text for mark in _FRAMES):
        text = _without_frame(text)
    if "```" in text:
        text = text.strip().strip("`")
    if "&" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found.group(0)[1:-1]], text)
    return text.replace("\u00a0", " ")


def _without_frame(text):
    """A text without the marks around it, if a frame is among them."""
    inner = text.lstrip(_AROUND)
    text = inner if text[:len(text) - len(inner)].strip(" |") else text
    inner = text.rstrip(_AROUND + "\r\n\t")
    return inner if text[len(inner):].strip(" |\r\n\t") else text


def month_of(name):
    """The number of a month, or None. Names with one beginning in two languages are those of English."""
    found = _NUMBERED.match(name)
    if found:
        return int(found.group(1)) if 1 <= int(found.group(1)) <= 12 else None
    lower = name.lower()
    if lower.startswith("juil"):
        return 7
    return next((number for number, names in enumerate(_MONTHS, 1) if lower[:3] in names.split()), None)


def own_time(text):
    """(time, where the message with it begins) of what the writer of a line put before its message; (None, 0) without
    one. A mark of a beginning without a time has an empty one."""
    found = _LOGRUS.match(text)
    if found:
        return found.group(1) if "T" in found.group(1) else "", 0
    found = KLOG.search(text, 0, _REACH) if "] " in text[:_REACH] else None
    if found and _is_prefix(text, found.start()):
        return "%s-%sT%s" % found.groups(), found.start()
    found = _KEYS.search(text, 0, _REACH)
    if found:
        return found.group(1) or found.group(2), 0
    found = STAMP.search(text, 0, _REACH)
    if found and _is_prefix(text, found.start()):
        return stamp(found), 0
    return ("" if _LEVEL.match(text) or _EVENT.match(text) else None), 0


def stamp(found):
    """The time of a match of STAMP."""
    year, month, day, _mark, clock, zone = found.groups()
    return "%s-%s-%sT%s%s" % (year, month, day, clock.replace(",", "."), "Z" if zone == "UTC" else zone or "")


def _is_prefix(text, end):
    """Whether what stands before the time is only names, and no message that quotes a line."""
    return end <= _PREFIX and not text.startswith(("\t", " " * 8)) and bool(_NAMES.match(text, 0, end)) \
        and not is_candidate(text[:end])


def time_of(value, per_second=1):
    """The UTC time of `value` in units of 1/`per_second` seconds since 1970, or None."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(float(value) // per_second)))
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def time_of_number(value):
    """The same of a number of seconds, milliseconds, microseconds or nanoseconds, which its size shows."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return next((time_of(value, unit) for unit in (1, 10 ** 3, 10 ** 6, 10 ** 9) if 10 ** 8 < number / unit < 10 ** 10),
                None)


# A longer line is cut; no line that matches a cause is half as long.
LONGEST = 8192
# Beginnings of the last line of a value, and of all its lines. journalctl prints eight spaces for a TAB (output_mode
# short).
ENDED = (" >", ">")
CONTINUED = ("\t", " " * 8) + ENDED
# containerd, internal/cri/io/logger.go: time, stream, P for a part and F for the end of a line.
_CRI = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]{8,20}\S{1,6}) (stdout|stderr) ([FP]) ?")
# Tags of Docker may hold a colon, as in the name of an image (docs.docker.com/engine/logging/log_tags).
_WRITER = r"(\S{1,300}\[\d{1,10}\]|[^\s:]{1,200}): ?"
_CLOCK = r"(\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
# journalctl and syslog print the month in the language of the node (systemd, logs-show.c, strftime %b).
_SYSLOG = re.compile(r"(?:<\d{1,3}>)?([^\W\d_]{3,9}\.?|\d{1,2}[月월]) {1,2}(\d{1,2})[.日일]? " + _CLOCK
                     + r" \S{1,255} " + _WRITER)
# journalctl -o short-iso and syslog (RFC 3339), short-full and with-unit, short-unix, short-monotonic and short-delta.
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,16}) \S{1,255} " + _WRITER)
_FULL = re.compile(r"[^\W\d]{2,9}\.? (\d{4}-\d\d-\d\d) " + _CLOCK + r" (UTC|[A-Z]{2,5}|[+-]\d\d(?::?\d\d)?) \S{1,255} "
                   + _WRITER)
_UNIX = re.compile(r"(\d{9,10}\.\d{6}) \S{1,255} " + _WRITER)
_MONOTONIC = re.compile(r"\S{1,255} (\S{1,300}\[\d{1,10}\]|kernel): ?")
_DMESG = re.compile(r"(?:<\d{1,3}>)?\[ {0,12}(?:\d{1,12}\.\d{1,9}(?: <[ \d.]{1,30}>)?|[A-Z][a-z]{2} ([A-Z][a-z]{2}) "
                    r"([ \d]\d) ([\d:]{8}) (\d{4}))\](?:\[ {0,12}[TC]\d{1,10}\])? ")
# Carriers around a message, as an export of a log of Docker that a journal carries; a longer chain is hostile.
_MOST_LAYERS = 8
# kubectl logs --prefix (kubernetes cmd/logs.go).
_OF_POD = re.compile(r"(\[pod/\S{1,600}\]) ")
# journalctl -o json-seq and json-sse.
_BEFORE_JSON = re.compile(r"(?:data: ?|\x1e|\ufeff)(?=\{)")
_REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(.*?)\]?\Z", re.DOTALL)
# Keys of the message in entries of loggers and log services, and of their time.
_MESSAGES = ("msg", "message", "@message", "textPayload", "line", "note")
_TIMES = ("ts", "time", "timestamp", "@timestamp", "lastTimestamp")
_NO_VALUES = _MESSAGES + _TIMES + ("caller", "level")
# Rules that a log prints: the input of iptables-restore.
_RULE = re.compile(r"(?:\[\d{1,20}:\d{1,20}\] )?-A \S|:\S{1,64} \S{1,20} \[\d|\*(?:filter|nat|mangle|raw|security)\s*\Z"
                   r"|COMMIT\s*\Z|# (?:Generated|Completed) (?:by|on) ")
# A heading of notes between pasted lines; a comment of iptables-save and a warning of iptables are none.
_HEADING = re.compile(r"#{1,6} (?!Generated by|Completed on|Warning)[^\W\d]")


class Line(NamedTuple):
    """`writer` separates the streams of one file, `whole` is false for a part of a line, `count` is above one if the
    carrier counted repetitions. `time` is null, or as exact as in the line: klog and syslog print no year. `begins`:
    whether its writer begins a message with it; without that mark it may belong to the line before it."""

    text: str
    time: "str | None" = None
    writer: str = ""
    whole: bool = True
    count: int = 1
    begins: bool = False


def parse_line(line, layers=_MOST_LAYERS):
    """The `Line` of one line of a log, which at most so many carriers have around its message."""
    line = without_marks(line[:LONGEST].rstrip("\r\n"))
    if not layers:
        return _plain(line)
    before = _BEFORE_JSON.match(line)
    if before:
        line = line[before.end():]
    if line.startswith("{"):
        return _of_json(line, layers - 1)
    found = _CRI.match(line)
    if found:
        inner = parse_line(line[found.end():], layers - 1)
        return inner._replace(time=found.group(1), writer=found.group(2), whole=found.group(3) == "F")
    found = _OF_POD.match(line)
    if found:
        inner = parse_line(line[found.end():], layers - 1)
        return inner._replace(writer=inner.writer or found.group(1))
    if line[:1] in "<[":
        found = _DMESG.match(line)
        if found:
            return _of_kernel(line, found)
    return _of_stamp(line, layers - 1) or _of_syslog(line) or _plain(line)


def is_rule(text):
    """Whether a line is a rule or a frame of a table, as a log prints the input of iptables-restore."""
    return bool(_RULE.match(text))


def is_heading(text):
    """Whether a line is a heading of the notes around a pasted log."""
    return bool(_HEADING.match(text))


def _plain(text):
    when, start = own_time(text)
    return Line(text[start:], when or None, text[:start].strip(), begins=when is not None)


def _of_syslog(line):
    found = _SYSLOG.match(line)
    month = month_of(found.group(1)) if found else None
    if found and month:
        return _carried(line[found.end():], "%02d-%02dT%s" % (month, int(found.group(2)), found.group(3)),
                        found.group(4))
    found = _FULL.match(line)
    if found:
        zone = {"UTC": "Z"}.get(found.group(3), found.group(3) if found.group(3)[0] in "+-" else "")
        return _carried(line[found.end():], "%sT%s%s" % (found.group(1), found.group(2), zone), found.group(4))
    found = _UNIX.match(line)
    return _carried(line[found.end():], time_of(found.group(1)), found.group(2)) if found else None


def _of_stamp(line, layers):
    """A line that begins with a whole time: the carrier's, or the one of its writer."""
    found = STAMP.match(line)
    if not found:
        return None
    rest = line[found.end():]
    rest = rest[1:] if rest.startswith(" ") else rest
    if KLOG.match(rest) or rest.startswith(('time="', "{", "level=")):
        return parse_line(rest, layers)._replace(time=stamp(found), begins=True)
    if rest.startswith(CONTINUED):
        return Line(rest, stamp(found))
    carried = _RFC3339.match(line)
    return _carried(line[carried.end():], carried.group(1), carried.group(2)) if carried else None


def _of_kernel(line, found):
    text, month = line[found.end():], found.group(1) and month_of(found.group(1))
    when = "%s-%02d-%02dT%s" % (found.group(4), month, int(found.group(2)), found.group(3)) if month else None
    inner = _MONOTONIC.match(text)
    if inner:
        return _carried(text[inner.end():], when, inner.group(1))
    return Line(text, when, "kernel", begins=True)


def _carried(text, when, writer):
    """A line that syslog or the journal carried. rsyslog writes control characters as #011."""
    text = text.replace("#011", "\t").replace("#012", "\n")
    found = _REPEATED.match(text)
    dmesg = _DMESG.match(text)
    if found:
        return Line(found.group(2), when, writer, True, int(found.group(1)), True)
    text = text[dmesg.end():] if dmesg else text
    return Line(text, when, writer, begins=writer == "kernel" or own_time(text)[0] is not None)


def _of_json(line, layers):
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return Line(line)
    if not isinstance(row, dict):
        return Line(line)
    if isinstance(row.get("log"), str):
        inner = parse_line(row["log"], layers)
        # Docker splits a long line; only its last part ends with a newline.
        return inner._replace(time=_text(row.get("time")) or inner.time, writer=_text(row.get("stream")) or "",
                              whole=row["log"].endswith("\n"))
    if "MESSAGE" in row:
        # Containers of Docker may share a tag, and dockerd sends the lines of all (daemon/logger/journald).
        name = _text(row.get("CONTAINER_ID")) or _text(row.get("SYSLOG_IDENTIFIER")) or ""
        text = _message(row["MESSAGE"])
        return Line(text, time_of(row.get("__REALTIME_TIMESTAMP"), 1000000),
                    "%s[%s]" % (name, _text(row.get("_PID")) or ""), row.get("CONTAINER_PARTIAL_MESSAGE") != "true",
                    begins=own_time(text)[0] is not None)
    message = next((row[key] for key in _MESSAGES if _text(row.get(key))), "")
    if isinstance(row.get("items"), list) and not message:
        return Line(line)  # A list of objects, such as events, has their messages inside.
    when = next((_text(row[key]) or time_of_number(row[key]) for key in _TIMES if row.get(key)), None)
    texts = ['%s="%s"' % (key, value) for key, value in sorted(row.items())
             if isinstance(value, str) and key not in _NO_VALUES]
    inner = parse_line(message, layers) if message and not message.startswith("{") else Line(message)
    if inner.begins:
        # A log service that carries the lines of an agent; its other keys are about the service.
        return inner._replace(time=when or inner.time)
    return Line('"%s" %s' % (message, " ".join(texts)), when, begins=bool(message or when))


def _text(value):
    return value if isinstance(value, str) else None


def _message(value):
    """journald writes a message that is not text as an array of bytes (systemd.journal-fields)."""
    if isinstance(value, list):
        return bytes(byte for byte in value if isinstance(byte, int) and 0 <= byte < 256).decode("utf-8", "replace")
    return _text(value) or ""
