# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of the rows that a JMESPath expression returns, according to the documentation of the evidence. PRIVATE to
the collection.

A value is a dict `{key: value}` of known keys, a list `[value of its elements]`, SCALAR, or ANY if nothing is known
about it.
"""

import functools

from .._answer import schema
from .._joins.table import JOINS
from .expressions import compiled

SCALAR, ANY = "scalar", "any"
_SCALARS = ("join", "length", "to_string", "to_number", "type", "contains", "starts_with", "ends_with", "sum", "avg",
            "abs", "ceil", "floor")
_SAME_LIST = ("sort", "sort_by", "reverse")


def fields_of(expression: str) -> set[str] | None:
    """The fields of the rows that a select returns: a set, empty if rows are not dictionaries; None if that is not
    known."""
    selected = value_of(compiled(expression, "select").parsed, evidence())
    row = element_of(selected)
    if row is ANY:
        return None
    return set(row) if isinstance(row, dict) else set()


@functools.lru_cache(maxsize=1)
def evidence():
    """The keys that a check may name: the sections, and the sections that the controller derives."""
    # What the controller derives is not documented, so nothing is known about its keys.
    return dict({name: _documented(shape) for name, shape in schema.sections().items()}, requirements=ANY,
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
