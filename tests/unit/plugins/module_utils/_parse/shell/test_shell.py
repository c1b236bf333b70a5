# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of a shell as a tree, their words as bash makes them, and commands without their secrets."""

import inspect
import random
import re
import subprocess
import sys

import kube_audit
import pytest
import work
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.secrets import (
    COMMAND_LINE_LIMIT, COMMAND_TEXT_LIMIT as LONGEST, masked_command, masked_text,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.grammar import parse_shell
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.tree import Simple, Substitution, Variable

PIECES = ["(", ")", "$(", "`", "\"", "'", "$'", "<<EOF\n", "<<-'E'", "EOF\n", "((", "))",
          "$((", "${", "}", "{ ", "; }", "if ", "then ", "else ", "fi\n", "case x in ", "a) ", ";;", "esac ", "while ",
          "do ", "done\n", "for i in ", "f() ", "function ", "[[ ", " ]]", "@(", "\\", "\\\n", "|", "||", "&&", "&",
          ";", "\n", "\r\n", " ", "\t", "#", "a", "x=", "x=(", "$x", "$1", "\"$@\"", "{a,b}", "<(", ">(", ">x ", "<x ",
          "2>&1 ", "iptables -F ", "eval ", "sh -c ", "trap ", "\0", "\ufffd", "\udc80", "é", "!", "time ", "echo "]
SECRET = "hunter2"
HIDDEN = "hunter2-XyZZy"
NEIGHBOURS = ["iptables -F", ";", "|", "&&", "'", '"', "(", ")", "{ ", " }", "$(", "`", "sh -c", "login", "-p", "sudo",
              " ", "\n", "x=", "<<<"]


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


def test_what_cannot_be_read_costs_only_its_line_and_a_here_document_has_its_place():
    source = parse_shell("a\nb (c) d\ne\nfi\nf")
    assert [shown(node) for node in source.nodes] == ["a", "e", "f"]
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


def in_a_row(parts):
    """Parts in a row: text as it is, variables in angle brackets, substitutions in square ones."""
    done = ""
    for part in parts:
        if isinstance(part, Variable):
            done += "<%s%s%s%s>" % (part.name, "" if part.index is None else "[%s]" % part.index, part.operator,
                                    in_a_row(part.rest))
        elif isinstance(part, Substitution):
            done += "[%s]" % (part.text if part.nodes is None
                              else " ".join(in_a_row(word.parts) for node in part.nodes for word in node.words))
        else:
            done += part
    return done


def words(text):
    return [in_a_row(word.parts) for node in parse_shell(text).nodes for word in node.words]


@cases
def test_bash_reads_the_same_words(text):
    command = "x=; printf '%%s\\0' + %s" % text
    asked = subprocess.run(["bash", "--norc", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           check=False)
    real = asked.stdout.decode().split("\0")[1:-1]
    # What echo prints, what a default gives, and the sum.
    read = [re.sub(r"<x:-(.*?)>", r"\1", re.sub(r"\[echo `?(?:echo )?(.*?)`?\]", r"\1", word)).replace("<(>", "2")
            for word in words("+ " + text)[1:]]
    assert read == real, asked.stderr


@cases
def test_what_stands_for_something_else(text, expected):
    assert words("x " + text)[1:] == expected


@pytest.mark.parametrize("text", ["'a", "\"a", "`a", "$(a", "${a", "$((1", "a \"$(b", "$'a", "@(a"])
def test_what_is_never_closed_is_not_whole(text):
    assert not parse_shell("x " + text).whole
    assert parse_shell("x y").whole


@pytest.mark.parametrize("text", ["a 'b c' \"d\"", "sudo sh -c 'x; y' z", "a\\ b"])
def test_places(text):
    node = parse_shell("  " + text + "  # end").nodes[0]
    assert (node.start, node.end) == (2, 2 + len(text))
    alone = [parse_shell(text[word.start - 2:word.end - 2]).nodes[0].words[0] for word in node.words]
    assert [in_a_row(word.parts) for word in alone] == [in_a_row(word.parts) for word in node.words]


@cases
def test_what_is_no_secret_is_shown(arguments, shown):
    assert masked_command(arguments) == (" ".join(arguments) if shown is None else shown)


@cases
def test_secrets_are_not_shown(arguments):
    shown = masked_command(arguments)
    assert SECRET not in shown and "***" in shown


def test_what_is_long_is_cut():
    assert masked_command(["x"] + ["y" * 50] * 50) == (
        "x " + ("y" * 50 + " ") * 2 + "y" * (COMMAND_LINE_LIMIT - 107) + "...")
    assert len(masked_command(["x" * 10 ** 7] * 3)) == COMMAND_LINE_LIMIT
    assert len(masked_text("iptables -F " * 1000)) == LONGEST and masked_text("\n\t iptables\n -F ") == "iptables -F"


@given(st.lists(st.text()))
def test_any_command_line_is_one_short_line(arguments):
    shown, text = masked_command(arguments), masked_text(" ".join(arguments))
    assert len(shown) <= COMMAND_LINE_LIMIT and len(shown.splitlines()) <= 1
    assert len(text) <= LONGEST and "\n" not in text


@given(st.lists(st.sampled_from(["-w", "5", "x=y z", "--a", "sh -c 'x'", "http://h/x", "--token", "a"])),
       st.sampled_from(["--token", "--password", "--my-secret"]), st.booleans())
def test_no_neighbour_brings_a_secret_to_light(before, option, joined):
    assert SECRET not in masked_command(["x"] + before + ([option + "=" + SECRET] if joined else [option, SECRET]),
                                        1000)


@cases
def test_what_holds_no_secret_stays(command):
    assert masked_text(command) == command


@cases
def test_secrets(command, shown):
    assert masked_text(command % HIDDEN) == shown


@given(st.lists(st.sampled_from(NEIGHBOURS), max_size=14).map(" ".join))
def test_a_word_beside_a_tool_is_never_shown(text):
    assert HIDDEN not in masked_text("login %s %s; iptables -F"
                                     % (HIDDEN, text)) and HIDDEN not in masked_text("%s ; login %s" % (text, HIDDEN))


@pytest.mark.parametrize("text", ["echo " * 4000, "<<" * 9000, "A=" * 9000, "-u " * 9000, "'" * 9000, "\\" * 9000,
                                  "a=\"" * 4000])
def test_no_text_takes_long(text):
    assert len(masked_text(text)) <= LONGEST
