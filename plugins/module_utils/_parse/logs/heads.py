# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times before log lines, and what terminals and collectors put around a line. PRIVATE to the collection."""

import re
import time

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
