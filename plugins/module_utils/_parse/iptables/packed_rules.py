# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of very large dumps: each takes 21 bytes beside its text, an object 250. PRIVATE to the collection."""

import array

from .ruleset import RuleWords

_GOTO, _MATCH, _TARGET, _ARGUMENTS = 1, 2, 4, 8


class PackedTexts:
    """The texts of all packed rules of a dump, one after the other, and the properties that most queries need."""

    __slots__ = ("texts", "starts", "target_starts", "target_lengths", "flags", "folded")

    def __init__(self):
        self.texts, self.starts = bytearray(), array.array("I", [0])
        # Start of the target's name in the text; length 0: the name is quoted, so the rule has to be parsed again.
        self.target_starts, self.target_lengths = array.array("I"), array.array("I")
        self.flags, self.folded = bytearray(), array.array("I")

    def add(self, text, words, folded_before):
        """Takes a rule; returns its number."""
        coded, target = text.encode("utf-8"), (words.target or "").encode("utf-8")
        place = coded.find((b" -g " if words.goto else b" -j ") + target) + 4 if target else 0
        self.texts += coded
        self.starts.append(len(self.texts))
        self.target_starts.append(place)
        self.target_lengths.append(len(target) if place > 4 else 0)
        self.flags.append(words.goto * _GOTO + bool(words.options or words.matches) * _MATCH
                          + (words.target is not None) * _TARGET + bool(words.arguments) * _ARGUMENTS)
        self.folded.append(folded_before)
        return len(self.flags) - 1

    def text(self, number):
        """A rule as it was printed."""
        return self.texts[self.starts[number]:self.starts[number + 1]].decode("utf-8")

    def target(self, number):
        """The target of a rule, None without one."""
        if self.target_lengths[number]:
            start = self.starts[number] + self.target_starts[number]
            return self.texts[start:start + self.target_lengths[number]].decode("utf-8")
        return PackedRule(self, None, number).words().target if self.flags[number] & _TARGET else None


class PackedRule(RuleWords):
    """A `Rule` that is created on access; two with the same number in the same dump are equal."""

    __slots__ = ("_packed", "_number", "chain")

    def __init__(self, packed, chain, number):
        self._packed, self._number, self.chain = packed, number, chain

    text = property(lambda self: self._packed.text(self._number))
    target = property(lambda self: self._packed.target(self._number))
    goto = property(lambda self: bool(self._packed.flags[self._number] & _GOTO))
    has_match = property(lambda self: bool(self._packed.flags[self._number] & _MATCH))
    has_arguments = property(lambda self: bool(self._packed.flags[self._number] & _ARGUMENTS))
    folded_before = property(lambda self: self._packed.folded[self._number])

    def __eq__(self, other):
        return isinstance(other, PackedRule) and (self._packed, self._number) == (other._packed, other._number)

    def __hash__(self):
        return self._number


class PackedRules:
    """The rules of a chain, used like a list: the `first` ones as objects, the rules after them packed."""

    __slots__ = ("_chain", "_first", "_packed", "_numbers")

    def __init__(self, chain, packed, first, numbers=()):
        self._chain, self._packed, self._first, self._numbers = chain, packed, first, array.array("I", numbers)

    def add(self, text, words, folded_before):
        """Takes the next rule."""
        self._numbers.append(self._packed.add(text, words, folded_before))

    def __len__(self):
        return len(self._first) + len(self._numbers)

    def __iter__(self):
        yield from self._first
        packed, chain = self._packed, self._chain
        for number in self._numbers:
            yield PackedRule(packed, chain, number)

    def __getitem__(self, index):
        before = len(self._first)
        if isinstance(index, slice):
            start, stop, _step = index.indices(len(self))
            numbers = self._numbers[max(0, start - before):max(0, stop - before)]
            return PackedRules(self._chain, self._packed, self._first[start:stop], numbers)
        index = index if index >= 0 else len(self) + index
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._first[index] if index < before else PackedRule(self._packed, self._chain,
                                                                    self._numbers[index - before])
