# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as people write configuration in it. What PyYAML makes of the same is compared in
test_yaml_against_pyyaml.py."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml.parse_yaml import (LIST, MAP, NOTHING,
                                                                                                item, parse_yaml,
                                                                                                plain_value)

SAMPLE = """\
#cloud-config
---
# a comment
packages: [iptables, "a, b",   # inside
  c]
'quoted key': value   # behind
empty:
list:
- one
-   two
    goes on

    and on
- |
  literal  # no comment

    deeper
  last
- >-
  folded
  text

  more
- "double \\
   joined\\ttab
   folded"
- 'it''s: no key'
- key: compact
  other:
    - [sh, -c, "x"]
    - - nested
- {a: b, c: {d: e}}
- &name anchored
- *name
- url:http://x
anchor: !!str tagged
"""


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


def test_values():
    assert plain(root(SAMPLE)) == {
        "packages": ["iptables", "a, b", "c"],
        "quoted key": "value",
        "empty": "",
        "list": [
            "one", "two goes on\nand on", "literal  # no comment\n\n  deeper\nlast\n", "folded text\nmore",
            "double joined\ttab folded", "it's: no key", {"key": "compact", "other": [["sh", "-c", "x"], ["nested"]]},
            {"a": "b", "c": {"d": "e"}}, "anchored", "anchored", "url:http://x"],
        "anchor": "tagged",
    }


def test_lines():
    entries = item(root(SAMPLE), "list").value
    assert [each.line for each in entries] == [9, 10, 15, 20, 24, 27, 28, 32, 33, 33, 35]
    assert [each.exact for each in entries] == [True, False, True, False, False, False, False, False, True, True, True]
    assert item(item(root(SAMPLE), "packages"), "x") == NOTHING


@cases
def test_small_texts(text, wanted):
    assert plain(root(text)) == wanted


@cases
def test_values_with_their_types(text, values):
    documents = parse_yaml(text)
    assert [(plain_value(each.root, 9), each.problem) for each in documents] == [(value, None) for value in values]
    assert json.dumps([plain_value(each.root, 9) for each in documents]) == json.dumps(values)  # True is not 1.


@pytest.mark.parametrize(
    "text, problem", [
        ("a: 1\nb: !x 2\n", "line 2: a tag is not known"), ("a: *x\n", "line 1: an alias has no anchor"),
        ("a:\n  - [1,\n  2\n", "line 2: a bracket is not closed"), ("a: {b: !!str 1}\n", "line 1: a tag is not known"),
        ("? a\n: b\n", "line 1: it is not plain text and not in quotes"), ("a: 'b\n", "line 1: a quote is not closed"),
        ("a: 1\n---\nb: [c]]\n", "line 3: text follows a closing bracket"),
        ("a: 1\n  b: 2\n", "line 1: it is not plain text and not in quotes"),
        ("x: &x {a: 1}\na: 2\n<<: *x\n", "line 1: a merge key follows a key that it also sets"),
        ("x: &x {a: 1}\ny: &y {a: 2}\n<<: *x\n<<: *y\n", "line 1: two merge keys set the same key"),
        ("x: &x {a: 1}\ny: &y {b: 2}\n<<: *x\n<<: *y\n<<: [*x]\n", "line 1: two merge keys set the same key"),
        ("<<: 1\n", "line 1: a merge key does not name a mapping"),
        ("a: 1\n\tb: 2\n", "line 2: a tab is in the indentation"),
        ("a: 1\nb: \0\n", "line 2: a character that YAML does not allow"),
        ("a: \"\\q\"\n", "line 1: an escape sequence is not known"),
        ('{"a": "\\ud83d\\ude00"}', "line 1: an escape sequence is not known"),
        ("- " * 50 + "a\n", "line 1: it is nested deeper than 40 levels"),
        ("a: 1\n" * 20001, "it has more than 20000 lines"),
        ("a: " + "b" * 1024 * 1024, "it is longer than 1048576 characters"),
        ("---\n" * 102, "line 101: document 101 begins here"),
        ("x: &x {%s}\n" % ",".join("k%d: 1" % key for key in range(1500)) + "y: {<<: *x}\nz: {<<: *x}\n",
         "line 3: merge keys set more than 2000 keys"),
    ])
def test_what_cannot_be_read_is_named_with_its_line(text, problem):
    assert [each.problem for each in parse_yaml(text) if each.problem] == [problem]


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
