# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expressions: one sentence reports an error, a missing package, or a key or function that cannot be there."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import catalogue, expressions, references
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.row_shapes import (
    refuse_unknown_keys, sections_read,
)


@pytest.mark.parametrize("expression", ["", "a[?b", "a b", "[", 3])
def test_a_bad_expression_is_one_sentence(expression):
    with pytest.raises(BadInput) as caught:
        expressions.compiled(expression, "here")
    assert str(caught.value).startswith("here is not a valid JMESPath expression") and "\n" not in str(caught.value)


@cases
def test_search(expression, answer):
    section = {"live": "c.d", "d": None, "mode": None, "mode_source": "no configuration", "matters": None,
               "matters_because": "only root may look"}
    assert expressions.search(expression, {"a": 1, "c": section}) == answer


@pytest.mark.parametrize("expression", ["sum(a)", "contains('a', `1`)", "rows[::0]",
                                        "ceil(to_number('1e999'))", "floor(to_number('nan'))"])
def test_an_error_of_python_in_a_function_or_a_slice_is_told_too(expression):
    answer, problem = expressions.search(expression, {"rows": [1, 2], "a": "x"})
    assert answer is None and problem.startswith(expression + ": ") and "\n" not in problem


@pytest.mark.parametrize("levels", [60, 500, 1900])
@pytest.mark.parametrize("before, after", [("[", "]"), ("!", ""), ("", " || a")])
def test_an_expression_of_too_many_levels_is_one_sentence(before, after, levels):
    expression = before * levels + "a" + after * levels
    with pytest.raises(BadInput, match="^here has a JMESPath expression of more than 50 levels$"):
        expressions.compiled(expression, "here")


@cases
def test_an_expression_that_builds_much_of_little_is_refused(part):
    expressions.compiled(part * 3 + "a", "here")
    with pytest.raises(BadInput, match="^here has a JMESPath expression that may repeat what it reads more than 1000"):
        expressions.compiled(part * 22 + "a", "here")


def test_a_long_expression_is_refused():
    with pytest.raises(BadInput, match="^here has a JMESPath expression of more than 10000 characters$"):
        expressions.compiled("a" * 10001, "here")


def test_a_controller_without_the_package_says_so(monkeypatch):
    monkeypatch.setattr(expressions, "jmespath", None)
    with pytest.raises(BadInput, match="^The Python package jmespath is missing on the controller; install it for "):
        expressions.compiled("a", "here")


def test_no_expression_of_the_collection_is_refused():
    expressions = [(check.id, name, getattr(check, name)) for check in catalogue.catalogue().values()
                   for name in references.EXPRESSIONS if getattr(check, name)]
    assert len(expressions) > 300
    for check_id, name, expression in expressions:
        refuse_unknown_keys(check_id, name, expression)


@cases
def test_what_cannot_be_there_is_refused(expression, sentence):
    with pytest.raises(BadInput) as refused:
        refuse_unknown_keys("X", "select", expression)
    assert str(refused.value).startswith("X: select " + sentence), str(refused.value)


@cases
def test_what_may_be_there_is_let_pass(expression):
    refuse_unknown_keys("X", "select", expression)


def test_the_sections_that_an_expression_reads():
    assert sections_read("node_cni.files[?path == node_host.root] || requirements.x") == {"node_cni", "node_host"}
    assert sections_read("'node_cni'") == set()
