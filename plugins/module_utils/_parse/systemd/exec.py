# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of unit files (ExecStart= and its relatives). PRIVATE to the collection.

Sample: `-/bin/sh -c 'iptables -F; iptables -X' ; /bin/true "a b"`
Grammar: systemd src/core/load-fragment.c config_parse_exec(), src/basic/extract-word.c extract_first_word(), man
systemd.service "Command lines". It is not a shell: no pipes, no redirection; `;` as a separate word separates commands.
"""

import re

from .name import parse_unit_name

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
