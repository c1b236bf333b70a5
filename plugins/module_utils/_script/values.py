# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""Values of the words of a script, as far as the text determines them. PRIVATE to the collection.

An unknown part is a mark inside a value, a name between two zero bytes, which no text of a shell contains:
`\0IPTABLES\0` is a variable that is not set here, `\0=rules\0` the output of iptables-save, `\0</etc/x\0` the
content of a file. A variable may have several values.

Conditions of a script that can have only one outcome.
"""

import fnmatch
import itertools
import re

from .._parse.shell.tree import Simple, Substitution, Variable
from .effect import MARK

MARKS = re.compile("\0([^\0]*)\0")
FILE = re.compile("\0<([^\0]+)\0")    # the content of a file
RULES, FEWER_RULES, OWN_RULES, TABLES, NOTHING_KNOWN = "\0=rules\0", "\0=fewer\0", "\0=own\0", "\0=tables\0", "\0?\0"
# Rules turned into options that delete them; names of all sets and modules of the kernel.
DELETES, SETS, MODULES = "\0=deletes\0", "\0=sets\0", "\0=modules\0"
# Limits: values of a variable, and combinations of values that a command is read with.
VALUES_LIMIT, COMMANDS_LIMIT = 32, 32
TEXT_LIMIT = 262144     # of one value, and of what one command prints
_BRACES = re.compile(r"\{([^{}]*)\}")
# A mark that is neither output of iptables nor content of a file: then the name of the variable is more useful.
_NAMELESS = re.compile("\0([^\0=<]*)\0\\Z")
_ALONE = ({},)
_DEFAULTS = (":-", "-", ":=", "=")


def unknown(name):
    return MARK + name + MARK


class Values:
    """`substitute(substitution)`: the output of a command substitution. `guessed`: a default replaced an unknown value
    since `guessed` was reset.

    `arguments`: the values of `$1` and so on, None if they are unknown. `constants`: variables that can have only one
    value.
    """

    def __init__(self, substitute, budget, arguments):
        self.values, self.arrays, self.constants = {}, {}, {}
        self.arguments, self.guessed = arguments, False
        self._substitute, self._budget = substitute, budget

    def alternatives(self, words):
        """The bindings of variables that a command is to be read with, at least one."""
        several = []
        for word in words:
            for part in word.parts if word.text is None else ():
                if isinstance(part, Variable) and len(self.values.get(part.name, ())) > 1 and part.name not in several:
                    several.append(part.name)
        if not several:
            return _ALONE
        return [dict(zip(several, chosen)) for chosen in
                itertools.islice(itertools.product(*(self.values[name] for name in several)), COMMANDS_LIMIT)]

    def fields(self, words, binding):
        """The arguments that words become: expanded, and split where they are not quoted."""
        fields = []
        for word in words:
            if word.text is None:
                fields += self._split(word, binding)
            elif not word.quoted and "{" in word.text:
                fields += braces_expanded(word.text)
            else:
                fields.append(word.text)
        return fields

    def text_of(self, parts, binding):
        """The one text that parts become where nothing is split."""
        done = []
        for part in parts:
            value = part if isinstance(part, str) else self._value(part, binding)
            done.append(value if isinstance(value, str) else " ".join(value))
        return self._bounded("".join(done))

    def texts_of(self, word):
        """Every value of a word that is assigned, redirected to or read."""
        if word.text is not None:
            return [word.text]
        found = []
        for binding in self.alternatives([word]):
            text = self.text_of(word.parts, binding)
            if text not in found:
                found.append(text)
        return found

    def _split(self, word, binding):
        fields, current, pending = [], "", word.quoted
        for part in word.parts:
            value = part if isinstance(part, str) else self._value(part, binding)
            if isinstance(value, str) and (part is value or part.quoted):
                current, pending = current + value, pending or bool(value)
                continue
            pieces = value.split() if isinstance(value, str) else value
            for number, piece in enumerate(pieces):
                if number:
                    fields.append(self._bounded(current))
                    current = ""
                current, pending = current + piece, True
            if not isinstance(value, str) and not pieces and word.quoted and len(word.parts) == 1:
                pending = False  # "$@" without arguments is no word at all.
        if pending:
            fields.append(self._bounded(current))
        if not word.quoted and len(fields) == 1 and "{" in fields[0]:
            return braces_expanded(fields[0])
        return fields

    def _bounded(self, text):
        self._budget -= len(text)
        return text if len(text) <= TEXT_LIMIT and self._budget >= 0 else NOTHING_KNOWN

    def _value(self, part, binding):
        """The value of a variable or substitution: a text, or a list of texts."""
        if isinstance(part, Substitution):
            return self._substitute(part)
        value = self._plain_value(part, binding)
        if part.operator in _DEFAULTS and value in (None, "", unknown(part.name)):
            self.guessed = True
            return self.text_of(part.rest, binding) or unknown(part.name)
        rest = self.text_of(part.rest, binding) if part.rest else ""
        if value is None:
            return unknown(part.name)
        if not part.operator or part.operator in (":?", "?", "[@]") or not isinstance(value, str) or MARK in value:
            return value
        if part.operator[0] == "%" and not re.search(r"[*?\[]", rest):
            return value[:-len(rest)] if rest and value.endswith(rest) else value
        if part.operator == "##" and rest == "*/":
            return value.rpartition("/")[2]
        return unknown(part.name)

    def _plain_value(self, part, binding):
        name = part.name
        if name in ("@", "*"):
            return self.arguments if self.arguments is not None else [unknown("@")]
        if name.isdigit() and name != "0" and self.arguments is not None:
            return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else ""
        if name in self.arrays and (part.index is not None or name not in self.values):
            fields = self.arrays[name]
            if part.index in ("@", "*"):
                return fields
            number = int(part.index) if (part.index or "0").isdigit() and part.index else 0
            return fields[number] if number < len(fields) else ""
        if name in binding:
            return binding[name]
        return self.values[name][0] if name in self.values else None

    def assign(self, name, texts, appends=False, maybe=False, constant=False):
        """`maybe`: the command may not run, so the earlier values stay possible."""
        before = self.values.get(name, ())
        texts = [_named(text, name) for text in texts]
        if appends:
            texts = [old + new for old in before or ("",) for new in texts]
        self.values[name] = tuple(dict.fromkeys((before
                                                 if maybe else ()) + tuple(map(self._bounded, texts))))[:VALUES_LIMIT]
        self.arrays.pop(name, None)
        self.constants.pop(name, None)
        if constant and not maybe and len(self.values[name]) == 1 and MARK not in self.values[name][0]:
            self.constants[name] = self.values[name][0]

    def restore(self, name, values):
        """Give a variable its earlier values back; None: it had no values."""
        self.forget(name)
        if values is not None:
            self.values[name] = values

    def forget(self, name):
        for known in (self.values, self.arrays, self.constants):
            known.pop(name, None)

    def known(self, word):
        """The one text a word can be, or None."""
        if word.text is not None:
            return word.text
        done = []
        for part in word.parts:
            if isinstance(part, Variable) and not (part.operator or part.index):
                if part.name.isdigit() and part.name != "0" or part.name == "#":
                    part = self._argument(part.name)
                else:
                    part = self.constants.get(part.name)
            if not isinstance(part, str) or MARK in part:
                return None
            done.append(part)
        return "".join(done)

    def _argument(self, name):
        if self.arguments is None or any(MARK in argument for argument in self.arguments):
            return None
        return (str(len(self.arguments)) if name == "#" else self.arguments[int(name) - 1]
                if int(name) <= len(self.arguments) else "")


def _named(text, name):
    """An unknown value gets the name of its variable; the mark still shows whether it came from the arguments."""
    found = _NAMELESS.match(text)
    if not found:
        return text
    return unknown("%s:%s" % (found.group(1), name) if re.match(r"[0-9@*]+\Z", found.group(1)) else name)


def braces_expanded(text):
    """`ip{,6}tables` is `iptables` and `ip6tables`."""
    waiting, done = [text], []
    while waiting:
        one = waiting.pop()
        found = next((found for found in _BRACES.finditer(one) if "," in found.group(1)), None)
        if found is None or len(done) + len(waiting) > VALUES_LIMIT or len(text) > 1000:
            done.append(one)
        else:
            waiting += [one[:found.start()] + choice + one[found.end():]
                        for choice in reversed(found.group(1).split(","))]
    return [one for one in done if one]


_EQUAL = {"=": True, "==": True, "-eq": True, "!=": False, "-ne": False}


def truth_of_all(values, nodes):
    """The result of a list of commands, that of its last one: True, False, or None if it varies."""
    return truth(values, nodes[-1]) if nodes else None


def truth(values, node):
    if isinstance(node, Simple):
        return _truth_of_simple(values, node)
    if node.kind == "pipeline" and len(node.clauses) == 1:
        inner = truth(values, node.clauses[0][1][0])
        return None if inner is None else not inner
    if node.kind == "and_or":
        known = None
        for operator, nodes in node.clauses:
            inner = truth_of_all(values, nodes)
            if operator is None:
                known = inner
            elif operator == "&&":
                known = False if known is False or inner is False else inner if known else None
            else:
                known = True if known or inner else None if known is None else inner
        return known
    if node.kind == "group" and node.clauses:
        return truth_of_all(values, node.clauses[0][1])
    return None


def _truth_of_simple(values, node):
    words = node.words
    name = words[0].text if words else None
    if name in ("true", ":", "false") and not node.redirects:
        return name != "false"
    if name == "test":
        return _test(values, words[1:], False)
    is_test = name in ("[", "[[") and words[-1].text in ("]", "]]")
    return _test(values, words[1:-1], name == "[[") if is_test else None


def _test(values, words, patterns):
    negated = len(words) > 1 and words[0].text == "!"
    known = [values.known(word) for word in words[1 if negated else 0:]]
    result = None
    if None not in known and len(known) <= 3:
        if len(known) == 3 and known[1] in _EQUAL:
            same = fnmatch.fnmatchcase(known[0],
                                       known[2]) if patterns and not words[-1].quoted else known[0] == known[2]
            result = same == _EQUAL[known[1]]
        elif len(known) == 2 and known[0] in ("-n", "-z"):
            result = bool(known[1]) == (known[0] == "-n")
        elif len(known) == 1:
            result = bool(known[0])
    return None if result is None else result != negated
