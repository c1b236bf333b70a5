# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands in files of other formats: what runs, at which line, and when."""

import shlex

import pytest
from hypothesis import given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.package_hooks import (
    parse_apt_conf, parse_dnf_actions, parse_dpkg_cfg)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.cron_table import (
    parse_anacron_table, parse_cron_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.embedded import (
    TIMER, command, in_place, line_in_file, shell_words)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.event_hooks import (
    parse_interfaces, parse_logrotate_conf, parse_udev_rules)

# Each parser, and the letters of texts that it takes apart.
PARSERS = {
    "apt": (parse_apt_conf, 'DPkg:-IvoetsP{};"/*#\n \\'), "cron of a user": (parse_cron_table, None),
    "cron of the system": (lambda text: parse_cron_table(text, with_user=True), None),
    "anacron": (parse_anacron_table, None), "dnf": (parse_dnf_actions, None), "dpkg": (parse_dpkg_cfg, None),
    "interfaces": (parse_interfaces, "auto ifcep-n\\\n#\r"), "logrotate": (parse_logrotate_conf, None),
    "udev": (parse_udev_rules, 'RUNPOGAM+=":{}\\\'\n #e$%/a b')}


@cases
def test_commands_of_a_file(parser, text, found):
    """What runs: its line in the file, its text, when, and whether the text stands in the file as it is."""
    assert [(each.line, each.text, each.when, each.exact) for each in PARSERS[parser][0](text)] == found


@pytest.mark.parametrize("parser", PARSERS)
@given(st.data())
def test_no_text_is_too_odd(parser, data):
    parse, letters = PARSERS[parser]
    text = data.draw(st.text(alphabet=letters, max_size=200) if letters else st.text())
    for each in parse(text):
        assert 1 <= each.line <= text.count("\n") + 1


# Shell commands that stand in files of other formats: their lines.

def test_lines_of_a_text_that_stands_in_the_file_as_it_is_and_of_one_that_does_not():
    assert [line_in_file(command(5, "a\nb\n", TIMER), line) for line in (1, 2)] == [5, 6]
    assert [line_in_file(command(5, "a\nb\n", TIMER, exact=False), line) for line in (1, 2)] == [5, 5]


@cases
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
