# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a YAML document, its anchors and merge keys, and doubts about its meaning. PRIVATE to the collection."""

import collections

SCALAR, LIST, MAP = "scalar", "list", "map"
BINARY = "binary"  # A scalar in base64: `!!binary`.
# `value`: a text, [Node] or [(key, Node)]. `exact`: line N of the text is line `line + N - 1` of the file. `plain`: a
# text without quotes that is not a block; it may be a number as well.
Node = collections.namedtuple("Node", "kind line value exact plain")
NOTHING = Node(SCALAR, 0, "", False, True)
MERGE = object()  # Replaces a merge key: https://yaml.org/type/merge.html.
# At most this many keys may come from merges in one document: aliases multiply text.
MERGED_LIMIT = 2000
_TAG_OF_BINARY = "!!binary"


class Unreadable(Exception):
    """A text that this reader does not accept as YAML; `args` are its line and the reason."""


class Notes:
    """The anchors of a document, and the first problem: a text that other readers may understand differently."""

    def __init__(self):
        self.problem, self._anchors, self._merged = None, {}, 0

    def doubt(self, line, why, really=True):
        if really and self.problem is None:
            self.problem = "line %d: %s" % (line, why)

    def anchored(self, name, line):
        """The node that an alias refers to."""
        self.doubt(line, "an alias has no anchor", name not in self._anchors)
        return self._anchors.get(name, NOTHING)

    def with_properties(self, node, line, tags, anchors):
        """The node with its tags applied; its anchors are recorded."""
        if node.kind == SCALAR and _TAG_OF_BINARY in tags:
            node = node._replace(kind=BINARY)
        # An unknown tag may change the type of the value.
        self.doubt(line, "a tag is not known", any(tag != _TAG_OF_BINARY for tag in tags))
        self._anchors.update((name, node) for name in anchors)
        return node

    def merged(self, pairs, line):
        """The pairs of a mapping: the pairs of its merge keys come first, its own pairs override them."""
        if not any(key is MERGE for key, _value in pairs):
            return pairs
        brought, own, before, merges = [], [], set(), set()
        for key, value in pairs:
            if key is not MERGE:
                own.append((key, value))
                before.add(key)
                continue
            found = self._of_merge(value, line)
            # In yaml.v2 a merge key overrides the keys before it, in other readers it does not.
            self.doubt(line, "a merge key follows a key that it also sets",
                       any(name in before for name, _node in found))
            # Of two merge keys some readers take the first one's value and others the last one's.
            self.doubt(line, "two merge keys set the same key", any(name in merges for name, _node in found))
            merges.update(name for name, _node in found)
            brought += found
        return brought + own

    def _of_merge(self, value, line):
        maps = value.value if value.kind == LIST else [value]
        if any(node.kind != MAP for node in maps):
            self.doubt(line, "a merge key does not name a mapping")
            return []
        self._merged += sum(len(node.value) for node in maps)
        if self._merged > MERGED_LIMIT:
            self.doubt(line, "merge keys set more than %d keys" % MERGED_LIMIT)
            return []
        return [pair for node in reversed(maps) for pair in node.value]


def merge_or_key(node):
    """The key of a mapping: its text, or MERGE."""
    return MERGE if node.plain and node.value == "<<" else node.value
