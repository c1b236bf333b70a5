# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The make targets: each starts its tool; `make test` sums up, ends and stops parts, which are scripts here; the choice
of kernel and scenario; the tests of a source; the shared cache."""

import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import cache
import check
import choice
import mirror
import pytest
import slow
import test_all
import unit_some
from case_rows import cases

TOP = pathlib.Path(__file__).resolve().parents[2]
# A part that hangs, and shuts down at SIGTERM as the script of the virtual machines does.
HANGS = """\
#!/bin/sh
trap 'echo shut down > $0.ended; kill $!; exit 1' TERM
sleep 100000 &
echo up > $0.up
wait
"""
PARTS = [part for part, _minutes, _settings in test_all.ALL] + [test_all.MOLECULE]


@cases
def test_make_starts_the_tool(words, started):
    # Without the settings of the make that runs this test.
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "SHORT"}
    done = subprocess.run(["make", "-n", "--no-print-directory", *words.split()], cwd=str(TOP), stdout=subprocess.PIPE,
                          env=env, universal_newlines=True, check=True)
    assert re.search(re.escape(started) + r'"? *$', done.stdout, re.MULTILINE), done.stdout


@pytest.fixture
def clone(tmp_path):
    """A clone whose parts are scripts; each passes unless the test writes another."""
    (tmp_path / "tests").mkdir()
    shutil.copytree(str(TOP / "tests/tools"), str(tmp_path / "tests/tools"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "Makefile").write_text("".join("%s:\n\t@./%s.sh $(KERNEL)\n" % (part, part) for part in PARTS))
    for part in PARTS:
        script(tmp_path, part, "#!/bin/sh\necho \"$1\" > $0.given\n")
    return tmp_path


def script(clone, part, text):
    (clone / (part + ".sh")).write_text(text, encoding="utf-8")
    (clone / (part + ".sh")).chmod(0o755)


def run(clone, *arguments, **variables):
    env = {name: value for name, value in os.environ.items() if name not in (test_all.LIMIT, "KERNEL", "SCENARIO")}
    return subprocess.Popen([sys.executable, "tests/tools/test_all.py", *arguments], cwd=str(clone),
                            env=dict(env, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(clone), **variables),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True)


def test_all_parts_run_and_are_summed_up(clone):
    script(clone, "docs", "#!/bin/sh\necho it failed; exit 3\n")
    process = run(clone, KERNEL="6.12", SCENARIO="rules")
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert "docs ended with status" in output and re.search(r"^6 passed, 1 failed$", output, re.MULTILINE), output
    lines = re.findall(r"^.*kernel 6\.12, scenarios everything and rules.*$", output, re.MULTILINE)
    assert len(lines) == 2 and output.startswith(lines[0]), output
    assert (clone / "molecule.sh.given").read_text() == "6.12\n"


def test_the_whole_matrix_names_no_kernel(clone):
    process = run(clone, "--all", KERNEL="6.12")
    assert "all kernels and scenarios" in process.communicate()[0] and process.returncode == 0
    assert (clone / "molecule.sh.given").read_text() == "\n"


def test_a_limit_ends_the_run_and_counts_as_failure(clone):
    process = run(clone, **{test_all.LIMIT: "0"})
    output = process.communicate()[0]
    assert process.returncode == 1 and "lint was not started within 0 minutes" in output, output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(clone, number):
    script(clone, "docs", HANGS)
    script(clone, "molecule", HANGS)
    process = run(clone)
    while not ((clone / "docs.sh.up").exists() and (clone / "molecule.sh.up").exists()):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.send_signal(number)
    output = process.communicate()[0]
    assert process.returncode == 128 + number and "Traceback" not in output, output
    assert (clone / "docs.sh.ended").exists() and (clone / "molecule.sh.ended").exists(), output


def test_consecutive_commits_go_round():
    chosen = [choice.of_commit(number) for number in range(100, 118)]
    assert len(set(chosen)) == 18
    assert all(one.kernel != other.kernel and one.scenario != other.scenario
               for one, other in itertools.pairwise(chosen))


def test_the_choices_are_those_of_the_testbed():
    sys.path.insert(0, str(TOP / "tests" / "testbed"))
    import images
    assert sorted(choice.KERNELS) == sorted(node["kernel"] for node in images.NODES.values())
    assert {"node" + kernel.replace(".", "") for kernel in choice.KERNELS} == set(images.NODES)
    assert {*choice.SCENARIOS, "everything"} == {path.parent.name for path in TOP.glob("molecule/*/molecule.yml")}


def test_a_choice_can_be_asked_for_and_an_unknown_one_is_refused():
    assert choice.of_run({"KERNEL": "7.2", "SCENARIO": "image"}) == ("7.2", "image")
    with pytest.raises(ValueError, match=r"^SCENARIO=hook is not known; use one of backend, hooks, "):
        choice.of_run({"SCENARIO": "hook"})


def test_an_interrupted_entry_of_the_cache_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    folder = cache.entry("images/node", {"packages": ["a"]})
    assert cache.entry("images/node", {"packages": ["b"]}) != folder == cache.entry("images/node", {"packages": ["a"]})
    with pytest.raises(OSError):
        cache.made(folder, lambda work: (work / "sub" / "disk").write_text("half"))
    assert list((tmp_path / "images").iterdir()) == []
    for _time in range(2):
        assert (cache.made(folder, lambda work: (work / "disk").write_text("whole")) / "disk").read_text() == "whole"
    olds = [tmp_path / "images" / name for name in ("node-0123456789ab", ".making-killed")]
    for old in olds:
        old.mkdir()
        os.utime(str(old), (0, 0))
    assert cache.made(folder, None) == folder and not [old for old in olds if old.exists()]


def test_parts_start_in_their_order_and_one_that_runs_alone_waits_for_all(monkeypatch):
    class Part:
        def __init__(self, part, *_arguments):
            self.part, self.ended = part, False

        def runs(self):
            return not self.ended

    monkeypatch.setattr(test_all, "Running", Part)
    lane = test_all.Lane("none", tuple((part, 1, ()) for part in "abcd"), ("c",), "")
    run, started = test_all.Run(lane), []
    for _time in "abcd":
        run.fill()
        started.append("".join(each.part for each in run.running if each.runs()))
        next(each for each in run.running if each.runs()).ended = True
    assert started == ["ab", "b", "c", "d"]
    assert test_all.progress.remaining_seconds({"a": 60, "b": 90, "c": 30, "d": 10}, {}, {"a": 0, "b": 0}, ["c", "d"],
                                               ("c",)) == 130


def test_slow_cases_are_listed_and_a_slow_test_stands_for_its_cases():
    seconds = {"a.py::test_x[1]": 0.01, "a.py::test_x[2]": 0.15, "a.py::test_y[1]": 0.05, "a.py::test_y[2]": 2.0,
               "a.py::test_z": 0.05, "playbooks/b.py::test_p": 2.0, "playbooks/b.py::test_q": 7.0,
               "test_house.py::test_h": 9.0}
    assert slow.slow_of(seconds) == ["a.py::test_x[2]", "a.py::test_y", "playbooks/b.py::test_q"]


@cases
def test_the_tests_of_a_file(source, tests):
    assert mirror.tests_of(source) == ["tests/unit/" + name for name in tests]


def test_every_source_has_tests():
    sources = [path.relative_to(TOP) for folder in ("module_utils", "plugin_utils")
               for path in (TOP / "plugins" / folder).rglob("*.py")]
    assert [str(source) for source in sources if not mirror.tests_of(source)] == []


@pytest.mark.parametrize("tool, variable, word, sentence", [
    (unit_some, "T", "tests/unit/test__names.py", "T=tests/unit/test__names.py: there is no such file or folder; did you "
                                                  "mean tests/unit/plugins/module_utils/test__names.py?"),
    (unit_some, "T", "README.md", "T=README.md: no unit tests belong to this file"),
    (check, "ID", "CTRACK15", "ID: the check CTRACK15 is not known; did you mean CTRACK015?"),
    (check, "ID", "", "ID is missing: make check ID=CTRACK015"),
])
def test_a_wrong_word_is_refused_in_one_sentence(monkeypatch, tool, variable, word, sentence):
    monkeypatch.setenv(variable, word)
    try:
        said = tool.main()
    except SystemExit as refused:
        said = refused.code
    assert said.startswith(sentence) and "\n" not in said


def test_the_cases_of_a_check_are_shown_as_in_a_report(monkeypatch, capsys):
    monkeypatch.setattr(unit_some, "run", lambda tests, *options: 7)
    monkeypatch.setenv("ID", "CTRACK015")
    assert check.main() == 7
    shown = [part for part in capsys.readouterr().out.split("\n\n") if part]
    expected = ["%s (expect: %s)" % (row["name"], row["expect"]) for row in check.cases.table("CTRACK015")]
    assert len(shown) == len(expected) and all(map(str.startswith, shown, expected))


@cases
def test_a_mistake_and_a_silent_select_are_one_sentence(monkeypatch, tmp_path, capsys, row, sentence, hinted):
    (tmp_path / "CTRACK015.yml").write_text("- " + row, encoding="utf-8")
    monkeypatch.setattr(check.cases, "TABLES", tmp_path)
    monkeypatch.setattr(unit_some, "run", lambda tests, *options: 0)
    monkeypatch.setenv("ID", "CTRACK015")
    assert check.main() == sentence
    assert ("hint: CTRACK015: select returns nothing that kind none_of reports" in capsys.readouterr().out) == hinted
