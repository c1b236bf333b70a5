# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as people write configuration in it; test_yaml_against_pyyaml.py compares it with PyYAML."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml.parse_yaml import (
    LIST, MAP, NOTHING, item, parse_yaml, plain_value)


def root(text):
    """The first document, whatever is in doubt of it."""
    return parse_yaml(text)[0].root if parse_yaml(text) else NOTHING


def plain(node):
    """The values without their places."""
    if node.kind == LIST:
        return [plain(each) for each in node.value]
    if node.kind == MAP:
        return {key: plain(value) for key, value in node.value}
    return node.value


@cases
def test_lines(text, lines, exact):
    entries = item(root(text), "list").value
    assert ([each.line for each in entries], [each.exact for each in entries]) == (lines, exact)
    assert item(item(root(text), "packages"), "x") == NOTHING


@cases
def test_small_texts(text, wanted):
    assert plain(root(text)) == wanted


@cases
def test_values_with_their_types(text, values):
    documents = parse_yaml(text)
    assert [(plain_value(each.root, 9), each.problem) for each in documents] == [(value, None) for value in values]
    assert json.dumps([plain_value(each.root, 9) for each in documents]) == json.dumps(values)  # True is not 1.


@cases
def test_what_cannot_be_read_is_named_with_its_line(text, problem):
    assert [each.problem for each in parse_yaml(text) if each.problem] == [problem]


@pytest.mark.parametrize("text, problem", [
    ("a: 1\n" * 20001, "it has more than 20000 lines"),
    ("a: " + "b" * 1024 * 1024, "it is longer than 1048576 characters"),
    ("x: &x {%s}\n" % ",".join("k%d: 1" % key for key in range(1500)) + "y: {<<: *x}\nz: {<<: *x}\n",
     "line 3: merge keys set more than 2000 keys")])
def test_what_is_too_long(text, problem):
    test_what_cannot_be_read_is_named_with_its_line(text, problem)


def test_aliases_are_not_written_out():
    layers = ["a0: &a0 [x, y]"] + ["a%d: &a%d [%s]" % (layer, layer, ", ".join(["*a%d" % (layer - 1)] * 9))
                                   for layer in range(1, 2000)]
    document, = parse_yaml("\n".join(layers) + "\n")
    assert document.problem is None and len(plain_value(document.root, 2)["a1999"]) == 9


@given(st.text(alphabet="ab:-|>[]{}\"'#&*!, \n\\%", max_size=300))
def test_no_text_is_too_odd(text):
    parse_yaml(text)


@pytest.mark.parametrize("text", ["- " * 100000, "[" * 100000, "a: {" * 50000, "- \"a\n" * 50000, "! " * 100000,
                                  "a:\n " * 50000, "'" * 100001, "- \"\\\"\n  \\\"" * 50000, "a: [\n" * 100000,
                                  "a: ['\",\n" * 100000, ">\n" + "  a\n" * 100000, ":" * 100000, "a: " * 100000])
def test_long_texts_end(text):
    parse_yaml(text)
