# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts, lists of texts and whole numbers of a TOML file. PRIVATE to the collection.

Sample: `[plugins."io.containerd.grpc.v1.cri".cni]`, then `bin_dir = "/opt/cni/bin"`. Format: https://toml.io, version
1.0. Other values, and values that continue after the line of their key, are `UNREAD`; a list may continue.
"""

import re

UNREAD = object()

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\\\n]*"|'[^'\n]*')"""
_PATH = r"%s(?:\s*\.\s*%s)*" % (_PART, _PART)
_TABLE = re.compile(r"\[\s*(%s)\s*\]\s*(?:#.*)?\Z" % _PATH)
_KEY = re.compile(r"(%s)\s*=\s*(.*)\Z" % _PATH)
_TEXT = re.compile(r"""\s*(?:"([^"\\]*)"|'([^']*)')\s*""")
_REST = re.compile(r"\s*(?:#.*)?\Z")


def parse_toml_keys(text):
    """`{(table, ..., key): value}` with a text, a list of texts, a whole number or UNREAD."""
    table, found, lines = (), {}, iter(text.splitlines())
    for line in lines:
        line = line.strip()
        heading, pair = _TABLE.match(line), _KEY.match(line)
        if heading:
            table = _parts(heading.group(1))
        elif line.startswith("["):
            table = (line,)  # One table of an array of tables; its keys are not needed.
        elif pair:
            value = pair.group(2)
            while value.startswith("[") and "]" not in value:
                following = next(lines, None)
                if following is None:
                    break
                value += " " + following.partition("#")[0].strip()
            found[table + _parts(pair.group(1))] = _value(value)
    return found


def _parts(path):
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))


def _value(text):
    single = _TEXT.match(text)
    if single and _REST.match(text, single.end()):
        return single.group(1) if single.group(1) is not None else single.group(2)
    number = re.match(r"([0-9]{1,9})\s*(?:#.*)?\Z", text)
    if number:
        return int(number.group(1))
    return _list(text[1:].lstrip()) if text.startswith("[") else UNREAD


def _list(text):
    values = []
    while not text.startswith("]"):
        item = _TEXT.match(text)
        if not item:
            return UNREAD
        values.append(item.group(1) if item.group(1) is not None else item.group(2))
        text = text[item.end():]
        if text.startswith(","):
            text = text[1:].lstrip()
        elif not text.startswith("]"):
            return UNREAD
    return values if _REST.match(text, 1) else UNREAD
