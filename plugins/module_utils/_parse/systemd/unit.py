# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit files of systemd and their drop-ins. PRIVATE to the collection.

Sample:
    # a comment, which may also stand between the lines of one value
    [Unit]
    Before=network-pre.target
    [Service]
    ExecStop=
    ExecStart=/bin/sh -c 'iptables -F; \\
        iptables -X'
Grammar: systemd src/shared/conf-parser.c config_parse(), parse_line(), src/basic/fileio.c read_line_full(), man
systemd.syntax.
"""

import collections
import re

_BLANKS = " \t\n\r"
# Each of these ends a line, and one of each kind in a row ends only one line.
_LINE_END = re.compile("\n\r?\0?|\r\n?\0?|\0")
# Bytes that are not UTF-8 (as Python's surrogateescape encodes them), and noncharacters of Unicode.
_NO_TEXT = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BEYOND_ASCII = re.compile(b"[\x80-\xff]")
_UNSAFE = re.compile("[\x00-\x1f\x7f\"'\\\\]")

Assignment = collections.namedtuple("Assignment", "section key text line")
Assignment.__doc__ = "One `key=text` below `[section]`; `line` is where it begins."
Value = collections.namedtuple("Value", "text path line")
Value.__doc__ = "What one line of `path` gives a key."

# Keys that an empty assignment does not reset: dependencies, these lists, and switches, which have a last value.
_DEPENDENCIES = (
    "After", "Before", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds", "Conflicts", "OnFailure",
    "OnSuccess", "PropagatesReloadTo", "ReloadPropagatedFrom", "PropagatesStopTo", "StopPropagatedFrom",
    "JoinsNamespaceOf")
_NEVER_RESET = frozenset([("Unit", key)
                          for key in _DEPENDENCIES] + [
                              ("Install", "Also"), ("Timer", "Unit"), ("Path", "Unit"), ("Unit", "DefaultDependencies"),
                              ("Unit", "RefuseManualStart"), ("Unit", "RefuseManualStop"), ("Socket", "Accept"),
                              ("Service", "RemainAfterExit")])
# Keys that fill one list: an empty assignment to any of them empties all of it.
_ONE_LIST = (
    ("Timer", ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec", "OnCalendar")),
    ("Path", ("PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty")),
    ("Socket", ("ListenStream", "ListenDatagram", "ListenSequentialPacket", "ListenFIFO", "ListenNetlink",
                "ListenSpecial", "ListenMessageQueue", "ListenUSBFunction")))
_LIST_OF = {(section, key): (section, keys) for section, keys in _ONE_LIST for key in keys}


class UnitText:
    """The content of a file: `assignments` in order; `broken` is the line at which systemd stops reading, or None."""

    def __init__(self, assignments, broken):
        self.assignments, self.broken = assignments, broken


def parse_unit(data):
    """`UnitText` of the bytes of a file. A line that is not UTF-8, or an invalid section line, ends it."""
    ascii_only = _BEYOND_ASCII.search(data) is None
    text = data.decode("utf-8", "surrogateescape")
    text = text[1:] if text.startswith("\ufeff") else text
    assignments, section = [], None
    # Most files have no such lines, and many files are read.
    plain_lines = "\\" not in text and "\r" not in text and "\0" not in text
    for number, line in enumerate(text.split("\n"), 1) if plain_lines else _joined(text):
        line = line.strip(_BLANKS)
        if not line or line[0] in "#;":
            continue
        if not ascii_only and _NO_TEXT.search(line):
            return UnitText(assignments, number)
        if line[0] == "[":
            if line[-1] != "]" or _UNSAFE.search(line):
                return UnitText(assignments, number)
            section = line[1:-1]
            continue
        key, equals, value = line.partition("=")
        if section and equals and key:
            assignments.append(Assignment(section, key.rstrip(_BLANKS), value.lstrip(_BLANKS), number))
    return UnitText(assignments, None)


def _joined(text):
    """(number of the first line, text) with continued lines joined by blanks, without comments between them."""
    start, parts = 0, []
    for number, line in enumerate(_LINE_END.split(text), 1):
        if line.lstrip(_BLANKS)[:1] in ("#", ";"):
            continue
        start = start if parts else number
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            parts.append(line[:-1] + " ")
        elif parts:
            yield start, "".join(parts) + line
            parts = []
        else:
            yield number, line
    if parts:
        yield start, "".join(parts)


# The combined settings of a unit file and its drop-ins.
# An empty assignment resets a list; dependencies cannot be reset, and some keys share one list (systemd
# src/core/load-fragment.c).
def merge_assignments(files):
    """{(section, key): [Value]} of `[(path, [Assignment])]` in the order they are read."""
    merged, lists = {}, {}
    for path, assignments in files:
        for section, key, text, line in assignments:
            place = (section, key)
            if not text:
                if place not in _NEVER_RESET:
                    for emptied in lists.pop(_list_of(place), ()):
                        merged.pop(emptied, None)
                continue
            if place not in merged:
                merged[place] = []
                lists.setdefault(_list_of(place), []).append(place)
            merged[place].append(Value(text, path, line))
    return merged


def _list_of(place):
    section, key = place
    if section == "Unit" and key.startswith(("Condition", "Assert")):
        return section, key[:6]
    return _LIST_OF.get(place, place)
