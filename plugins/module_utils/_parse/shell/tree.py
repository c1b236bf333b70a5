# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The syntax tree of a shell script. `start` and `end` are offsets in its text. PRIVATE to the collection."""


class Word:
    """`parts`: texts, Variables and Substitutions in a row; `text`: the word if it is only text, otherwise None.

    `quoted` is true if any of it was quoted, so that it is not a reserved word and its braces do not expand.
    """

    __slots__ = ("start", "end", "parts", "quoted", "text")

    def __init__(self, start, end, parts, quoted):
        self.start, self.end, self.parts, self.quoted = start, end, parts, quoted
        if len(parts) == 1:
            self.text = parts[0] if isinstance(parts[0], str) else None
        else:
            self.text = "".join(parts) if all(isinstance(part, str) for part in parts) else None


class Variable:
    """`$name`, `${name}`, `${name:-default}`: `operator`, its `rest` (parts of a word), `index` of an array or None."""

    __slots__ = ("name", "index", "operator", "rest", "quoted")

    def __init__(self, name, quoted, index=None, operator="", rest=()):
        self.name, self.quoted, self.index, self.operator, self.rest = name, quoted, index, operator, rest


class Substitution:
    """The output of `nodes`, or of the unescaped commands of `text`. `process`: `<(...)`, which becomes a file name."""

    __slots__ = ("nodes", "text", "quoted", "process")

    def __init__(self, nodes, text, quoted, process=False):
        self.nodes, self.text, self.quoted, self.process = nodes, text, quoted, process


class Assignment:
    """`name=word`, `name+=word`, `name=(words)`. One of `word` and `words` has a value, the other stays None."""

    __slots__ = ("name", "appends", "word", "words")

    def __init__(self, name, appends, word, words):
        self.name, self.appends, self.word, self.words = name, appends, word, words


class Redirect:
    """`operator` and `word`; for a here-document its delimiter, `body` (start, end), `last`: the end
    of the delimiter line."""

    __slots__ = ("start", "descriptor", "operator", "word", "body", "last")

    def __init__(self, start, descriptor, operator, word):
        self.start, self.descriptor, self.operator, self.word = start, descriptor, operator, word
        self.body = self.last = None


class Simple:
    """A command with its words. `[[ ... ]]` is one too, with its brackets and operators as words."""

    __slots__ = ("start", "end", "words", "assignments", "redirects")

    def __init__(self, start, end, words, assignments, redirects):
        self.start, self.end, self.words, self.assignments, self.redirects = start, end, words, assignments, redirects


class Compound:
    """A command that contains other commands. The meaning of the fields depends on `kind`:

    pipeline            clauses [(None, [node])]; name "!" where it is negated
    and_or              clauses [(None, && or ||, [node])]
    if, while, until    clauses [(condition, nodes)]; condition None: the branch after false conditions
    for                 name, words (None for "$@"), clauses [(None, nodes)]
    case                words [subject], clauses [(patterns, nodes)]
    group, subshell     clauses [(None, nodes)]
    function            name, clauses [(None, nodes)]
    """

    __slots__ = ("kind", "start", "end", "name", "words", "clauses", "redirects")

    def __init__(self, kind, start, end, clauses, name=None, words=None):
        self.kind, self.start, self.end, self.clauses, self.name, self.words = kind, start, end, clauses, name, words
        self.redirects = []
