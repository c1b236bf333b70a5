# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that udev's rules start. PRIVATE to the collection.

Sample: `ACTION=="add", SUBSYSTEM=="net", RUN+="/bin/sh -c '/sbin/iptables -F'"`.
Grammar: systemd src/udev/udev-rules.c parse_line(), man udev. There is no shell: udev splits the value into words at
blanks outside of quotes. A program without a directory is one of udev's own. `%%` and `$$` stand for `%` and `$`.
"""

import re

from .embedded import EVENT, command, shell_words

_TOKEN = re.compile(r'([A-Z_]+)(?:\{([^}"]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*(e?)"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+""")
_PIECE = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+|['"])""")
_STARTS = {"RUN": (None, "", "program"), "PROGRAM": (None, ""), "IMPORT": ("program",)}
OWN_PROGRAMS = "/usr/lib/udev/"


def parse_udev_rules(text):
    """[Command], one for each program."""
    found = []
    for number, line in _joined(text):
        for key, attribute, operator, escaped, value in _TOKEN.findall(line):
            if key in _STARTS and (attribute or None) in _STARTS[key] and operator != "-=":
                value = _unescaped(value) if escaped else value.replace('\\"', '"')
                words = [_word(word) for word in _WORD.findall(value)]
                if words:
                    found.append(command(number, shell_words([_program(words[0])] + words[1:]), EVENT, exact=False))
    return found


def _program(name):
    return name if "/" in name or name.startswith("$") else OWN_PROGRAMS + name


def _word(word):
    return "".join(one or two or plain
                   for one, two, plain in _PIECE.findall(word)).replace("$$", "$").replace("%%", "%")


def _unescaped(value):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), value)


def _joined(text):
    """(number of the first line, text) with continued lines joined; comments between them are skipped."""
    start, parts = None, []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line.startswith("#"):
            continue
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, "".join(parts + [line])
        start, parts = None, []
    if parts:
        yield start, "".join(parts)
