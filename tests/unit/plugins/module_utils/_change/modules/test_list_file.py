# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of modules, and what was in its file before."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules.list_file import (
    HEADER, added_lines, is_as_written, list_text)

THEIRS = "# ours since 2019\noverlay"


@pytest.mark.parametrize("before", [None, "", HEADER, HEADER + "ip_vs\n"])
def test_a_list_of_ours_is_replaced(before):
    assert list_text(["xt_comment"], before) == HEADER + "xt_comment\n"


@pytest.mark.parametrize("before", [None, "", HEADER, HEADER + "ip_vs\n"])
def test_a_list_of_ours_without_a_module_is_removed(before):
    assert list_text([], before) is None


def test_the_lines_of_others_stay_through_any_number_of_runs():
    once = list_text(["ip_vs"], THEIRS)
    assert once.startswith(HEADER + "ip_vs\n") and once.endswith("\n" + THEIRS)
    assert list_text(["ip_vs"], once) == once == list_text(["ip_vs"], list_text(["xt_comment"], once))


def test_a_list_of_others_stays_where_nothing_is_to_be_loaded():
    assert list_text([], THEIRS) == THEIRS


@pytest.mark.parametrize("text, told", [
    (list_text(["ip_vs"], None), True), (list_text(["br_netfilter", "ip_set_hash:ip"], None), True),
    (HEADER, False), ("", False), ("ip_vs\n", False), (HEADER + "ip_vs", False), (HEADER + "ip_vs\n\n", False),
    (HEADER + "xt_comment\nip_vs\n", False), (HEADER + "ip_vs\nip_vs\n", False), (HEADER + "ip_vs\r\n", False),
    (HEADER + "# mine\n", False), (list_text(["ip_vs"], THEIRS), False), (" " + list_text(["ip_vs"], None), False)])
def test_what_only_this_module_writes(text, told):
    assert is_as_written(text) is told


@pytest.mark.parametrize("text, added", [
    (list_text(["ip_vs"], None), None), (list_text(["ip_vs"], None) + "# mine\nloop", "# mine\nloop"),
    (list_text(["ip_vs"], THEIRS), THEIRS), (HEADER + "loop\n" + list_text(["ip_vs"], THEIRS)[len(HEADER):],
                                             "loop\n" + THEIRS)])
def test_what_others_added(text, added):
    assert added_lines(text, ["ip_vs"]) == added
