# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modprobe.d: the administrator's settings for loading modules. PRIVATE to the collection.

Sample:
    # a comment
    blacklist nf_conntrack
    install ip_vs /bin/true
    alias ipt_comment off
    options nf_conntrack hashsize=65536
Grammar: kmod libkmod/libkmod-config.c kmod_config_parse(), shared/util.c freadline_wrapped(): one directive per line, a
backslash continues a line, only blanks and tabs separate words, the rest of a line after a zero byte is ignored.
"""

import re

from ... import _names

_LEAST_WORDS = {"alias": 3, "blacklist": 2, "options": 3, "install": 3, "remove": 3, "softdep": 3, "weakdep": 3}
# Accepted by older kmod with a warning and without effect on whether a module loads.
_WITHOUT_EFFECT = ("include", "config")


class Directive:
    """One directive: `keyword`, `name` (kmod's spelling), `rest` (the words after it, unsplit), `line` number and
    `text`."""

    def __init__(self, keyword, name, rest, line, text):
        self.keyword = keyword
        self.name = name
        self.rest = rest
        self.line = line
        self.text = text


def parse_modprobe_conf(text):
    """([Directive], [(line number, text) that could not be read])."""
    directives, unread = [], []
    for number, line in _joined(text):
        # A character after a backslash is taken as it is.
        words = re.split("[ \t]+", re.sub(r"\\(.)", r"\1", line.partition("\0")[0]).strip(" \t"), maxsplit=2)
        if not line.strip() or words[0].startswith("#"):
            continue
        # The carriage return of a DOS file becomes part of the final word, so that the name matches no module.
        if len(words) >= _LEAST_WORDS.get(words[0], 4) and not words[1].endswith("\r"):
            rest = words[2] if len(words) > 2 else ""
            directives.append(Directive(words[0], _names.normalise(words[1]), rest, number, line.strip()))
        elif words[0] not in _WITHOUT_EFFECT:
            unread.append((number, line.strip()))
    return directives, unread


def soft_dependencies(rest):
    """Modules that the words after `softdep NAME` name; words before the first `pre:` or `post:` are skipped."""
    words = rest.split()
    labels = [index for index, word in enumerate(words) if word in ("pre:", "post:")]
    return [_names.normalise(word) for word in words[labels[0]:] if word not in ("pre:", "post:")] if labels else []


def _joined(text):
    """(number of the first line, text) with continued lines joined."""
    start, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            parts.append(line[:-1])
            continue
        yield start, "".join(parts + [line])
        start, parts = 0, []
    if parts:
        yield start, "".join(parts)
