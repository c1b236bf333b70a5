# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our reader of YAML and PyYAML see the same values in what people and programs write."""

import json
import os
import pathlib
import random
import re

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.yaml.parse_yaml import (LIST, MAP, NOTHING,
                                                                                                Document, parse_yaml,
                                                                                                plain_value)

TREES_TRIED, LINES_TRIED = (3000, 60000) if os.environ.get("KUBENODE_ROBUST") == "1" else (500, 6000)

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
PIECES = yaml.safe_load((FIXTURES / "yaml_pieces.yml").read_text(encoding="utf-8"))
LINES, MERGES = PIECES["lines"], PIECES["merges"]
ODD_LINES = LINES + PIECES["odd_lines"]
SCALARS = st.sampled_from(PIECES["words"] + ["long " * 30]) | st.text(
    alphabet="ab :#-'\"\\\n[]{},&*!|>%@?", max_size=30)
KEYS = st.sampled_from(["runcmd", "path", "a b", "x:y", "'q'", "-k", "1"])
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, min_size=1, max_size=4)
                     | st.dictionaries(KEYS, inner, min_size=1, max_size=4), max_leaves=12)
# Unprintable and other line breaks are not what people write.
STYLES = st.fixed_dictionaries({
    "default_style": st.sampled_from([None, "'", '"', "|", ">"]), "line_break": st.sampled_from(["\n", "\r\n"]),
    "default_flow_style": st.sampled_from([None, True, False]), "width": st.sampled_from([20, 80, 1000]),
    "indent": st.sampled_from([2, 4, 8]), "allow_unicode": st.booleans(), "explicit_start": st.booleans()})
PLAIN = {"default_style": None, "default_flow_style": None, "width": 80, "indent": 2, "allow_unicode": True,
         "explicit_start": False, "line_break": "\n"}


def documents_of(what, choices, begin=(), indents=(0, 0, 0, 2, 4), most=7):
    """A generator of (name of the round, a document of random lines)."""
    seed = os.environ.get("KUBENODE_SEED") or str(random.randrange(10 ** 9))
    for number in range(LINES_TRIED):
        source = random.Random("%s %s %d" % (seed, what, number))
        lines = [" " * source.choice(indents) + source.choice(choices) for _line in range(source.randint(1, most))]
        yield "seed %s, round %d" % (seed, number), "\n".join([*begin, *lines]) + "\n"


class Texts(yaml.SafeLoader):
    """Scalars stay texts, and merge keys count."""


Texts.yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("<<$"))]}


def first(text):
    return (parse_yaml(text) or [Document(NOTHING, None)])[0]


def plain(node):
    if node.kind == LIST:
        return [plain(each) for each in node.value]
    if node.kind == MAP:
        return {key: plain(value) for key, value in node.value}
    return node.value


@pytest.mark.robust(documents=TREES_TRIED)
@settings(max_examples=TREES_TRIED, deadline=None)
# A backslash at the end of a line joins only between double quotes.
@example({"runcmd": {"runcmd": "::\\ :"}}, dict(PLAIN, width=20))
@given(TREES, STYLES)
def test_what_a_program_writes(tree, style):
    text = yaml.safe_dump(tree, **style)
    found = first(text)
    assert plain(found.root) == yaml.load(text, Loader=Texts), text
    assert found.problem is None or "? " in text, (found.problem, text)


@pytest.mark.robust(documents=LINES_TRIED)
def test_what_people_write():
    """Random lines: wherever PyYAML takes them, the values are the same."""
    taken = 0
    for name, text in documents_of("", LINES):
        try:
            wanted = yaml.load(text, Loader=Texts)
        except yaml.YAMLError:
            parse_yaml(text)
            continue
        taken += 1
        assert plain(first(text).root) == (wanted or ""), "%s:\n%s" % (name, text)
    assert taken > 500, name


@pytest.mark.robust(documents=LINES_TRIED)
def test_what_is_not_known_is_not_taken_for_something():
    """Random lines with all that YAML has: what PyYAML takes is read with the same values, or as a whole not at all."""
    taken, known = 0, 0
    for name, text in documents_of("odd", ODD_LINES):
        ours = first(text)
        try:
            wanted = next(iter(yaml.load_all(text, Loader=Texts)), "")
        except (yaml.YAMLError, ValueError):
            continue
        taken += 1
        known += not ours.problem
        assert ours.problem or plain(ours.root) == (wanted or ""), "%s:\n%s" % (name, text)
    assert known > taken // 4 and taken > 200, "%s: %d of %d" % (name, known, taken)


# What kubelet, kube-proxy and k3s are configured with; the types of YAML 1.1 and of yaml.v2 are the same for these.
FIELDS = st.sampled_from(["kind", "mode", "conntrack", "maxPerCore", "ipvs", "kubelet-arg", "port", "<", "x y",
                          "clusterCIDR"])
VALUES = st.none() | st.booleans() | st.integers(-10 ** 9, 10 ** 9) | st.sampled_from([
    "ipvs", "10.244.0.0/16,fd00::/56", "24h0m0s", "0.0.0.0:10249", "[::1]:10249", "true", "", "null", "0", "on",
    "port=10260", "a: b", "# c", "*", "~"])
CONFIGURATIONS = st.dictionaries(FIELDS, st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3)
                                                      | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=10),
                                 min_size=1, max_size=5)


@pytest.mark.robust(documents=TREES_TRIED)
@settings(max_examples=TREES_TRIED, deadline=None)
@given(st.lists(CONFIGURATIONS, min_size=1, max_size=3), STYLES, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_configurations_have_the_same_values_with_their_types(trees, style, indent, marked):
    shared = dict(trees[0], shared=trees[-1], again=[trees[-1], trees[-1]])  # A program writes an anchor and aliases.
    style = dict(style, default_style=None)
    for text in (yaml.safe_dump_all(trees, **style), yaml.safe_dump(shared, **style),
                 "".join("---\n%s\n" % json.dumps(tree, indent=indent) for tree in trees),
                 json.dumps(trees[0], separators=(",", ":"))):
        # PyYAML takes no tab ahead of a line in brackets, which JSON has.
        wanted = list(yaml.safe_load_all(text.replace("\t", " ")))
        found = parse_yaml((u"\ufeff" if marked else "") + text)
        assert [each.problem for each in found] == [None] * len(wanted), text
        assert json.dumps([plain_value(each.root, 9) for each in found]) == json.dumps(wanted), text


@pytest.mark.robust(documents=LINES_TRIED)
def test_merge_keys():
    known = 0
    for name, text in documents_of("merge", MERGES[4:], MERGES[:4], (0,), 5):
        try:
            wanted = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        ours, = parse_yaml(text)
        known += not ours.problem
        assert ours.problem or plain_value(ours.root, 9) == wanted, "%s:\n%s" % (name, text)
    assert known > LINES_TRIED // 10, "%s: %d" % (name, known)
