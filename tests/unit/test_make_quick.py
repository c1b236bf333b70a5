# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make quick`: the differences from main, the tests that run for them, and the parts that are left out."""

import pathlib
import subprocess
import sys

import changes
import lint
import pytest
import quick
import results

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


@pytest.mark.parametrize("name, tests", [
    ("plugins/module_utils/_names.py", ["tests/unit/plugins/module_utils/test__names.py"]),
    ("tests/unit/plugins/module_utils/test__names.py", ["tests/unit/plugins/module_utils/test__names.py"]),
    ("tests/tools/quick.py", ["tests/unit/test_make_quick.py"]),
    ("tests/unit/plugins/module_utils/test_that_was_removed.py", []),
    ("tests/unit/test_house.py", []),
    ("README.md", []),
])
def test_a_file_has_its_tests(monkeypatch, name, tests):
    assert plan(monkeypatch, name) == quick.Plan(tests, [], False, False, [])


def test_tests_that_changed_come_first(monkeypatch):
    names = "plugins/module_utils/_names.py", "tests/unit/test_make_quick.py"
    assert plan(monkeypatch, *names).tests == ["tests/unit/test_make_quick.py",
                                               "tests/unit/plugins/module_utils/test__names.py"]


def test_a_check_has_its_cases(monkeypatch):
    found = plan(monkeypatch, "roles/node_policy/files/checks/ipvs.yml", "tests/checks/KMOD001.yml",
                 checks=["IPVS001", "IPVS999"])
    assert found == quick.Plan([quick.OF_CATALOGUE], ["IPVS001", "KMOD001"], True, True, [])


def test_the_helper_of_all_cases_means_all_cases(monkeypatch):
    found = plan(monkeypatch, "tests/checks/cases.py", "tests/checks/KMOD001.yml")
    assert quick.CHECKS in found.tests and found.checks == []


@pytest.mark.parametrize(
    "name, documented, linted", [
        ("plugins/modules/conntrack.py", True, False), ("roles/node_gate/meta/argument_specs.yml", True, True),
        ("roles/node_gate/tasks/main.yml", False, True), ("changelogs/fragments/a.yml", True, False),
        ("docs/backends.md", False, False),
    ])
def test_pages_and_ansible_lint_where_they_read_it(monkeypatch, name, documented, linted):
    found = plan(monkeypatch, name)
    assert (found.documented, found.ansible_lint) == (documented, linted)


def test_what_has_no_tests_is_told(monkeypatch):
    assert plan(monkeypatch, "Makefile",
                "roles/node_gate/tasks/main.yml").untested == ["Makefile", "roles/node_gate/tasks/main.yml"]


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


@pytest.fixture
def started(monkeypatch, tmp_path):
    """The list of tests and linters that `make quick` would start; nothing is started."""
    rows = []
    monkeypatch.setattr(results, "BUILD", tmp_path)
    monkeypatch.setattr(quick, "base_of", lambda branch: branch * 3)
    monkeypatch.setattr(quick, "run_tests", lambda _results, plan, _end: rows.append(plan.tests))
    monkeypatch.setattr(lint, "run_linters", lambda _results, with_ansible_lint: rows.append(with_ansible_lint))
    monkeypatch.delenv("BASE", raising=False)
    return rows


def test_what_is_left_out_is_told(monkeypatch, capsys, started):
    monkeypatch.setattr(quick, "changed_files",
                        lambda _base: [pathlib.PurePath(name)
                                       for name in ("Makefile", "plugins/module_utils/_names.py")])
    assert quick.main() == 0 and sorted(started, key=str) == [False, ["tests/unit/plugins/module_utils/test__names.py"]]
    told = {line.partition(" left out: ")[0].strip(): line for line in capsys.readouterr().out.splitlines()[1:]}
    assert list(told) == ["other Pythons and ansible-cores", "ansible-lint", "pages", "Makefile",
                          "sanity, build, site, bench and molecule"]
    assert told["Makefile"].endswith("no unit tests belong to this")


def test_nothing_differs(monkeypatch, capsys, started):
    monkeypatch.setattr(quick, "changed_files", lambda _base: [])
    assert quick.main() == 0 and started == [] and capsys.readouterr().out == "  nothing differs from mainmainmain\n"
