# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/net/stat/nf_conntrack: hexadecimal, by the names of the header, and the total once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.nf_conntrack_stat import (
    parse_nf_conntrack_stat)

# As Linux 6.18 prints it on two processors.
HEADER = ("entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop "
          "icmp_error  expect_new expect_create expect_delete search_restart\n")
OF_618 = HEADER + """\
0000004a  00000002 00000000 00000000 00000003 00000012 00000000 00000001 00000000 00000005 000000ff 00000010 00000000  00000000 00000000 00000000 00000006
0000004a  00000001 00000000 00000000 00000001 00000002 00000000 00000000 00000000 00000001 00000001 0000000f 00000000  00000000 00000000 00000000 0000000a
"""
# Before 5.10 and in it the columns have other names.
OF_54 = ("entries  searched found new invalid ignore delete delete_list insert insert_failed drop early_drop\n"
         "00000010  " + " ".join(["00000001"] * 11) + "\n")


def test_columns_are_summed_over_processors_and_the_total_is_taken_once():
    assert parse_nf_conntrack_stat(OF_618) == {
        "entries": 0x4a, "clashres": 3, "found": 0, "new": 0, "invalid": 4, "ignore": 0x14, "delete": 0,
        "chainlength": 1, "insert": 0, "insert_failed": 6, "drop": 256, "early_drop": 31, "icmp_error": 0,
        "expect_new": 0, "expect_create": 0, "expect_delete": 0, "search_restart": 16}


def test_other_kernels_have_other_columns():
    sums = parse_nf_conntrack_stat(OF_54)
    assert (sums["entries"], sums["drop"], sums["delete_list"]) == (16, 1, 1) and "chainlength" not in sums


@pytest.mark.parametrize("text",
                         [
                             "", "entries drop\n", "drop entries\n0 0\n", "entries drop\n0000000g 00000000\n",
                             "entries drop\n00000000\n", "entries drop\n0 0 0\n", "\n\n"])
def test_what_is_no_such_table_is_none(text):
    assert parse_nf_conntrack_stat(text) is None


@given(st.integers(1, 600), st.lists(st.integers(0, 0xffffffff), min_size=3, max_size=3))
def test_any_number_of_processors(cpus, values):
    text = "entries  drop early_drop\n" + ("%08x  %08x %08x\n" % tuple(values)) * cpus
    assert parse_nf_conntrack_stat(text) == {"entries": values[0], "drop": values[1] * cpus,
                                             "early_drop": values[2] * cpus}


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    parse_nf_conntrack_stat(text)
    parse_nf_conntrack_stat("entries drop\n" + text)
