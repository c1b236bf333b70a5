# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands and command lines without their secrets."""

import hypothesis
import pytest
from hypothesis import given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.command_line import LIMIT, masked_command
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.shell.command_text import (
    LIMIT as LONGEST, masked_text)


# Command lines that may be shown.

SECRET = "hunter2"


@cases
def test_what_is_no_secret_is_shown(arguments, shown):
    assert masked_command(arguments) == (" ".join(arguments) if shown is None else shown)


@cases
def test_secrets_are_not_shown(arguments):
    shown = masked_command(arguments)
    assert SECRET not in shown and "***" in shown


def test_it_is_cut():
    assert masked_command(["x"] + ["y" * 50] * 50) == "x " + ("y" * 50 + " ") * 2 + "y" * (LIMIT - 107) + "..."
    assert len(masked_command(["x" * 10 ** 7] * 3)) == LIMIT


@given(st.lists(st.text()))
def test_any_command_line_is_one_short_line(arguments):
    shown = masked_command(arguments)
    assert len(shown) <= LIMIT and len(shown.splitlines()) <= 1


@given(st.lists(st.sampled_from(["-w", "5", "x=y z", "--a", "sh -c 'x'", "http://h/x", "--token", "a"])),
       st.sampled_from(["--token", "--password", "--my-secret"]), st.booleans())
def test_no_neighbour_brings_a_secret_to_light(before, option, joined):
    assert SECRET not in masked_command(["x"] + before + ([option + "=" + SECRET] if joined else [option, SECRET]),
                                        1000)


# Commands of scripts without their secrets.

HIDDEN = "hunter2-XyZZy"


@cases
def test_what_holds_no_secret_stays(command):
    assert masked_text(command) == command


@cases
def test_secrets(command, shown):
    assert masked_text(command % HIDDEN) == shown


PIECES = ["iptables -F", ";", "|", "&&", "'", '"', "(", ")", "{ ", " }", "$(", "`", "sh -c", "login", "-p", "sudo", " ",
          "\n", "x=", "<<<"]


@hypothesis.given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
def test_a_word_beside_a_tool_is_never_shown(text):
    assert HIDDEN not in masked_text("login %s %s; iptables -F"
                                     % (HIDDEN, text)) and HIDDEN not in masked_text("%s ; login %s" % (text, HIDDEN))


def test_a_long_command_is_cut():
    assert len(masked_text("iptables -F " * 1000)) == LONGEST and masked_text("\n\t iptables\n -F ") == "iptables -F"


@hypothesis.given(st.text(max_size=400))
def test_any_text(text):
    shown = masked_text(text)
    assert len(shown) <= LONGEST and "\n" not in shown


@pytest.mark.parametrize("text", ["echo " * 4000, "<<" * 9000, "A=" * 9000, "-u " * 9000, "'" * 9000, "\\" * 9000,
                                  "a=\"" * 4000])
def test_no_text_takes_long(text):
    assert len(masked_text(text)) <= LONGEST
