# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as people write configuration in it. What PyYAML makes of the same is compared in test_yaml_against_pyyaml.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml_flow import LIST, MAP
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml_lines import NOTHING, item, parse_yaml

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


def plain(node):
    """The values without their places."""
    if node.kind == LIST:
        return [plain(each) for each in node.value]
    if node.kind == MAP:
        return dict((key, plain(value)) for key, value in node.value)
    return node.value


def test_values():
    assert plain(parse_yaml(SAMPLE)) == {
        "packages": ["iptables", "a, b", "c"],
        "quoted key": "value",
        "empty": "",
        "list": [
            "one", "two goes on\nand on", "literal  # no comment\n\n  deeper\nlast\n", "folded text\nmore", "double joined\ttab folded",
            "it's: no key", {"key": "compact", "other": [["sh", "-c", "x"], ["nested"]]}, {"a": "b", "c": {"d": "e"}}, "anchored",
            "anchored", "url:http://x"],
        "anchor": "tagged",
    }


def test_lines():
    entries = item(parse_yaml(SAMPLE), "list").value
    assert [each.line for each in entries] == [9, 10, 15, 20, 24, 27, 28, 32, 33, 33, 35]
    assert [each.exact for each in entries] == [True, False, True, False, False, False, False, False, True, True, True]
    assert item(item(parse_yaml(SAMPLE), "packages"), "x") == NOTHING


@pytest.mark.parametrize("text, wanted", [
    ("", ""), ("# only\n", ""), ("a", "a"), ("- a\n- b", ["a", "b"]), ("-\n  - a\n-\n", [["a"], ""]), ("a:\n  b:\nc: d\n", {"a": {"b": ""}, "c": "d"}),
    ("a: 1\n---\nb: 2\n", {"a": "1"}), ("%YAML 1.2\n--- \na: 1\n...\nb: 2", {"a": "1"}), ("a: b: c", {"a": "b: c"}), ("a:b: c", {"a:b": "c"}),
    ("a: 1\n    b: 2\nc: 3\n", {"a": "1 b: 2", "c": "3"}), ("- a\n   - b\n- c\n", ["a - b", "c"]), ("a: |\nb: c\n", {"a": "", "b": "c"}),
    ("a: |2-\n    x\n  y\n", {"a": "  x\ny"}), ("a: >\n  b\n   c\n  d\n", {"a": "b\n c\nd\n"}), ("a: 1\na: 2\n", {"a": "2"}),
    ("a: 'unfinished\nb: c\n", {"a": "'unfinished", "b": "c"}), ("a: [unfinished\nb: c\n", {"a": "[unfinished", "b": "c"}),
    ("a: [b, c: d, [e], {}]", {"a": ["b", {"c": "d"}, ["e"], {}]}), ("a: \"\\x41\\u00e9\\\"\"", {"a": "A\u00e9\""}),
    ("a: *gone\nb: 1", {"a": "", "b": "1"}), ("nonsense\n  here\n", "nonsense here"), ("{%x%}\na: 1\n", {"%x%": ""}),
    ("a:\r\n  - b\r\n", {"a": ["b"]}), (u"\ufeffa: 1", {"a": "1"}), ("- ''\n- \"\"\n", ["", ""]),
])
def test_small_texts(text, wanted):
    assert plain(parse_yaml(text)) == wanted


@given(st.text(alphabet="ab:-|>[]{}\"'#&*!, \n\\%", max_size=300))
def test_no_text_is_too_odd(text):
    parse_yaml(text)


@pytest.mark.parametrize("text", ["- " * 100000, "[" * 100000, "a: {" * 50000, "- \"a\n" * 50000, "! " * 100000, "a:\n " * 50000,
                                  "'" * 100001, "- \"\\\"\n  \\\"" * 50000, ">\n" + "  a\n" * 100000, ":" * 100000, "a: " * 100000])
def test_long_texts_end(text):
    parse_yaml(text)
