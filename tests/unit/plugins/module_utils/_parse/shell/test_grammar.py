# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a shell as a tree, and texts that are none."""

import inspect
import random
import subprocess
import sys

import pytest

import kube_audit
import work
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.grammar import parse_shell
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.tree import Simple


def shown(node):
    """A node in one line; words are only their texts."""
    if isinstance(node, Simple):
        parts = ["%s=%s" % (one.name, one.word.text if one.word else [word.text for word in one.words])
                 for one in node.assignments]
        parts += [word.text or "?" for word in node.words] + redirects(node)
        return " ".join(parts)
    head = [node.kind] + ([node.name] if node.name else []) + ([" ".join(word.text or "?" for word in node.words)]
                                                               if node.words is not None else [])
    clauses = []
    for before, nodes in node.clauses:
        if before is not None:
            clauses.append(before if isinstance(before, str) else " ".join(one.text or "?" for one in before) + ")"
                           if node.kind == "case" else together(before) + " ->")
        clauses.append(together(nodes))
    return "(%s)" % " ".join(head + clauses + redirects(node))


def together(nodes):
    return "{%s}" % "; ".join(map(shown, nodes))


def redirects(node):
    return ["%s%s%s" % (one.descriptor, one.operator, one.word.text) for one in node.redirects]


@cases
def test_trees(text, trees):
    source = parse_shell(text)
    assert source.whole == (trees is not None)
    assert trees is None or [shown(node) for node in source.nodes] == trees


@cases
def test_texts_that_no_shell_takes_are_not_whole(text):
    assert subprocess.run(["bash", "-n"], input=text.encode(), stderr=subprocess.PIPE, check=False).stderr
    assert not parse_shell(text).whole


def test_what_cannot_be_read_costs_only_its_line():
    source = parse_shell("a\nb (c) d\ne\nfi\nf")
    assert [shown(node) for node in source.nodes] == ["a", "e", "f"]


def test_a_here_document_has_its_place():
    text = "a <<X && b\nc\nd\nX\ne"
    redirect = parse_shell(text).here_documents[0]
    assert text[slice(*redirect.body)] == "c\nd\n"
    assert text[:redirect.last].endswith("d\nX")


def test_everything_keeps_its_place():
    text = "f() { a | b 'x' >y; }\nif c; then d && e; fi"
    source, found = parse_shell(text), []

    def visit(node):
        found.append(text[node.start:node.end])
        for _before, nodes in getattr(node, "clauses", ()):
            for one in nodes:
                visit(one)
    for node in source.nodes:
        visit(node)
    assert found == ["f() { a | b 'x' >y; }", "{ a | b 'x' >y; }", "a | b 'x' >y", "a", "b 'x' >y",
                     "if c; then d && e; fi", "d && e", "d", "e"]


PIECES = [
    "(", ")", "$(", "`", "\"", "'", "$'", "<<EOF\n", "<<-'E'", "EOF\n", "((", "))", "$((", "${", "}", "{ ", "; }",
    "if ", "then ", "else ", "fi\n", "case x in ", "a) ", ";;", "esac ", "while ", "do ", "done\n", "for i in ", "f() ",
    "function ", "[[ ", " ]]", "@(", "\\", "\\\n", "|", "||", "&&", "&", ";", "\n", "\r\n", " ", "\t", "#", "a", "x=",
    "x=(", "$x", "$1", "\"$@\"", "{a,b}", "<(", ">(", ">x ", "<x ", "2>&1 ", "iptables -F ", "eval ", "sh -c ", "trap ",
    "\0", "\ufffd", "\udc80", "é", "!", "time ", "echo ",
]


def test_any_text_is_read_to_its_end():
    seed = kube_audit.seed()
    for number in range(1500):
        source = random.Random("%s %s" % (seed, number))
        text = "".join(source.choice(PIECES) for _piece in range(source.randrange(1, 60)))
        tree = parse_shell(text)
        for node in tree.nodes:
            assert 0 <= node.start <= node.end <= len(text), "seed %s, text %s: %r" % (seed, number, text)


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_with_the_text(piece):
    """Eight times the text is about eight times the work: 64 times would be the square."""
    small, large = (work.calls_of(parse_shell, piece * (size // len(piece))) for size in (1 << 12, 1 << 15))
    assert large < 12 * small + 1000


@pytest.mark.parametrize("piece", ["(", "$(", "\"", "'", "<<EOF\n", "<<EOF", "`", "{", "case x in "])
def test_a_megabyte_of_it_ends(piece):
    assert parse_shell(piece * ((1 << 20) // len(piece))) is not None


def test_nesting_does_not_exhaust_the_stack():
    limit = sys.getrecursionlimit()
    depth = len(inspect.stack())
    try:
        sys.setrecursionlimit(depth + 400)
        for piece in ("(", "$(", "{ ", "if ", "${a:-", "\"$(", "f() { ", "case x in a) "):
            assert not parse_shell(piece * 200).whole
    finally:
        sys.setrecursionlimit(limit)
