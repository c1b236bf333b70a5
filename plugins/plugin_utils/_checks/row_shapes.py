# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of the rows that a JMESPath expression returns, according to the documentation of the evidence. PRIVATE to
the collection.

A value is a dict `{key: value}` of known keys, a list `[value of its elements]`, SCALAR, or ANY if nothing is known
about it.

Finds keys and functions in a JMESPath expression that do not exist according to the documentation of the evidence.

JMESPath returns null for a misspelled key, so a check with such a key would be unknown on every node.
"""

import functools

from ...module_utils._errors import BadInput
from .._answer import validate
from .._joins.table import JOINS
from .._options import close_to
from .expressions import compiled, functions

SCALAR, ANY = "scalar", "any"
_SCALARS = ("join", "length", "to_string", "to_number", "type", "contains", "starts_with", "ends_with", "sum", "avg",
            "abs", "ceil", "floor")
_SAME_LIST = ("sort", "sort_by", "reverse")


def fields_of(expression: str) -> set[str] | None:
    """The fields of the rows that a select returns: a set, empty if rows are not dictionaries; None if that is not
    known."""
    selected = value_of(compiled(expression, "select").parsed, evidence_shape())
    row = element_of(selected)
    if row is ANY:
        return None
    return set(row) if isinstance(row, dict) else set()


@functools.lru_cache(maxsize=1)
def evidence_shape():
    """The keys that a check may name: the sections, and the sections that the controller derives."""
    # What the controller derives is not documented, so nothing is known about its keys.
    return dict({name: _documented(shape) for name, shape in validate.documented_sections().items()}, requirements=ANY,
                joins=dict.fromkeys(JOINS, ANY))


def _documented(shape):
    if shape.type == "list":
        return [_documented(shape.element)]
    if shape.type == "dict":
        return ANY if shape.contains is None else {key: _documented(part) for key, part in shape.contains.items()}
    return ANY if shape.type == "raw" else SCALAR


def element_of(value):
    """The value of the elements of a list; ANY for a list that is always empty."""
    return value[0] if isinstance(value, list) and value else ANY


def _either(first, second):
    """One of two values: a key that one of them has is known."""
    if first is ANY or second is ANY:
        return ANY
    if isinstance(first, dict) and isinstance(second, dict):
        return {key: _either(first.get(key, second.get(key)), second.get(key, first.get(key)))
                for key in [*first, *second]}
    if isinstance(first, list) and isinstance(second, list):
        return [_either(first[0], second[0])] if first and second else first or second
    return first if first == second else ANY


def _any_of(values):
    found = values[0] if values else ANY
    for value in values[1:]:
        found = _either(found, value)
    return found


def value_of(node, current):
    """The result of a node of a parsed expression for the value `current`."""
    return _NODES.get(node["type"], lambda _node, _current: ANY)(node, current)


def _field(node, current):
    return current.get(node["value"], ANY) if isinstance(current, dict) else ANY


def _in_turn(node, current):
    for child in node["children"]:
        current = value_of(child, current)
    return current


def _projection(node, current):
    return [value_of(node["children"][1], element_of(value_of(node["children"][0], current)))]


def _flatten(node, current):
    value = value_of(node["children"][0], current)
    return (element_of(value) if isinstance(element_of(value), list) else value
            if isinstance(value, list) and element_of(value) is not ANY else ANY)


def _rows(node, current):
    return [_any_of([value_of(child, current) for child in node["children"]])]


def _row(node, current):
    return {child["value"]: value_of(child["children"][0], current) for child in node["children"]}


def _or(node, current):
    return _any_of([value_of(child, current) for child in node["children"]])


def _literal(node, _current):
    return _plain(node["value"])


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_any_of([_plain(part) for part in value])] if value else []
    return SCALAR


def _function(node, current):
    given = [value_of(child, current) for child in node["children"]]
    if node["value"] == "merge" and all(isinstance(value, dict) for value in given):
        return {key: value for each in given for key, value in each.items()}
    if node["value"] in _SAME_LIST:
        return given[0]
    return SCALAR if node["value"] in _SCALARS else ANY


_NODES = {
    "field": _field, "subexpression": _in_turn, "pipe": _in_turn, "index_expression": _in_turn,
    "projection": _projection, "filter_projection": _projection, "flatten": _flatten, "multi_select_list": _rows,
    "multi_select_dict": _row, "or_expression": _or, "and_expression": lambda node, current: value_of(
        node["children"][1], current), "comparator": lambda _node, _current: SCALAR,
    "not_expression": lambda _node, _current: SCALAR, "literal": _literal, "function_expression": _function,
    "index": lambda _node, current: element_of(current), "slice": lambda _node, current: current,
    "identity": lambda _node, current: current, "current": lambda _node, current: current,
}


# A key that never exists is the shortest JMESPath expression for null.
_NULL = "null"
# Only checks of the collection read joins: a user's `needs` cannot name what they read.
_PRIVATE = {"joins"}
_PROJECTIONS = ("projection", "filter_projection", "value_projection", "flatten")
_IN_TURN = ("subexpression", "pipe", "index_expression")


def refuse_unknown_keys(where, name, expression):
    """Raises BadInput for a section, a key or a function in the expression `name` that does not exist, and for a call
    that no answer can come from."""
    evidence, parsed = evidence_shape(), compiled(expression, "%s: %s" % (where, name)).parsed
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
    return found & (set(evidence_shape()) - {"requirements"})


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
            current = value_of(child, current)
    elif kind in _PROJECTIONS:
        yield from _unknown(children[0], current, above)
        element = element_of(value_of(children[0], current))
        for child in children[1:]:
            yield from _unknown(child, element, "")
    elif kind == "function_expression":
        if node["value"] not in functions():
            yield "function", node["value"], functions(), ""
        rows = [element_of(value_of(child, current)) for child in children
                if child["type"] != "expref"]
        for child in children:
            by_row = child["type"] == "expref"
            yield from _unknown(child["children"][0] if by_row else child, (rows or [ANY])[0]
                                if by_row else current, "")
    else:
        for child in children:
            yield from _unknown(child, current, "")
