# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a shell, compared with what bash makes of the same ones."""

import re
import subprocess

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.grammar import parse_shell
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.tree import Substitution, Variable


def shown(parts):
    """Parts in a row: text as it is, variables in angle brackets, substitutions in square ones."""
    done = ""
    for part in parts:
        if isinstance(part, Variable):
            done += "<%s%s%s%s>" % (part.name, "" if part.index is None else "[%s]" % part.index, part.operator,
                                    shown(part.rest))
        elif isinstance(part, Substitution):
            done += "[%s]" % (part.text if part.nodes is None
                              else " ".join(shown(word.parts) for node in part.nodes for word in node.words))
        else:
            done += part
    return done


def words(text):
    return [shown(word.parts) for node in parse_shell(text).nodes for word in node.words]


# Nothing in them varies, so that bash can be asked what they are.


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
    assert [shown(word.parts) for word in alone] == [shown(word.parts) for word in node.words]
