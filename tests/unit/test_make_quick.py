# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make quick`: the differences from main, the tests that run for them, and the parts that are left out."""

import pathlib
import subprocess
import sys

import changes
import pytest
import quick
import results
from case_rows import cases

TOP = results.TOP
ENTRY = "- {id: %s, title: %s}\n"


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=str(folder), check=True,
                   stdout=subprocess.DEVNULL)


@pytest.fixture
def clone(tmp_path):
    """A branch that differs from main, while main went on."""
    catalogue = tmp_path / changes.CATALOGUE
    catalogue.mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main")
    (catalogue / "a.yml").write_text(ENTRY % ("A001", "as it is") + ENTRY % ("A002", "old"), encoding="utf-8")
    for name in ("stays", "edited", "gone"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "begin")
    git(tmp_path, "checkout", "-qb", "work")
    (tmp_path / "committed").write_text("x", encoding="utf-8")
    git(tmp_path, "add", "committed")
    git(tmp_path, "rm", "-q", "gone")
    git(tmp_path, "commit", "-qm", "work")
    (tmp_path / "edited").write_text("x", encoding="utf-8")
    (tmp_path / "new file").write_text("x", encoding="utf-8")
    (catalogue / "a.yml").write_text(ENTRY % ("A001", "as it is") + ENTRY % ("A002", "new") + ENTRY % ("A003", "new"),
                                     encoding="utf-8")
    git(tmp_path, "checkout", "-q", "main", "--", "stays")
    return tmp_path


def test_what_differs(clone):
    base = changes.base_of("main", clone)
    path = changes.CATALOGUE / "a.yml"
    assert [str(name)
            for name in changes.changed_files(base, clone)] == ["committed", "edited", "gone", "new file", str(path)]
    assert changes.changed_checks(path, base, clone) == ["A002", "A003"]
    assert changes.changed_checks(changes.CATALOGUE / "gone.yml", base, clone) == []


def test_a_branch_that_is_none(clone):
    with pytest.raises(changes.NoBase, match="BASE=mian: git knows no such branch or commit; known: main, work"):
        changes.base_of("mian", clone)


def plan(monkeypatch, *names, checks=()):
    monkeypatch.setattr(quick, "changed_checks", lambda _path, _base: list(checks))
    return quick.plan_of([pathlib.PurePath(name) for name in names], "main")


@cases
def test_what_runs_for_changed_files(monkeypatch, names, checks, planned):
    """The tests of the files with changed tests first, changed checks, pages, ansible-lint, files without tests."""
    assert plan(monkeypatch, *names, checks=checks) == quick.Plan(*planned)


def test_the_helper_of_all_cases_means_all_cases(monkeypatch):
    found = plan(monkeypatch, "tests/checks/cases.py", "tests/checks/KMOD001.yml")
    assert quick.CHECKS in found.tests and found.checks == []


@pytest.mark.parametrize("seconds, words", [("100", "2 passed"), ("0", "1 passed, 1 skipped")])
def test_no_test_begins_after_the_end(tmp_path, seconds, words):
    (tmp_path / "test_two.py").write_text("def test_a():\n    pass\ndef test_b():\n    pass\n", encoding="utf-8")
    done = subprocess.run([sys.executable, str(TOP / "tests/tools/pytest_until.py"), seconds, "-q", "-p",
                           "no:cacheprovider", str(tmp_path)], stdout=subprocess.PIPE, universal_newlines=True,
                          check=False)
    assert words in done.stdout and done.returncode == 0


def test_rows_without_time_are_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(results, "BUILD", tmp_path)
    found = results.Results("quick")
    quick.run_tests(found, quick.Plan(["tests/unit/test_x.py"], ["KMOD001"], False, False, []), 0)
    assert [row.get("why") for row in found.rows] == ["not begun within %d seconds" % quick.SECONDS] * 3
