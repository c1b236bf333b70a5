# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of a script that can have only one outcome. PRIVATE to the collection."""

import fnmatch

from .._parse.shell.tree import Simple

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
