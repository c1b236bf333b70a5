# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of files: secrets are masked, and all other text is shown."""

import hypothesis
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.secrets import LIMIT, masked_line

SECRET = "hunter2-XyZZy"


@cases
def test_what_is_no_secret_is_shown(line):
    assert masked_line(line) == line


@cases
def test_secrets_are_masked_and_the_rest_of_the_line_stays(line, shown):
    assert masked_line(line % SECRET) == shown


PIECES = ["iptables -F", ";", "|", "'", '"', "(", "$(", "sh -c", "-p", " ", "\\", "x=", ":", "https://", "@", "KEY",
          "token", "=", "--"]


@hypothesis.given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
                  st.sampled_from(["--token ", "password=", "API_KEY=", "secret: "]))
def test_nothing_before_it_brings_a_secret_to_light(before, name):
    assert SECRET not in masked_line("%s %s%s" % (before, name, SECRET))


@hypothesis.given(st.text(max_size=400))
def test_any_text_stays_one_line(text):
    assert masked_line(text).count("\n") <= text.count("\n")


def test_a_long_line_is_cut():
    assert len(masked_line("a.token-" * 10 ** 6)) == LIMIT and len(masked_line("mysql -" * 10 ** 6)) == LIMIT
