# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements of nftables sets and maps as `nft list` prints them. PRIVATE to the collection.

Sample:
    elements = { 10.96.0.23 . tcp . 80 comment "default/empty" : goto reject-chain,
                 192.0.2.7 timeout 3h expires 2h59m56s }
nft breaks lines only after commas (nftables src/expression.c); a comment may contain any character except a quotation
mark.
"""

import collections
import re

# key: the words between the dots. verdict: goto, jump, drop, accept, ..., or None. target: the chain.
Element = collections.namedtuple("Element", "key verdict target comment")

_COMMENT = re.compile("comment \"([^\"]*)\"")
_KEY = re.compile(r"^([^\s\"]+(?: \. [^\s\"]+)*)(?: +(?:timeout|expires|counter|quota|limit|last) [^\"]*)?$")
_VERDICT = re.compile(r"^(goto|jump) (\S+)$|^(drop|accept|return|continue)$")


def parse_element(text):
    """The `Element`, or None. The value of a map without verdicts is ignored."""
    comment = _COMMENT.search(text)
    if comment:
        text = text[:comment.start()] + text[comment.end():]
    before, colon, value = text.partition(" : ")
    key, verdict = _KEY.match(before.strip()), _VERDICT.match(value.strip())
    if not key or '"' in value or (colon and not value.strip()):
        return None
    return Element(
        tuple(key.group(1).split(" . ")),
        (verdict.group(1) or verdict.group(3)) if verdict else None,
        verdict.group(2) if verdict else None,
        comment.group(1) if comment else None)


class ElementReader:
    """Takes the lines after `elements = {`, passes each Element to `take`, and is `done` at the closing brace."""

    def __init__(self, take):
        self.done, self._take = False, take

    def line(self, text):
        """Takes a line; returns the texts that are not elements."""
        *pieces, last = split_at_commas(text.rstrip())
        self.done = last.endswith("}")
        unread = []
        for piece in pieces + [last[:-1] if self.done else last]:
            element = parse_element(piece.strip())
            if element is not None:
                self._take(element)
            elif piece.strip():
                unread.append(piece)
        return unread


def split_at_commas(text):
    """The parts between commas outside of quoted comments; at least one."""
    if '"' not in text:
        return text.split(",")
    parts, current = [], []
    for index, piece in enumerate(text.split('"')):
        if index % 2:
            current.append('"%s"' % piece)
            continue
        first, *others = piece.split(",")
        current.append(first)
        for other in others:
            parts.append("".join(current))
            current = [other]
    return parts + ["".join(current)]
