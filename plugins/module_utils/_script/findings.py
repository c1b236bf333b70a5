# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings in a script, with their places in the script's own text. PRIVATE to the collection.

If the outer text contains a nested script (`sh -c '...'`, an `eval`, a here-document for a shell) literally, the
commands of the nested script keep their own places; otherwise their place is the outer command.
"""

import bisect
import re

from .effect import CERTAIN, CONFIDENCES, IPV4, IPV6, LIKELY, Effect, Run
from .sequence import Sequence, summary_of
from .values import MARK

FOUND_LIMIT = 2000
COMMAND_LIMIT = 1000
_TOO_MANY = "was not followed further than %d commands of interest" % FOUND_LIMIT
# Effects that remove rules; a policy, sets and modules are not in a saved rule set.
_TAKES_RULES = frozenset(("flush", "delete", "restore", "ruleset", "table", "apply", "service"))
# The rules that a program in another file removes are not known here.
_FAMILIES = (IPV4, IPV6)
_CONTINUED = re.compile(r"\\\r?\n")


class Findings:
    """`declared` is false after something had to be left out, `cut` names the limit in a few words."""

    def __init__(self, text):
        self.text, self.declared, self.cut = text, True, None
        self.added = -1             # where rules were added last
        self.doubtful = False       # the present commands run only if an unknown name is that of their function
        self.sequence = Sequence()
        self._effects, self._runs, self._line_ends = {}, {}, None
        self._source, self._offset, self._place = None, 0, None

    def end(self, why):
        """A limit ends the reading."""
        self.declared, self.cut = False, self.cut or why

    def enter(self, source, offset, place):
        """Continue with `source`, at `offset` of the text, or in `place`; returns the argument for leave()."""
        kept = self.place()
        # A text with an unknown part may not be a shell script.
        self.declared = self.declared and (source.whole or MARK in source.text)
        if self._place is not None or offset is None:
            self._offset, self._place = 0, self._place or place
        else:
            self._offset += offset
        self._source = source
        return kept

    def place(self):
        """The current place in the text, which leave() restores."""
        return self._source, self._offset, self._place

    def leave(self, kept):
        self._source, self._offset, self._place = kept

    def offset_of(self, word):
        """Where the current text contains the text of a word literally, or None."""
        text, start = self._source.text, word.start
        if word.text is None:
            return None
        if text[start:word.end] == word.text:
            return start
        return (start + 1
                if text[start + 1:word.end - 1] == word.text and word.end - start == len(word.text) + 2 else None)

    def here_text(self, redirect):
        return self._source.text[redirect.body[0]:redirect.body[1]] if redirect.body else ""

    def here_parts(self, redirect):
        """The parts of a here-document in which variables are expanded."""
        return self._source.parts_between(*redirect.body)

    def span(self, node):
        """The part of the whole text that would have to be removed, here-documents included; `:` may replace it."""
        if self._place is not None:
            return self._place
        start, end, source = node.start, node.end, self._source
        first, last = bisect.bisect_left(source.here_starts, start), bisect.bisect_left(source.here_starts, end)
        mine = source.here_documents[first:last]
        if mine and mine[-1].body:
            text = self._source.text
            line_end = text.find("\n", end)
            rest = text[end:line_end].strip() if line_end >= 0 else ""
            # If more text follows on the line, the here-document stays, for the ":".
            end = mine[-1].last if not rest or rest.startswith("#") else len(text[:mine[0].start].rstrip(" \t"))
        return start + self._offset, end + self._offset

    def effect(self, node, sort, families=(), tables=(), chains=(), unit=None, verb=None, file=None, comes_back="no",
               confidence=CERTAIN, span=None):
        """Add an effect; a command with several values of a variable has one effect."""
        span = span or self.span(node)
        confidence = max(confidence, LIKELY if self.doubtful else CERTAIN, key=CONFIDENCES.index)
        key = (span, sort, unit, verb, file)
        known = self._effects.get(key)
        if known:
            families, tables, chains = (_joined(old, new)
                                        for old, new in ((known[0], families), (known[1], tables), (known[2], chains)))
            confidence = min(confidence, known[4], key=CONFIDENCES.index)
        elif len(self._effects) >= FOUND_LIMIT:
            self.end(_TOO_MANY)
            return
        self._effects[key] = (families, tables, chains, comes_back, confidence)
        if sort in _TAKES_RULES:
            self.sequence.takes(key, families)

    def run(self, node, path, arguments, how):
        if path and len(self._runs) >= FOUND_LIMIT:
            self.end(_TOO_MANY)
        if not path or len(self._runs) >= FOUND_LIMIT:
            return
        key = (self.span(node), path, tuple(arguments), how)
        self._runs.setdefault(key)
        self.sequence.takes(key, _FAMILIES)

    def effects(self):
        return [Effect(self._line(key[0][0]), key[0], self._command(key[0]), key[1], families, tables, chains, key[2],
                       key[3], key[4], comes_back, confidence, *summary_of(self.sequence.after(key), families))
                for key, (families, tables, chains, comes_back,
                          confidence) in sorted(self._effects.items(), key=lambda item: item[0][0])]

    def runs(self):
        return [Run(self._line(key[0][0]), key[1], key[2], key[3], key[0], self.sequence.after(key))
                for key in sorted(self._runs, key=lambda run: run[0][0])]

    def _line(self, start):
        if self._line_ends is None:
            self._line_ends = [found.start() for found in re.finditer("\n", self.text)]
        return bisect.bisect_left(self._line_ends, start) + 1

    def _command(self, span):
        return " ".join(_CONTINUED.sub(" ", self.text[span[0]:min(span[1], span[0] + COMMAND_LIMIT)]).split())


def _joined(old, new):
    joined = old + tuple(one for one in new if one not in old)
    return ("*",) if "*" in joined else joined
