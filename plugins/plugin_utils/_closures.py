# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A parsed JMESPath expression as one Python function. PRIVATE to the collection.

jmespath walks the tree of an expression anew for each value, and most of the time of judging a node went into that
walk. Here each part of the tree becomes a function once. The answers are those of jmespath.visitor.TreeInterpreter,
which a test compares; parts of another version of jmespath are left to it.
"""

import operator

from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

_FUNCTIONS = Functions()
_ORDERING = {"lt": operator.lt, "gt": operator.gt, "lte": operator.le, "gte": operator.ge}


def function_of(node):
    """The function of a value that a part of the tree stands for."""
    make = _MAKERS.get(node["type"])
    return make(node) if make else lambda value: TreeInterpreter().visit(node, value)


def _functions(node):
    return [function_of(child) for child in node["children"]]


def _is_true(value):
    """All but null, false and what is empty; 0 is true."""
    return bool(value) or type(value) in (int, float)


def _equals(one, other):
    """Python takes true for 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_comparable(value):
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


class _Expression:
    """An argument `&expression`; jmespath knows it by the name of this class, and calls visit()."""

    def __init__(self, function):
        self.expression = function

    @staticmethod
    def visit(function, value):
        return function(value)


def _field(node):
    name = node["value"]
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _chain(node):
    first, *rest = _functions(node)

    def chain(value):
        value = first(value)
        for function in rest:
            value = function(value)
        return value

    return chain


def _comparator(node):
    left, right = _functions(node)
    name = node["value"]
    if name == "eq":
        return lambda value: _equals(left(value), right(value))
    if name == "ne":
        return lambda value: not _equals(left(value), right(value))

    def comparator(value):
        one, other = left(value), right(value)
        return _ORDERING[name](one, other) if _is_comparable(one) and _is_comparable(other) else None

    return comparator


def _and(node):
    left, right = _functions(node)

    def both(value):
        found = left(value)
        return right(value) if _is_true(found) else found

    return both


def _or(node):
    left, right = _functions(node)

    def either(value):
        found = left(value)
        return found if _is_true(found) else right(value)

    return either


def _not(node):
    function, = _functions(node)
    return lambda value: not _is_true(function(value))


def _projection(node):
    base, right = _functions(node)

    def projection(value):
        found = base(value)
        return [row for row in map(right, found) if row is not None] if isinstance(found, list) else None

    return projection


def _filter(node):
    base, right, condition = _functions(node)

    def selected(value):
        found = base(value)
        if not isinstance(found, list):
            return None
        return [row for row in (right(item) for item in found if _is_true(condition(item))) if row is not None]

    return selected


def _values(node):
    base, right = _functions(node)

    def values(value):
        found = base(value)
        if not isinstance(found, dict):
            return None
        return [row for row in map(right, found.values()) if row is not None]

    return values


def _flatten(node):
    function, = _functions(node)

    def flatten(value):
        found = function(value)
        if not isinstance(found, list):
            return None
        return [part for item in found for part in (item if isinstance(item, list) else [item])]

    return flatten


def _index(node):
    number = node["value"]

    def index(value):
        return value[number] if isinstance(value, list) and -len(value) <= number < len(value) else None

    return index


def _slice(node):
    bounds = slice(*node["children"])
    return lambda value: value[bounds] if isinstance(value, list) else None


def _row(node):
    parts = [(child["value"], function_of(child["children"][0])) for child in node["children"]]
    return lambda value: None if value is None else {name: function(value) for name, function in parts}


def _list(node):
    functions = _functions(node)
    return lambda value: None if value is None else [function(value) for function in functions]


def _call(node):
    functions, name = _functions(node), node["value"]
    return lambda value: _FUNCTIONS.call_function(name, [function(value) for function in functions])


def _reference(node):
    expression = _Expression(function_of(node["children"][0]))
    return lambda value: expression


def _literal(node):
    literal = node["value"]
    return lambda value: literal


def _same(_node):
    return lambda value: value


_MAKERS = {
    "and_expression": _and, "comparator": _comparator, "current": _same, "expref": _reference, "field": _field,
    "filter_projection": _filter, "flatten": _flatten, "function_expression": _call, "identity": _same, "index": _index,
    "index_expression": _chain, "literal": _literal, "multi_select_dict": _row, "multi_select_list": _list,
    "not_expression": _not, "or_expression": _or, "pipe": _chain, "projection": _projection, "slice": _slice,
    "subexpression": _chain, "value_projection": _values,
}
