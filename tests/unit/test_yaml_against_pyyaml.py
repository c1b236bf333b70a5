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
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml_lines import parse_yaml

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
