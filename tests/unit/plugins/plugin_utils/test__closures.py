# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expressions as functions answer what jmespath answers, and raise where it raises."""

import jmespath
import pytest
import report_runs
from healthy import healthy
from hypothesis import given, settings
from hypothesis import strategies as st
from jmespath.visitor import TreeInterpreter

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import (_catalogue, _closures, _entry,
                                                                         _requirements)

VALUES = [None, True, False, 0, 1, 0.0, 1.5, -1, "", "a", "b", [], {}, [0], [[], [1]], [True, 1, "a", None]]


def answer(search, *arguments):
    """(the answer with the types in it, or the class of what was raised)."""
    try:
        return repr(search(*arguments))
    except Exception as error:
        return type(error)


def assert_same(expression, value):
    parsed = jmespath.compile(expression).parsed
    assert (answer(_closures.function_of(parsed), value)
            == answer(TreeInterpreter().visit, parsed, value)), (expression, value)


@pytest.mark.parametrize("modules", [{}, {"nf_conntrack": "loadable", "xt_mark": "unknown"}, {"*": "absent"}])
def test_expressions_of_the_catalogue(modules):
    evidence = healthy(report_runs.POLICY.module_names, modules)
    evidence["requirements"] = _requirements.resolve(evidence, report_runs.POLICY)
    for check in _catalogue.catalogue().values():
        for name in _entry.EXPRESSIONS:
            if getattr(check, name):
                assert_same(getattr(check, name), evidence)
                assert_same(getattr(check, name), {})


@pytest.mark.parametrize("expression", [
    "a", "a.b", "a[0]", "a[-1]", "a[7]", "a[1:]", "a[::-1]", "a[*]", "a[*].b", "a.*", "a.*.b", "a[]", "a[].b", "@",
    "[a, b]", "{x: a, y: b.c}", "a | b", "a && b", "a || b", "!a", "a == b", "a != b", "a < b", "a <= b", "a > b",
    "a >= b", "a[?@]", "a[?b == c]", "a[?b].c", "`1`", "'x'", "length(a)", "sum(a)", "sort_by(a, &b)", "max_by(a, &b)",
    "map(&b, a)", "not_null(a, b)", "contains(a, b)", "join(', ', a)", "keys(a)", "to_number(a)", "type(a)",
    "a[?contains(@, `1`)] | [0]", "unheard_of(a)", "reverse(a)[0]", "a.b[*].c | [?@ > `1`]"])
def test_each_part_with_each_value(expression):
    for one in VALUES:
        for other in VALUES:
            assert_same(expression, {"a": one, "b": other, "c": one})
            assert_same(expression, {"a": [{"b": one, "c": other}, {"b": other}, one], "b": {"c": other}})
        assert_same(expression, one)


LEAVES = st.sampled_from(["a", "b", "c", "@", "`0`", "`true`", "'a'", "`[]`", "a.b", "a[0]", "a[*].b", "b[]", "c.*"])
EXPRESSIONS = st.recursive(LEAVES, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(["&&", "||", "==", "!=", "<", ">="]), inner).map("(%s %s %s)".__mod__),
    inner.map("!(%s)".__mod__), st.tuples(inner, inner).map("(%s)[?%s]".__mod__),
    st.tuples(inner, inner).map("{a: %s, b: %s}".__mod__), st.tuples(inner, inner).map("(%s | %s)".__mod__),
    inner.map("length(%s)".__mod__), st.tuples(inner, inner).map("map(&%s, %s)".__mod__)), max_leaves=8)
EVIDENCE = st.recursive(st.sampled_from(VALUES), lambda inner: st.one_of(
    st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)), max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, EVIDENCE)
def test_random_expressions(expression, value):
    assert_same(expression, value)


def test_a_part_that_is_not_known_is_left_to_jmespath():
    parsed = jmespath.compile("a.b").parsed
    with pytest.raises(NotImplementedError, match="later"):
        _closures.function_of(dict(parsed, type="later"))({"a": {"b": 1}})
