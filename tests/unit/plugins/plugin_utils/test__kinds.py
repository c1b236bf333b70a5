# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._kinds.each_at_most import judge_each_at_most


def test_each_at_most_returns_the_rows_that_are_above():
    rows = [{"value": 30, "who": "a"}, {"value": 30.1, "who": "b"}, {"value": 0}]
    assert judge_each_at_most(rows, 30) == [rows[1]]
    assert judge_each_at_most([], 30) == []


def test_a_doubt_is_no_pass_and_no_excuse():
    with pytest.raises(ValueError, match="may be more"):
        judge_each_at_most([{"value": 1, "doubt": "may be more"}], 30)
    above = {"value": 31, "doubt": "may be more"}
    assert judge_each_at_most([above, {"value": 1, "doubt": "may be more"}], 30) == [above]
    assert judge_each_at_most([{"value": 1, "doubt": ""}], 30) == []


@pytest.mark.parametrize("selected", [None, {}, 3, [{"value": None}], [{"value": "3"}], [{"value": True}]])
def test_what_is_no_number_is_no_pass(selected):
    with pytest.raises(ValueError, match="must"):
        judge_each_at_most(selected, 30)
