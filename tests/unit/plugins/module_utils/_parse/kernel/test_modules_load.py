# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of modules-load.d files and /etc/modules."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_load import parse_modules_load

NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))


def test_one_name_for_each_line():
    text = "# comment\n; another\n\nnf_conntrack\n  br-netfilter \t\r\nip_vs scheduler=rr\n../evil\n"
    assert parse_modules_load(text) == ([(4, "nf_conntrack"), (5, "br_netfilter")],
                                        [(6, "ip_vs scheduler=rr"), (7, "../evil")])


def test_first_word_only():
    text = "loop max_loop=64\n# x\n/etc/passwd a\n"
    assert parse_modules_load(text, first_word_only=True) == ([(1, "loop")], [(3, "/etc/passwd a")])


@pytest.mark.parametrize("strange", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_only_line_feeds_count_lines(strange):
    assert parse_modules_load("#%s\nip_vs\n" % strange)[0] == [(2, "ip_vs")]


@given(st.text(), st.booleans())
@example("\0", False)
@example("a" * 65, True)
def test_no_line_is_lost(text, first_word_only):
    names, unread = parse_modules_load(text, first_word_only)
    numbers = [number for number, _name in names] + [number for number, _line in unread]
    assert len(numbers) == len(set(numbers))
    for number, line in enumerate(text.split("\n"), 1):
        assert (number in numbers) == bool(line.strip() and line.strip()[0] not in "#;")


@given(st.lists(NAMES))
def test_a_list_is_read_back(names):
    assert parse_modules_load("".join(name + "\n" for name in names)) == (list(enumerate(names, 1)), [])
