# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Unit files of systemd and their drop-ins. PRIVATE to the collection.

Sample:
    # a comment, which may also stand between the lines of one value
    [Unit]
    Before=network-pre.target
    [Service]
    ExecStop=
    ExecStart=/bin/sh -c 'iptables -F; \
        iptables -X'
Grammar: systemd src/shared/conf-parser.c config_parse(), parse_line(), src/basic/fileio.c read_line_full(), man
systemd.syntax.

Command lines of unit files (ExecStart= and its relatives).

Sample: `-/bin/sh -c 'iptables -F; iptables -X' ; /bin/true "a b"`
Grammar: systemd src/core/load-fragment.c config_parse_exec(), src/basic/extract-word.c extract_first_word(), man
systemd.service "Command lines". It is not a shell: no pipes, no redirection; `;` as a separate word separates commands.
"""

import collections
import re

from .name import parse_unit_name

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

# Keys that an empty assignment does not reset: dependencies, these lists, and switches, of which the last yes or
# no counts.
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
    """`UnitText` of the bytes of a file. A line that is not an assignment is skipped; a line that is not UTF-8, or an
    invalid section line, ends the reading."""
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
    """(number of the first line, text) with continued lines joined: the backslash becomes a blank, comments between
    the lines are left out."""
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


# Between blanks: one command's separator, its escaped form, or a word made of plain, quoted and escaped pieces.
_PIECE = r"""[^\s"'\\]|\\.|\\\Z|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_WORD = re.compile(r"[ \t\n\r]*((?:%s)+)(?=[ \t\n\r]|\Z)" % _PIECE.replace(r"\s", r" \t\n\r"), re.DOTALL)
_PARTS = re.compile(r"""((?:[^"'\\]|\\.|\\\Z)+)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'""", re.DOTALL)
# src/basic/escape.c cunescape_one(); a backslash before any other character stays.
_ESCAPE = re.compile(
    r"""\\(?:([abfnrtv\\"'s])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))""")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_COMMAND = re.compile(r"([-@:+!]*)(.*)\Z", re.DOTALL)


class ExecLine:
    """One command: `key` (ExecStart), `prefixes` (`-@:+!`), `text` after them, `path` and `line` of its value."""

    def __init__(self, key, prefixes, text, path, line, unit):
        self.key, self.prefixes, self.text, self.path, self.line = key, prefixes, text, path, line
        self._unit = unit

    def argv(self):
        """The words without quotes, specifiers of the unit's name filled in, `$$` replaced with `$`, as systemd does.

        With the prefix `@` the second word is argv[0] of the program. Variables (`${NAME}`) stay.
        """
        words = [filled_specifiers(word, self._unit) for word in split_arguments(self.text)]
        return words if ":" in self.prefixes else [word.replace("$$", "$") for word in words]


def parse_exec(key, value, unit):
    """[ExecLine] of one value of a unit called `unit`; ` ; ` separates commands."""
    return [ExecLine(key, prefixes, text, value.path, value.line, unit)
            for prefixes, text in split_commands(value.text)]


def filled_specifiers(text, unit):
    """`text` with the specifiers filled in that depend on the unit's name alone, or on nothing (man systemd.unit)."""
    if "%" not in text:
        return text
    parts = parse_unit_name(unit)
    plain = unit[:-len(parts.kind) - 1]
    values = {
        "%": "%", "n": unit, "N": plain, "p": parts.prefix, "P": unescaped_name(parts.prefix), "i": parts.instance
        or "", "I": unescaped_name(parts.instance or ""), "j": parts.prefix.rpartition("-")[2], "J": unescaped_name(
            parts.prefix.rpartition("-")[2]), "f": "/" + unescaped_name(parts.instance or parts.prefix).lstrip("/"),
        "t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc", "T": "/tmp", "V": "/var/tmp"}
    return re.sub("%(.)", lambda found: values.get(found.group(1), found.group(0)), text)


def unescaped_name(text):
    """A part of a unit's name as the path it was made from: `-` is a slash, `\\x2d` a dash (systemd-escape)."""
    return re.sub(r"\\x([0-9a-fA-F]{2})|-", lambda found: chr(int(found.group(1), 16)) if found.group(1) else "/", text)


def split_commands(text):
    """[(prefixes, text)] of the commands in one value; the text has no prefixes and is still quoted."""
    commands, start = [], 0
    for begin, end in _words(text):
        if text[begin:end] == ";":
            commands.append(text[start:begin])
            start = end
    return [_COMMAND.match(command.strip()).groups() for command in commands + [text[start:]] if command.strip()]


def split_arguments(text):
    """The words of one command without their quotes, up to an unbalanced one: systemd rejects such a line."""
    return [";" if text[begin:end] == "\\;" else _unquoted(text[begin:end]) for begin, end in _words(text)]


def _words(text):
    place = 0
    while True:
        found = _WORD.match(text, place)
        if found is None:
            return
        yield found.span(1)
        place = found.end()


def _unquoted(word):
    return "".join(_ESCAPE.sub(_character, next(part for part in found.groups() if part is not None))
                   for found in _PARTS.finditer(word))


def _character(found):
    letter, short, middle, long, octal = found.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    number = int(octal, 8) if octal else int(short or middle or long, 16)
    return chr(number) if 0 < number < 0x110000 else found.group(0)
