# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell commands that stand in files of other formats: their lines."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.embedded import (TIMER, command,
                                                                                                  in_place,
                                                                                                  line_in_file,
                                                                                                  shell_words)


def test_lines_of_a_text_that_stands_in_the_file_as_it_is_and_of_one_that_does_not():
    assert [line_in_file(command(5, "a\nb\n", TIMER), line) for line in (1, 2)] == [5, 6]
    assert [line_in_file(command(5, "a\nb\n", TIMER, exact=False), line) for line in (1, 2)] == [5, 5]


@pytest.mark.parametrize("pieces, wanted", [
    ([(3, "a")], (3, "a\n", True)),
    ([(3, "a"), (5, "b\nc\n"), (7, "d")], (3, "a\n\nb\nc\nd\n", True)),
    ([(3, "a\nb\nc"), (4, "d")], (3, "a\nb\nc\nd\n", False)),
    ([(3, "a\n\n\n"), (4, "d")], (3, "a\nd\n", True)),
])
def test_pieces_of_one_script_keep_their_lines(pieces, wanted):
    assert in_place(pieces) == wanted


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=8))
def test_every_piece_begins_at_its_own_line(gaps):
    pieces, line = [], 1
    for number, (gap, height) in enumerate(gaps):
        line += gap
        pieces.append((line, "\n".join("%d.%d" % (number, each) for each in range(height))))
        line += height
    first, text, exact = in_place(pieces)
    assert exact
    lines = text.split("\n")
    for start, piece in pieces:
        assert lines[start - first:start - first + piece.count("\n") + 1] == piece.split("\n")


@given(st.lists(st.text(alphabet="a '\"$\\;\n"), min_size=1))
def test_words_stay_what_they_are(words):
    assert shlex.split(shell_words(words)) == words
