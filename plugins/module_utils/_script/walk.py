# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows a script as its shell would, without running anything. PRIVATE to the collection.

The result of a condition is known only if it compares values that cannot vary; otherwise all arms may run. Functions
count where they are called. The walk is limited by steps, not by time, so that the same text always gives the same
result.
"""

import fnmatch
import itertools

from .._parse.shell.grammar import parse_shell
from .._parse.shell.tree import Simple, Variable
from .commands import run_command
from .effect import CERTAIN, LIKELY, Reading
from .findings import Findings
from .streams import Streams
from .values import MARK, NOTHING_KNOWN, VALUES_LIMIT, Values, truth, truth_of_all

WALK_LIMIT = 60         # lists of commands nested in each other
CALLS_LIMIT = 12        # functions that call each other
STEPS_LIMIT = 20000     # commands in functions and in nested scripts, or as many as the text may hold
SAME_CALLS_LIMIT = 6    # of a function with the same arguments: one for each table
TRAPS_LIMIT = 1000
_TOO_MANY, _TOO_DEEP = ("was not followed further than %d statements",
                        "was not followed into commands nested deeper than %d levels")
_TOO_LONG = "was not followed into all nested scripts: together they are too long"
ENDS = ("break", "return", "exit")
_GLOBS = frozenset("*?[")


class Walker(Streams):
    """The methods that walk return how the walked part ends: None, or one of ENDS."""

    def __init__(self, text, arguments, called, limit):
        budget = 4 * len(text) + 1024 * 1024
        values = Values(self._substitute, budget, list(arguments) if arguments is not None else None)
        Streams.__init__(self, Findings(text), values, budget)
        self.functions, self.traps, self._called = {}, [], called
        self.tools = {}     # which tool each command is
        self.piped = 0      # how deep the walk is in arguments of xargs
        self.checked = None  # the words of the rule that iptables -C checked last
        self._stack, self._kept, self._calls = [], [], {}
        self._depth, self._steps = 0, max(STEPS_LIMIT, len(text) // 4)
        self._limit, self._walked = limit, 0
        self._assigned, self._node = {}, None

    def read(self, text):
        """Walk the whole text, then the functions that other programs call, then the traps."""
        source = parse_shell(text)
        self._assigned = source.assigned
        self.findings.enter(source, 0, None)
        self.walk(source.nodes)
        self.maybe += 1
        with self.findings.sequence.branches() as end:
            for name in self._called:
                end(self.call(name, None))
        for node, command, offset, place in itertools.islice(self.traps, TRAPS_LIMIT):  # A trap may set another.
            self.findings.leave(place)
            self.nested(node, command, offset)
        self.end_rule_files()

    def reading(self):
        """What was found: a Reading."""
        found = self.findings
        called = {name for name, _arguments in self._calls}
        return Reading(found.effects(), found.runs(), found.declared, found.cut, min(self._walked, self._limit),
                       tuple(sorted(set(self.functions) - called)))

    def nested(self, node, text, offset=None, arguments=None, span=None):
        """Walk a script inside this one: at `offset` or, without it, somewhere in `node` or `span`."""
        self.budget -= len(text)
        if self.budget < 0 or self._depth >= WALK_LIMIT:
            self.findings.end(_TOO_LONG if self.budget < 0 else _TOO_DEEP % WALK_LIMIT)
            return
        source = parse_shell(text)
        kept = self.findings.enter(source, offset, span or self.findings.span(node))
        before = self.values.arguments
        if arguments is not None:
            self.values.arguments = arguments
        self._stack.append(None)
        self.walk(source.nodes)
        self._stack.pop()
        self.values.arguments = before
        self.findings.leave(kept)

    def walk(self, nodes):
        ended = None
        self._depth += 1
        if self._depth > WALK_LIMIT:
            self.findings.end(_TOO_DEEP % WALK_LIMIT)
        else:
            for node in nodes:
                ended = self._walk_one(node)
                if ended:
                    break
        self._depth -= 1
        return ended

    def _walk_maybe(self, nodes):
        self.maybe += 1
        ended = self.walk(nodes)
        self.maybe -= 1
        return ended

    def _walk_one(self, node):
        self._walked += 1
        if self._walked > self._limit:
            self.findings.end(_TOO_MANY % self._limit)
            return "exit"
        if self._stack:
            self._steps -= 1
            if self._steps < 0:
                self.findings.end(_TOO_MANY % self._walked)
                return "return"
        self._node = node
        if isinstance(node, Simple):
            return self.redirected(node, self._simple) if node.redirects else self._simple(node)
        if node.kind == "function":
            self._define(node)
            return None
        walk = getattr(self, "_" + node.kind)
        return self.redirected(node, walk) if node.redirects else walk(node)

    # Nodes of the grammar

    def _group(self, node):
        return self.walk(node.clauses[0][1]) if node.clauses else None

    def _subshell(self, node):
        self.walk(node.clauses[0][1])

    def _and_or(self, node):
        known = None
        for operator, nodes in node.clauses:
            if operator == "&&" and known is False or operator == "||" and known is True:
                continue
            certain = operator is None or known is not None
            ended = self.walk(nodes) if certain else self._walk_maybe(nodes)
            if ended and certain:
                return ended
            known = truth(self.values, nodes[0]) if certain else None
        return None

    def _pipeline(self, node):
        if len(node.clauses) == 1:
            return self.walk(node.clauses[0][1])
        kept, captured = (self.stdin, self.capture), None
        for number, (_nothing, nodes) in enumerate(node.clauses):
            if number:
                piped = isinstance(nodes[0], Simple)
                self.stdin = ("".join(captured) if captured else NOTHING_KNOWN,
                              self.findings.span(node) if piped else None)
            captured = self.capture = [] if number + 1 < len(node.clauses) else kept[1]
            self.walk(nodes)
        self.stdin, self.capture = kept
        return None

    def _if(self, node):
        all_ended = []
        with self.findings.sequence.branches() as end:
            for condition, nodes in node.clauses:
                known = True
                if condition is not None:
                    ended = self._walk_maybe(condition) if all_ended else self.walk(condition)
                    if ended and not all_ended:
                        return ended
                    known = truth_of_all(self.values, condition)
                if known and not all_ended:
                    return self.walk(nodes)
                if known is not False:
                    all_ended.append(self._walk_maybe(nodes))
                    end(all_ended[-1])
                if known:
                    return _weakest(all_ended)
        return None

    def _case(self, node):
        with self.findings.sequence.branches() as end:
            return self._arms_of_case(node, end)

    def _arms_of_case(self, node, end):
        subject, all_ended, others = node.words[0], [], False
        known = self.values.known(subject)
        name = subject.parts[0].name if len(subject.parts) == 1 and isinstance(subject.parts[0], Variable) else None
        for patterns, nodes in node.clauses:
            texts = [self.values.known(pattern) for pattern in patterns]
            if known is not None and None not in texts:
                if not any(fnmatch.fnmatchcase(known, text) for text in texts):
                    continue
                if not all_ended:
                    return self.walk(nodes)
            exact = texts and None not in texts and not any(_GLOBS & set(text) for text in texts)
            before = self.values.values.get(name)
            if exact and name:
                self.values.values[name] = tuple(texts[:VALUES_LIMIT])
            all_ended.append(self._walk_maybe(nodes))
            end(all_ended[-1])
            if exact and name and self.values.values.get(name) == tuple(texts[:VALUES_LIMIT]):
                self.values.restore(name, before)
            others = others or "*" in texts
        return _weakest(all_ended) if others else None

    def _for(self, node):
        if node.words is None:
            fields = self.values.arguments
        else:
            fields = [field for binding in self.values.alternatives(node.words)
                      for field in self.values.fields(node.words, binding)]
        certain = bool(fields) and not any(MARK in field for field in fields)
        self.values.assign(node.name, fields or [NOTHING_KNOWN])
        return self._loop(node.clauses[0][1], certain)

    def _while(self, node):
        condition, nodes = node.clauses[0]
        self.walk(condition)
        known = truth_of_all(self.values, condition)
        known = known if known is None or node.kind == "while" else not known
        return None if known is False else self._loop(nodes, known)

    _until = _while

    def _loop(self, nodes, certain):
        ended = self.walk(nodes) if certain else self._walk_maybe(nodes)
        return ended if certain and ended != "break" else None

    def _define(self, node):
        body = (node.clauses[0][1], self.findings.place())
        self.functions[node.name] = (self.functions.get(node.name, []) if self.maybe else []) + [body]

    def call(self, name, arguments):
        """Walk a function of the script; unknown `arguments` are None."""
        if name in self._stack or name not in self.functions:
            return None
        if len(self._stack) >= CALLS_LIMIT:
            self.findings.end(_TOO_DEEP % CALLS_LIMIT)
            return None
        key = (name, tuple(arguments) if arguments is not None else None)
        number, ended = self._calls.get(key, (0, None))
        if number >= SAME_CALLS_LIMIT:
            return ended
        before, self.values.arguments = self.values.arguments, arguments
        self._stack.append(name)
        self._kept.append({})
        for nodes, place in self.functions[name]:
            kept = self.findings.place()
            self.findings.leave(place)
            ended = self.walk(nodes)
            self.findings.leave(kept)
        self._stack.pop()
        for variable, values in self._kept.pop().items():
            self.values.restore(variable, values)
        self.values.arguments = before
        ended = "exit" if ended == "exit" else None
        self._calls[key] = (number + 1, ended)
        return ended

    def local(self, name):
        """The function that runs now gets a variable of its own."""
        if self._kept:
            self._kept[-1].setdefault(name, self.values.values.get(name))

    # Commands

    def _simple(self, node):
        values = self.values
        declares = node.assignments and (not node.words
                                         or node.words[0].text in ("local", "declare", "typeset", "export", "readonly"))
        for assignment in node.assignments:
            self._assign(assignment, declares, node.words and node.words[0].text in ("local", "declare", "typeset"))
        ended = None
        bindings = values.alternatives(node.words) if node.words else ()
        for binding in bindings:
            self._node, values.guessed = node, False
            arguments = values.fields(node.words, binding)
            if arguments:
                ended = run_command(self, node, arguments)
        return ended if len(bindings) == 1 else None

    def _assign(self, assignment, declares, local):
        name, values = assignment.name, self.values
        if assignment.words is not None:
            fields = values.fields(assignment.words, {})
            if declares:
                before = values.arrays.get(name, []) if assignment.appends or self.maybe else []
                values.forget(name)
                values.arrays[name] = (before + fields)[:VALUES_LIMIT]
            return
        texts = values.texts_of(assignment.word)
        if declares:
            if local:
                self.local(name)
            constant = not self._stack and self._assigned.get(name) == 1
            values.assign(name, texts, assignment.appends, self.maybe > 0, constant)

    def _substitute(self, substitution):
        kept, node = (self.stdin, self.capture), self._node
        captured = self.capture = []
        if substitution.nodes is None:
            self.nested(node, substitution.text)
        else:
            self.walk(substitution.nodes)
        self.stdin, self.capture = kept
        self._node, text = node, "".join(captured)
        if substitution.process:
            path = "/dev/fd/%d" % (60 + len(self.files))
            self.files[path] = text
            return path
        return text.rstrip("\n") if captured else ""

    def command(self, node, words):
        """Follow a command that another one starts."""
        self._steps -= 1
        if self._depth >= WALK_LIMIT or self._steps < 0:
            self.findings.end(_TOO_DEEP % WALK_LIMIT if self._steps >= 0 else _TOO_MANY % self._walked)
            return
        self._depth += 1
        run_command(self, node, words)
        self._depth -= 1

    def offset_of(self, node, text):
        """Where an argument stands literally, or None. Such an argument is the same object as the text of its word."""
        return next((self.findings.offset_of(word) for word in node.words if word.text is text), None)

    def effect(self, node, sort, piped=False, confidence=CERTAIN, **fields):
        """Record an effect; `piped`: it results from the input of the pipeline, to be removed as well."""
        piped = piped or self.piped
        if self.values.guessed and confidence == CERTAIN:
            confidence = LIKELY
        self.findings.effect(node, sort, confidence=confidence, span=self.stdin[1] if piped else None, **fields)


def _weakest(ends):
    """The end that is certain after any one of several arms ran."""
    return min(ends, key=ENDS.index) if ends and None not in ends else None
