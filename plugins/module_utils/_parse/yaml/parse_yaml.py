# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of YAML, and so of JSON, with the line of every value. PRIVATE to the collection.

Sample:
    runcmd:
      - systemctl restart iptables   # a comment
      - [ sh, -c, "iptables -F" ]
      - |
        iptables -X
The standard library has no YAML parser. This one reads documents of blocks and brackets, scalars of all styles,
comments, anchors, aliases and merge keys. A document with other features of YAML (tags, keys after a question mark), or
with text on which YAML readers do not agree, has a `problem`. Grammar: YAML 1.2.2, chapters 6 to 9.
"""

import collections
import re

from .lines import parse_lines
from .nodes import BINARY, LIST, MAP, NOTHING, SCALAR, typed

__all__ = ["BINARY", "LIST", "MAP", "NOTHING", "SCALAR", "item", "parse_yaml", "plain_value"]

# `root` is its Node; `problem`: the line and the reason why the text may mean another thing, or None.
Document = collections.namedtuple("Document", "root problem")

# Limits of characters, lines and documents of one file, for one second of work. Configurations have a few hundred
# lines; embedded files in base64 make long lines.
LIMIT, LINES_LIMIT, DOCUMENTS_LIMIT = 1024 * 1024, 20000, 100
_MARK = re.compile(r"(---|\.\.\.)(?=[ \t]|\Z)")
# Line breaks that do not count here, and characters that no document may contain (YAML 1.2.2, 5.1).
_FOREIGN = re.compile(u"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")


def parse_yaml(text):
    """[`Document`], for an unreadable one the problem and the part that could be read; there is never an exception."""
    foreign = _FOREIGN.search(text)
    problem = ("line %d: a character that YAML does not allow" % (text.count("\n", 0, foreign.start()) + 1)
               if foreign else None)
    if len(text) > LIMIT:
        text, problem = text[:LIMIT], "it is longer than %d characters" % LIMIT
    # An empty text after the final line break is not a line.
    lines = [line.rstrip("\r") for line in re.sub(r"\n\Z", "", text.lstrip(u"\ufeff")).split("\n", LINES_LIMIT)]
    if len(lines) > LINES_LIMIT:
        del lines[LINES_LIMIT:]
        problem = problem or "it has more than %d lines" % LINES_LIMIT
    found = []
    for start, end, odd in _bounds(lines):
        if len(found) == DOCUMENTS_LIMIT:
            found.append(Document(NOTHING, "line %d: document %d begins here" % (start + 1, DOCUMENTS_LIMIT + 1)))
            break
        root, doubt = parse_lines(lines[start:end], start)
        found.append(Document(root, problem or odd or doubt))
    return found


def _bounds(lines):
    """(first line, line after the last, problem or None) of each document; the marks are blanked in `lines`."""
    start, has_content, marked, odd = 0, False, False, None
    for number, line in enumerate(lines):
        # A mark at the first column ends a document even inside of a literal block.
        mark = _MARK.match(line) if line[:1] in "-." else None
        if mark:
            if has_content or marked:
                yield start, number, odd
            marked = mark.group(1) == "---"
            lines[number] = "   " + line[3:] if marked else ""
            start, has_content, odd = number, bool(marked and line[3:].strip()), None
        elif line[:1] == "%":
            if has_content or marked:
                odd = odd or "line %d: a directive is inside a document" % (number + 1)
            else:
                lines[number] = ""
        elif line.strip(" \t") and line.lstrip(" \t")[0] != "#":
            has_content = True
    if has_content or marked:
        yield start, len(lines), odd


def item(node, key):
    """The `Node` of a mapping's key, the last if there are several; NOTHING if it has none or is no mapping."""
    found = [value for name, value in node.value if name == key] if node.kind == MAP else []
    return found[-1] if found else NOTHING


def plain_value(node, levels):
    """Dictionaries, lists and scalars with the types that Kubernetes gives them, down to `levels` levels. Deeper
    dictionaries and lists become empty ones: aliases can make them arbitrarily large."""
    if node.kind == MAP:
        return {key: plain_value(value, levels - 1) for key, value in node.value} if levels else {}
    if node.kind == LIST:
        return [plain_value(value, levels - 1) for value in node.value] if levels else []
    return typed(node.value) if node.plain else node.value
