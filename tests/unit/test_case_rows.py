# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each table of tests/rows is read by its test, and compares like the sequences that a test writes."""

import re

import case_rows


def test_no_table_is_orphaned():
    for path in sorted(case_rows.ROWS.rglob("*.yml")):
        test = case_rows.test_of(path)
        assert sorted(case_rows.tables_of(test)) == sorted(re.findall(r"(?m)^@cases\n(?:@.*\n)*def test_(\w+)",
                                                                      test.read_text(encoding="utf-8"))), path


def test_a_sequence_is_equal_to_a_list_and_to_a_tuple_of_the_same():
    one = case_rows.Sequence(["a", case_rows.Sequence([1])])
    assert one == ["a", (1,)] and ("a", [1]) == one and one != ["a"] and ("a", [2]) != one and one != "a"
    assert {one: 1}[("a", (1,))] == 1 and (0,) + one == (0, "a", [1]) and [0] + one + [2] == [0, "a", [1], 2]


def test_a_row_may_name_constants():
    row = {"a": case_rows.Sequence(["$ONE", "x $TWO $one", "$NONE"]), "$KEY": "$TWOs"}
    assert case_rows.filled(row, {"ONE": (1,), "TWO": 2, "KEY": "b"}) == {"a": [(1,), "x 2 $one", "$NONE"], "b": "2s"}
