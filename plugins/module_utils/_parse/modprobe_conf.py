# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""modprobe.d: what the administrator says about loading modules. PRIVATE to the collection.

Sample:
    # a comment
    blacklist nf_conntrack
    install ip_vs /bin/true
    alias ipt_comment off
    options nf_conntrack hashsize=65536
Grammar: kmod libkmod/libkmod-config.c kmod_config_parse(): one directive a line, a line may go on behind a backslash.
"""

from .. import _names

_LEAST_WORDS = {"alias": 3, "blacklist": 2, "options": 3, "install": 3, "remove": 3, "softdep": 2, "weakdep": 2}
# Accepted by older kmod with a warning and without effect on whether a module loads.
_WITHOUT_EFFECT = ("include", "config")


class Directive(object):
    """One directive: C(keyword), C(name) (kmod's spelling), C(rest) (the words behind, unsplit), C(line) number and C(text)."""

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
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        keyword = words[0]
        if keyword in _LEAST_WORDS and len(words) >= _LEAST_WORDS[keyword] and "\0" not in line:
            rest = words[2].strip() if len(words) > 2 else ""
            directives.append(Directive(keyword, _names.normalise(words[1]), rest, number, line.strip()))
        elif keyword not in _WITHOUT_EFFECT:
            unread.append((number, line.strip()))
    return directives, unread


def _joined(text):
    """(number of the first line, text) with continued lines made one."""
    start, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, "".join(parts + [line])
        start, parts = 0, []
    if parts:
        yield start, "".join(parts)
