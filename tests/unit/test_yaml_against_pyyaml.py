# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our reader of YAML and PyYAML see the same values in what people and programs write."""

import os
import random

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml_flow import LIST, MAP
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml_lines import parse_whole_yaml, parse_yaml

TREES_TRIED, LINES_TRIED = (3000, 60000) if os.environ.get("KUBENODE_ROBUST") == "1" else (500, 6000)

WORDS = ["iptables -F", "a: b", "# no comment", "x # y", "- z", "it's", 'say "hi"', "", " blank ", "tab\there", "two\nlines\n", "one\n\n  deeper\nlast",
         "[x]", "{y}", "50%", "@reboot", "&a", "*b", "!c", "|", ">", "a\\b", "*/5 * * * * root x", "sh -c 'iptables -F; echo \"x\"'", "e\u00e9",
         "long " * 30, "\n", "key:", "?", "-", "~", "null", "1.5", "x\\", "'", '"', ":x", "a:b", "trailing\\\nback"]
SCALARS = st.sampled_from(WORDS) | st.text(alphabet="ab :#-'\"\\\n[]{},&*!|>%@?", max_size=30)
KEYS = st.sampled_from(["runcmd", "path", "a b", "x:y", "'q'", "-k", "1"])
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(KEYS, inner, min_size=1, max_size=4), max_leaves=12)
# Unprintable and other line breaks are not what people write.
STYLES = st.fixed_dictionaries({
    "default_style": st.sampled_from([None, "'", '"', "|", ">"]), "default_flow_style": st.sampled_from([None, True, False]),
    "width": st.sampled_from([20, 80, 1000]), "indent": st.sampled_from([2, 4, 8]), "allow_unicode": st.booleans(),
    "explicit_start": st.booleans(), "line_break": st.sampled_from(["\n", "\r\n"])})

PLAIN = {"default_style": None, "default_flow_style": None, "width": 80, "indent": 2, "allow_unicode": True, "explicit_start": False, "line_break": "\n"}


def plain(node):
    if node.kind == LIST:
        return [plain(each) for each in node.value]
    if node.kind == MAP:
        return dict((key, plain(value)) for key, value in node.value)
    return node.value


@pytest.mark.robust(documents=TREES_TRIED)
@settings(max_examples=TREES_TRIED, deadline=None)
@example({"runcmd": {"runcmd": "::\\ :"}}, dict(PLAIN, width=20))  # A backslash at the end of a line joins only between double quotes.
@given(TREES, STYLES)
def test_what_a_program_writes(tree, style):
    text = yaml.safe_dump(tree, **style)
    assert plain(parse_yaml(text)) == yaml.load(text, Loader=yaml.BaseLoader), text
    assert parse_whole_yaml(text) is not None or "<<" in text or "? " in text, text


LINES = ["key: value", "- item", "- key: value", "  more", "- |", "    deep", "key:", "- 'quoted'", "# comment", "", "- [a, b]", "key: >-", "- - x",
         "  - y", "other: \"x\"", "    sub: 1", "- a  # tail", "key: {a: b}"]


@pytest.mark.robust(documents=LINES_TRIED)
def test_what_people_write():
    """Random lines: wherever PyYAML takes them, the values are the same."""
    seed, taken = os.environ.get("KUBENODE_SEED") or str(random.randrange(10 ** 9)), 0
    for number in range(LINES_TRIED):
        source = random.Random("%s %d" % (seed, number))
        text = "\n".join(" " * source.choice([0, 0, 0, 2, 4]) + source.choice(LINES) for _line in range(source.randint(1, 7))) + "\n"
        try:
            wanted = yaml.load(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError:
            parse_yaml(text)
            continue
        taken += 1
        assert plain(parse_yaml(text)) == (wanted or ""), "seed %s, round %d:\n%s" % (seed, number, text)
    assert taken > 500, "seed %s" % seed


ODD_LINES = LINES + ["{a: b, 'c': [d, e]}", "key: {", "  'a': b,", "  c: d }", "}", "'key': v", "\"key\": v", "key: &x value", "other: *x", "- *x", "key: &y",
                     "<<: *y", "? key", ": value", "key: {a: *x}", "[a, b]: c", "&z key: v", "key: !!int \"5\"", "key: 'a' b", "key: [a] b", "{\"a\":1}",
                     "key: a: b", "\tkey: v", "- - &x z", "key: [a, {b: c}, ]", "key: [", "key: *x # tail", "key: |2-", "--- ", "...", "%YAML 1.1", "key: @a",
                     "key: {a: \"b\", c}", "key: {a: -1, b: - }", "key: \"a # b\" # c", "x: <<", "? ", "key: >+", "key: [::1]:1", "key: ::1"]


@pytest.mark.robust(documents=LINES_TRIED)
def test_what_is_not_known_is_not_taken_for_something():
    """Random lines with all that YAML has: what PyYAML takes is read with the same values, or as a whole not at all."""
    seed, taken, known = os.environ.get("KUBENODE_SEED") or str(random.randrange(10 ** 9)), 0, 0
    for number in range(LINES_TRIED):
        source = random.Random("%s odd %d" % (seed, number))
        text = "\n".join(" " * source.choice([0, 0, 0, 2, 4]) + source.choice(ODD_LINES) for _line in range(source.randint(1, 7))) + "\n"
        ours = parse_whole_yaml(text)
        try:
            wanted = next(iter(yaml.load_all(text, Loader=yaml.BaseLoader)), "")
        except (yaml.YAMLError, ValueError):
            continue
        taken += 1
        known += ours is not None
        assert ours is None or plain(ours) == (wanted or ""), "seed %s, round %d:\n%s" % (seed, number, text)
    assert known > taken // 4 and taken > 200, "seed %s: %d of %d" % (seed, known, taken)
