# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds keys and functions in a JMESPath expression that do not exist according to the documentation of the evidence.
PRIVATE to the collection.

JMESPath returns null for a misspelled key, so a check with such a key would be unknown on every node.
"""

from ...module_utils._errors import BadInput
from .._options import close_to
from . import row_shapes
from .expressions import compiled, functions

# A key that never exists is the shortest JMESPath expression for null.
_NULL = "null"
# Only checks of the collection read joins: a user's `needs` cannot name what they read.
_PRIVATE = {"joins"}
_PROJECTIONS = ("projection", "filter_projection", "value_projection", "flatten")
_IN_TURN = ("subexpression", "pipe", "index_expression")


def refuse_unknown_keys(where, name, expression):
    """Raises BadInput for a section, a key or a function in the expression `name` that does not exist, and for a call
    that no answer can come from."""
    evidence, parsed = row_shapes.evidence(), compiled(expression, "%s: %s" % (where, name)).parsed
    for kind, word, known, above in _unknown(parsed, evidence, ""):
        near = close_to(word, known)
        near = "; did you mean %s?" % near if near else "; there is: %s" % ", ".join(sorted(known.keys() - _PRIVATE))
        if kind == "function":
            raise BadInput("%s: %s uses the function %s, which does not exist%s" % (where, name, word, near))
        if known is evidence:
            raise BadInput("%s: %s reads %s, but there is no such section%s" % (where, name, word, near))
        raise BadInput("%s: %s uses the unknown key %s%s" % (where, name, above + word, near))
    for problem in _wrong_calls(parsed):
        raise BadInput("%s: %s %s" % (where, name, problem))


def _wrong_calls(node):
    """The mistakes in the arguments of the functions of an expression, a sentence without its subject each."""
    if node["type"] == "function_expression":
        takes, given = functions()[node["value"]], node["children"]
        least, any_more = len(takes), takes[-1].get("variadic")
        if len(given) < least or (len(given) > least and not any_more):
            yield "calls %s with %d arguments, but it takes %s%d" % (
                node["value"], len(given), "at least " if any_more else "", least)
        for number, (argument, parameter) in enumerate(zip(given, takes), 1):
            wants = "expref" in parameter["types"]
            if wants != (argument["type"] == "expref"):
                yield "calls %s, whose argument %d %s an expression with &" % (
                    node["value"], number, "must be" if wants else "must not be")
    for child in node["children"]:
        if isinstance(child, dict):
            yield from _wrong_calls(child)


def sections_read(expression):
    """The sections whose names are keys anywhere in an expression."""
    found = set()
    _walk_names(compiled(expression, "expression").parsed, found)
    return found & (set(row_shapes.evidence()) - {"requirements"})


def _walk_names(node, found):
    if node["type"] == "field":
        found.add(node["value"])
    for child in node.get("children", ()):
        if isinstance(child, dict):
            _walk_names(child, found)


def _unknown(node, current, above):
    """(kind, word, known words, path above it) of each word that does not exist in the value `current`."""
    kind, children = node["type"], node["children"]
    if kind == "slice":
        return  # Its children are numbers.
    if kind == "field":
        if isinstance(current, dict) and node["value"] not in current and node["value"] != _NULL:
            yield kind, node["value"], current, above
    elif kind in _IN_TURN:
        for child in children:
            yield from _unknown(child, current, above)
            above = above + child["value"] + "." if child["type"] == "field" else ""
            current = row_shapes.value_of(child, current)
    elif kind in _PROJECTIONS:
        yield from _unknown(children[0], current, above)
        element = row_shapes.element_of(row_shapes.value_of(children[0], current))
        for child in children[1:]:
            yield from _unknown(child, element, "")
    elif kind == "function_expression":
        if node["value"] not in functions():
            yield "function", node["value"], functions(), ""
        rows = [row_shapes.element_of(row_shapes.value_of(child, current)) for child in children
                if child["type"] != "expref"]
        for child in children:
            by_row = child["type"] == "expref"
            yield from _unknown(child["children"][0] if by_row else child, (rows or [row_shapes.ANY])[0]
                                if by_row else current, "")
    else:
        for child in children:
            yield from _unknown(child, current, "")
