# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make mutate`: which mistakes it makes, and that a seed makes the same ones again."""

import mirror
from case_rows import cases
from mutations import Mutation, apply, describe, sample, sites


@cases
def test_one_operator_or_constant_is_changed(text, mutated):
    data = text.encode()
    assert {apply(data, Mutation("", *site)).decode() for site in sites(data)} == mutated


def test_a_seed_makes_the_same_mistakes_and_spreads_them_by_lines(tmp_path):
    for name, lines in (("a", 30), ("b", 10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text("".join("x%d = 1\n" % line for line in range(lines)), encoding="utf-8")
    first = sample(tmp_path, 1, 8, ["a", "b"])
    assert [mutation.path for mutation in first] == ["a/one.py"] * 6 + ["b/one.py"] * 2
    assert sample(tmp_path, 2, 8, ["a", "b"]) != first
    file = tmp_path / "a" / "one.py"
    data = file.read_bytes()
    number = data.count(b"\n", 0, first[0].start)
    assert describe(data, first[0]) == "a/one.py:%d  1 -> 2\n      - x%d = 1\n      + x%d = 2" % (
        number + 1, number, number)
    file.write_text("# A line more\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert sample(tmp_path, 1, 8, ["a", "b"])[0] == first[0]._replace(start=first[0].start + 14, end=first[0].end + 14)


def test_users_are_files_that_import_it_and_trees_that_reach_it():
    source = "plugins/module_utils/_look/rules/nft_native.py"
    found = mirror.tests_of_users(source)
    assert "tests/unit/test_native_tables_listed.py" in found
    assert len(found) <= mirror.USERS_TESTS and not set(found) & set(mirror.tests_of(source))
