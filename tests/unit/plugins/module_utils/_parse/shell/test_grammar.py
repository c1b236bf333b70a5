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


TREES = {
    "a b; c & d\n\ne": ["a b", "c", "d", "e"],
    "a|b|&c": ["(pipeline {a} {b} {c})"],
    "a |\n # x\n b": ["(pipeline {a} {b})"],
    "! a": ["(pipeline ! {a})"],
    "time -p a | b": ["(pipeline {a} {b})"],
    "a && b || c\nd": ["(and_or {a} && {b} || {c})", "d"],
    "a &&\n\n b": ["(and_or {a} && {b})"],
    "(a; b)": ["(subshell {a; b})"],
    "{ a; b; } >x 2>&1": ["(group {a; b} >x 2>&1)"],
    "{a; }": None,
    "a }": ["a }"],
    "echo if then fi done { }": ["echo if then fi done { }"],
    "if a; then b; fi": ["(if {a} -> {b})"],
    "if a; then b; elif c\nthen d; else e; fi": ["(if {a} -> {b} {c} -> {d} {e})"],
    "while a; do b; done < x": ["(while {a} -> {b} <x)"],
    "until a; do b; done": ["(until {a} -> {b})"],
    "for x in a b; do c; done": ["(for x a b {c})"],
    "for x in a\ndo c; done": ["(for x a {c})"],
    "for x do c; done": ["(for x {c})"],
    "for x; do c; done": ["(for x {c})"],
    "for x in a; { c; }": ["(for x a {c})"],
    "for ((i=0; i<3; i++)); do c; done": ["(while {} -> {c})"],
    "select x in a; do c; done": ["(for x a {c})"],
    "case x in a) b;; (c|d) e; f ;; *) g\nesac": ["(case x a) {b} c d) {e; f} *) {g})"],
    "case x in\n# none\nesac": ["(case x)"],
    "case x in a) ;; b) c;& d) e;;& esac": ["(case x a) {} b) {c} d) {e})"],
    "case x in esac": ["(case x)"],
    "f() { a; }": ["(function f {(group {a})})"],
    "f ( )\n\n{ a; }": ["(function f {(group {a})})"],
    "function f { a; }": ["(function f {(group {a})})"],
    "function f() (a)": ["(function f {(subshell {a})})"],
    "f-1() if a; then b; fi": ["(function f-1 {(if {a} -> {b})})"],
    "a=1 b=2 c d=3": ["a=1 b=2 c d=3"],
    "a=(x 'y z'\n w) b": ["a=['x', 'y z', 'w'] b"],
    "local a=1 b": ["a=1 local b"],
    "a[0]=x b+=y": ["a=x b=y"],
    "a >b >>c <d 2>e &>f >|g <>h 3<&0 {x}>y": ["a >b >>c <d 2>e &>f >|g <>h 3<&0 {x}>y"],
    ">x a": ["a >x"],
    "a <<<b": ["a <<<b"],
    "a <<X; b\nc\nX\nd": ["a <<X", "b", "d"],
    "a <<-X b <<'Y'\nc\n\tX\nd\nY\ne": ["a b <<-X <<Y", "e"],
    "x=$(a <<X\n)\nX\n)": ["x=None"],
    "[[ a == b && ( c || d ) ]] && e": ["(and_or {[[ a == b & & ( c | | d ) ]]} && {e})"],
    "((a > 1)) && b": ["(and_or {(group)} && {b})"],
    "((a) | b)": ["(subshell {(pipeline {(subshell {a})} {b})})"],
    "a # b\n# c\nd#e": ["a", "d#e"],
    "if a\r\nthen b\r\nfi\r\nc\r\n": ["(if {a} -> {b})", "c"],
    "a \\\n b\\\nc": ["a bc"],
    "coproc a": ["a"],
    "": [],
    "\n ;\n": [],
}


@pytest.mark.parametrize("text", TREES)
def test_trees(text):
    source = parse_shell(text)
    if TREES[text] is None:
        assert not source.whole
    else:
        assert [shown(node) for node in source.nodes] == TREES[text]
        assert source.whole


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
