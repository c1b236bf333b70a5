# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JMESPath expressions: compiled once, with their errors as values. PRIVATE to the collection."""

import functools
import math
import re
import sys

from ...module_utils._errors import BadInput

try:
    import jmespath
    from jmespath.exceptions import JMESPathError
    from jmespath.functions import Functions
    from jmespath.visitor import TreeInterpreter
except ImportError:
    jmespath = None

    class JMESPathError(Exception):
        """Stands in for the missing package, so that this file can still be imported and report the problem."""


# Strings and literals of an expression, and the paths of keys in the rest: `node_x.y`.
_LITERAL = re.compile(r"'[^']*'|`[^`]*`")
_PATH = re.compile(r"[a-z]\w*(?:\.\w+)+")
# Python needs some nested calls for each level: to parse the expression, to write its tree as JSON, and to search.
_DEPTH_LIMIT = 50
_LENGTH_LIMIT = 10000
# How often an answer may hold what the expression reads. `[@, @]` doubles it, and so does each further `| [@, @]`.
_COPIES_LIMIT = 1000
_IN_TURN = ("pipe", "subexpression", "index_expression", "projection", "value_projection", "flatten")
_TOO_DEEP = "of more than %d levels" % _DEPTH_LIMIT
# Keys beside a value in which the node gives its reason.
_REASONS = ("_because", "_cause", "_source")


def compiled(expression, where):
    """The expression, ready to search with. Raises BadInput that names `where`."""
    if jmespath is None:
        raise BadInput("The Python package jmespath is missing on the controller; install it for %s" % sys.executable)
    try:
        return _compiled(expression)
    except BadInput as error:
        raise BadInput("%s has a JMESPath expression %s" % (where, error)) from None
    except RecursionError:
        raise BadInput("%s has a JMESPath expression %s" % (where, _TOO_DEEP)) from None
    except (JMESPathError, TypeError) as error:
        message = str(error).strip().splitlines() or ["not an expression"]
        raise BadInput("%s is not a valid JMESPath expression: %s: %s"
                       % (where, expression, message[0].rstrip(":"))) from None


@functools.lru_cache(maxsize=None)
def _compiled(expression):
    if len(expression) > _LENGTH_LIMIT:
        raise BadInput("of more than %d characters" % _LENGTH_LIMIT)
    result = jmespath.compile(expression)
    level, depth = [result.parsed], 0
    while level:
        depth += 1
        if depth > _DEPTH_LIMIT:
            raise BadInput(_TOO_DEEP)
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
    if _copies(result.parsed) > _COPIES_LIMIT:
        raise BadInput("that may repeat what it reads more than %d times" % _COPIES_LIMIT)
    return result


def _copies(node):
    """How often the answer of a node may hold what the node reads, at most."""
    kind, value = node["type"], node.get("value")
    parts = [_copies(child) for child in node["children"] if isinstance(child, dict)]
    if kind == "filter_projection":
        return parts[0] * max(parts[1:])
    if kind in _IN_TURN or (kind == "function_expression" and value == "map"):
        return math.prod(parts)
    if kind == "function_expression" and value == "join":
        return sum(parts) + math.prod(parts)
    if kind == "literal" and isinstance(value, list):
        return max(1, len(value))
    if kind in ("function_expression", "multi_select_list", "multi_select_dict"):
        # Quotes and backslashes in a text are written as two characters.
        return max(1, sum(parts)) * (2 if value == "to_string" else 1)
    return max(parts, default=1)


@functools.lru_cache(maxsize=1)
def _interpreter():
    """One interpreter for all searches: it caches its methods by kind of node; a new one for each search takes 50%
    longer."""
    return TreeInterpreter()


@functools.lru_cache(maxsize=1)
def functions():
    """`{name: its parameters}` of all functions of JMESPath."""
    return {name: row["signature"] for name, row in Functions.FUNCTION_TABLE.items()}


def search(expression, evidence):
    """(answer, problem). If the expression raises or returns null, the answer becomes None and the problem is the
    reason."""
    try:
        answer = _interpreter().visit(compiled(expression, "select").parsed, evidence)
    except (JMESPathError, ArithmeticError, TypeError, ValueError) as error:
        # Functions and slices of jmespath raise errors of Python too, such as contains('a', `1`).
        return None, "%s: %s" % (expression, str(error).splitlines()[0])
    return answer, _missing(expression, evidence) if answer is None else None


def paths_of(expression):
    """The dotted paths in an expression, in its order."""
    return _PATH.findall(_LITERAL.sub("", expression))


def _missing(expression, evidence):
    """The keys of an expression that are null in the evidence, with the reasons that the node gave: users do not read
    JMESPath."""
    reasons = {}
    for path in sorted(set(paths_of(expression))):
        reasons.update(_null_in(path.split("."), evidence))
    return "; ".join("%s is not known%s" % (path, because and ": %s" % because) for path, because in reasons.items()
                     ) or "the evidence lacks a value that the check needs"


def _null_in(keys, evidence):
    """`{path: reason or ""}` of the first key on the path whose value is null; {} if no value is null, or if the keys
    belong to a row and not to the evidence."""
    place = evidence.get(keys[0])
    for number, key in enumerate(keys[1:], 2):
        if not isinstance(place, dict):
            break
        if place.get(key) is None:
            because = next((place[key + end] for end in _REASONS if place.get(key + end)), "")
            return {".".join(keys[:number]): because}
        place = place[key]
    return {}
