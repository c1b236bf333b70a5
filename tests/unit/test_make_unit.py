# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make unit T=... K=...`: which tests it runs, and its messages for words that match no test."""

import pathlib
import subprocess

import mirror
import pytest
import unit_some

TOP = pathlib.Path(__file__).resolve().parents[2]
NAMES = "tests/unit/plugins/module_utils/test__names.py"


def ask(monkeypatch, status, **words):
    """Return (what main() returns, what pytest is given)."""
    given = []
    monkeypatch.setattr(unit_some, "run", lambda tests, *options: given.append([*tests, *options]) or status)
    for name in ("T", "K"):
        monkeypatch.delenv(name, raising=False)
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    return unit_some.main(), given[0]


@pytest.mark.parametrize("words, given",
                         [
                             ({"T": NAMES, "K": "normalise"}, [NAMES, "-k", "normalise"]),
                             ({"T": NAMES + "::test_x"}, [NAMES + "::test_x"]),
                             ({"T": "plugins/module_utils/_names.py"}, [NAMES]),
                             ({"T": "tests/unit/plugins/filter"}, ["tests/unit/plugins/filter"]),
                             ({"T": str(TOP / NAMES)}, [NAMES]),
                             ({"T": NAMES + " plugins/plugin_utils/_kinds/equals.py"},
                              [NAMES, "tests/unit/plugins/plugin_utils/test__kinds.py"]),
                             ({"K": "CTRACK015"}, ["tests/unit", "-k", "CTRACK015"]),
                         ])
def test_what_runs(monkeypatch, words, given):
    assert ask(monkeypatch, 0, **words) == (0, given)


@pytest.mark.parametrize("word, said", [
    ("tests/unit/test__names.py", "there is no such file or folder; did you mean %s?" % NAMES),
    ("xyzzy", "there is no such file or folder"),
    ("docs", "this folder holds no unit tests; they are below tests/unit"),
    ("README.md", "no unit tests belong to this file"),
])
def test_a_wrong_path_is_refused_in_one_sentence(monkeypatch, word, said):
    with pytest.raises(SystemExit) as refused:
        ask(monkeypatch, 0, T=word)
    assert refused.value.code.startswith("T=%s: %s" % (word, said)) and "\n" not in refused.value.code


def test_a_word_that_no_test_has_in_its_name(monkeypatch):
    assert ask(monkeypatch, unit_some.NO_TESTS, T=NAMES,
               K="xyzzy")[0] == "K=xyzzy: no test of %s has this in its name" % NAMES


def test_pytest_says_whether_they_pass(tmp_path):
    for name, line in (("passes", "pass"), ("fails", "assert False")):
        (tmp_path / ("test_%s.py" % name)).write_text("def test_it():\n    %s\n" % line, encoding="utf-8")
    assert [unit_some.run([str(tmp_path / name)], *options)
            for name, options in (
                ("test_passes.py", ()), ("test_fails.py", ()),
                ("test_passes.py", ("-k", "xyzzy")))] == [0, 1, unit_some.NO_TESTS]


@pytest.mark.parametrize("words, some", [((), False), (("T=x",), True), (("K=x",), True)])
def test_packages_are_for_all_tests(words, some):
    done = subprocess.run(["make", "-n", "--no-print-directory", "unit", *words], cwd=str(TOP), stdout=subprocess.PIPE,
                          universal_newlines=True, check=True)
    assert ("unit_some.py" in done.stdout, "need_packages.sh" in done.stdout) == (some, not some)


@pytest.fixture
def tree(tmp_path):
    files = {
        "plugins/a/_host.py": "", "plugins/a/_host_walk.py": "", "plugins/a/_deep.py": "",
        "plugins/a/_middle.py": "from . import _deep\n", "plugins/a/_used.py": "", "plugins/a/_alone.py": "",
        "plugins/a/kinds/one.py": "", "plugins/a/kinds/two.py": "",
        "plugins/b/look.py": "from ..a._middle import thing\n", "tests/unit/plugins/a/test__host.py": "",
        "tests/unit/plugins/a/test__host_far.py": "", "tests/unit/plugins/a/test__host_walk_links.py": "",
        "tests/unit/plugins/a/test_kinds.py": "", "tests/unit/plugins/b/test_look.py": "",
        "tests/unit/plugins/b/test_others.py": "",
        "tests/unit/test_uses.py": "from ansible_collections.kubenode.netfilter.plugins.a._used import thing\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("source, tests", [
    ("plugins/a/_host.py", ["tests/unit/plugins/a/test__host.py", "tests/unit/plugins/a/test__host_far.py"]),
    ("plugins/a/_host_walk.py", ["tests/unit/plugins/a/test__host_walk_links.py"]),
    ("plugins/a/kinds/two.py", ["tests/unit/plugins/a/test_kinds.py"]),
    ("plugins/a/_used.py", ["tests/unit/test_uses.py"]),
    ("plugins/a/_deep.py", ["tests/unit/plugins/b/test_look.py"]),
    ("plugins/a/_alone.py", []),
    ("tests/unit/test_uses.py", ["tests/unit/test_uses.py"]),
    ("tests/unit/conftest.py", []),
    ("docs/x.py", []),
], ids=str)
def test_the_tests_of_a_file(tree, source, tests):
    assert mirror.tests_of(source, tree) == tests


def test_every_source_has_tests():
    sources = [path.relative_to(TOP) for folder in ("module_utils", "plugin_utils")
               for path in (TOP / "plugins" / folder).rglob("*.py")]
    assert [str(source) for source in sources if not mirror.tests_of(source)] == []
