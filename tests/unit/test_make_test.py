# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make test` with parts that are shell scripts: it has no time limit of its own, shows its progress, and lets its
parts shut down."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import progress
import pytest
import test_all

TOP = pathlib.Path(__file__).resolve().parents[2]
# A part that hangs. It reports when it is up and when it receives SIGTERM, as the script of the virtual machines does.
HANGS = """\
#!/bin/sh
trap 'echo shut down > $0.ended; kill $!; exit 1' TERM
echo "molecule: scenario hooks, 3 of 7"
sleep 100000 &
echo up > $0.up
wait
"""
PASSES = "#!/bin/sh\necho it passed\n"
FAILS = "#!/bin/sh\necho it failed; exit 3\n"
MAKEFILE = "".join("%s:\n\t@./%s.sh\n" % (part, part) for part, _minutes in (*test_all.PARTS, test_all.BESIDE))


@pytest.fixture
def clone(tmp_path):
    """A clone whose parts are scripts; each passes unless the test writes another."""
    (tmp_path / "tests").mkdir()
    shutil.copytree(str(TOP / "tests/tools"), str(tmp_path / "tests/tools"),
                    ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    for part, _minutes in (*test_all.PARTS, test_all.BESIDE):
        script(tmp_path, part, PASSES)
    return tmp_path


def script(clone, part, text):
    (clone / (part + ".sh")).write_text(text, encoding="utf-8")
    (clone / (part + ".sh")).chmod(0o755)


def run(clone, **variables):
    env = {name: value for name, value in os.environ.items() if name != test_all.LIMIT}
    return subprocess.Popen([sys.executable, "tests/tools/test_all.py"], cwd=str(clone),
                            env=dict(env, PYTHONDONTWRITEBYTECODE="1", **variables), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)


def test_all_parts_give_way_to_the_virtual_machines(clone):
    """By the nice value of each process, and by that of the session where the kernel has autogroups."""
    for part in ("unit", "molecule"):
        script(clone, part, "#!/bin/sh\necho nice $(nice)\ncat /proc/self/autogroup || true\n")
    process = run(clone)
    assert process.wait(60) == 0
    logs = [(clone / ".build/logs" / (part + ".log")).read_text(encoding="utf-8") for part in ("unit", "molecule")]
    own = os.nice(0)
    assert ["nice %d\n" % (own + more) in log for more, log in zip((test_all.NICE, 0), logs)] == [True, True]
    if os.path.exists("/proc/self/autogroup"):
        assert [re.search("autogroup-[0-9]+ nice ([0-9]+)", log).group(1) for log in logs] == [str(test_all.NICE), "0"]


def wait_for(process, *paths):
    while not all(path.exists() for path in paths):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)


@pytest.fixture
def in_clone(clone, monkeypatch):
    """This process runs the parts of the clone, with a clock that the test moves."""
    monkeypatch.setattr(test_all, "TOP", clone)
    monkeypatch.setattr(test_all, "BUILD", clone / ".build")
    monkeypatch.setattr(test_all, "SHOW_SECONDS", 0.05)
    monkeypatch.setattr(progress, "KEPT", clone / ".cache" / "test-seconds.json")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield clone
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_all_parts_run_and_are_summed_up(clone):
    script(clone, "docs", FAILS)
    process = run(clone)
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert "docs ended with status" in output and re.search(r"^6 passed, 1 failed$", output, re.MULTILINE), output
    # The next run uses the times of this run for its estimate. A failed part may have ended early, so its time is left
    # out.
    assert set(json.loads((clone / ".cache/test-seconds.json").read_text())) == {"lint", "unit", "build", "bench",
                                                                                 "sanity", "molecule"}


def test_a_run_of_a_person_has_no_clock(in_clone, capsys):
    """The clock advances by a day, and the part that caused the delay still passes: the run waits for it."""
    script(in_clone, "unit", "#!/bin/sh\ntouch $0.up\nwhile [ ! -e $0.go ]; do sleep 0.05; done\n")

    def clock():
        if not (in_clone / "unit.sh.up").exists():
            return 0
        (in_clone / "unit.sh.go").touch()
        return 86400

    assert test_all.Run(clock=clock).all()
    assert re.search(r"^-- after 1440 min: .*unit \(0 of about 20 min\)", capsys.readouterr().out, re.MULTILINE)


def test_the_limit_ends_what_runs_and_counts_what_was_not_done(in_clone, capsys):
    script(in_clone, "docs", HANGS)
    script(in_clone, "molecule", HANGS)

    def clock():
        return 85 * 60 if all((in_clone / (part + ".sh.up")).exists() for part in ("docs", "molecule")) else 0

    assert not test_all.Run(limit=85, clock=clock).all()
    output = capsys.readouterr().out
    assert (in_clone / "docs.sh.ended").exists() and (in_clone / "molecule.sh.ended").exists(), output
    for part in ("docs", "molecule"):
        assert "%s was not done after 85 minutes" % part in output
    for part in ("build", "bench", "sanity", "unit"):
        assert "%s was not started within 85 minutes" % part in output
    assert re.search(r"^lint +passed", output, re.MULTILINE), output
    assert re.search(r"^1 passed, \d+ failed$", output, re.MULTILINE), output


def test_the_limit_comes_from_the_environment(clone):
    process = run(clone, **{test_all.LIMIT: "0"})
    output = process.communicate()[0]
    assert process.returncode == 1 and "lint was not started within 0 minutes" in output, output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(clone, number):
    script(clone, "docs", HANGS)
    script(clone, "molecule", HANGS)
    process = run(clone)
    wait_for(process, clone / "docs.sh.up", clone / "molecule.sh.up")
    process.send_signal(number)
    output = process.communicate()[0]
    assert process.returncode == 128 + number, output
    assert (clone / "docs.sh.ended").exists() and (clone / "molecule.sh.ended").exists(), output
    assert "Traceback" not in output, output


def test_what_runs_what_is_left_and_an_estimate_are_shown(in_clone, capsys):
    script(in_clone, "docs", HANGS)
    script(in_clone, "molecule", HANGS)
    shown = []

    def clock():
        """Advance by ten seconds at each call once both parts are up, until the line of a later minute is shown."""
        shown.append(capsys.readouterr().out)
        text = "".join(shown)
        if "-- after 3 min" in text:
            return 85 * 60
        clock.now += 10 if all((in_clone / (part + ".sh.up")).exists() for part in ("docs", "molecule")) else 0
        return clock.now

    clock.now = 0
    test_all.Run(limit=85, clock=clock).all()
    lines = [line for line in "".join(shown).splitlines() if line.startswith("-- after")]
    assert lines[-1].startswith("-- after 3 min: molecule (0 of about 44 min, scenario hooks, 3 of 7), docs (0 of "
                                "about 2 min, scenario"), lines
    assert re.search(r" left: build, bench, sanity, unit; about \d+ min to go, limit 85 min$", lines[-1]), lines
    # One a minute, however often the clock is read.
    assert len(lines) <= 4, lines


EXPECTED = {"lint": 60, "unit": 600, "sanity": 300, "molecule": 1200}


@pytest.mark.parametrize("done, running, left, seconds", [
    ({}, {"molecule": 0, "lint": 0}, ["unit", "sanity"], 1200),
    ({"lint": 60}, {"molecule": 300, "unit": 240}, ["sanity"], 900),
    ({"lint": 120}, {"molecule": 300, "unit": 240}, ["sanity"], 1009),
    ({"lint": 60, "unit": 1260}, {"molecule": 1400, "sanity": 60}, [], 345),
    ({"lint": 60, "unit": 600, "sanity": 300}, {"molecule": 150000}, [], 0),
], ids=["at first", "as expected", "a short part was slow", "long parts were slow", "overdue"])
def test_the_estimate(done, running, left, seconds):
    assert progress.remaining_seconds(EXPECTED, done, running, left, "molecule") == pytest.approx(seconds, rel=0.01)


def test_a_part_that_hangs_is_seen():
    assert progress.running_words("unit", 2700, 1200, 540,
                                  None) == "unit (45 min, expected about 20 min, no output for 9 min)"
    assert progress.running_words("unit", 540, 1200, 20, None) == "unit (9 of about 20 min)"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"unit": "soon"}', '{"unit": 0}'])
def test_a_damaged_record_costs_the_estimate_nothing_else(tmp_path, monkeypatch, text):
    monkeypatch.setattr(progress, "KEPT", tmp_path / "test-seconds.json")
    progress.KEPT.write_text(text, encoding="utf-8")
    assert progress.expected_seconds([("unit", 20)]) == {"unit": 1200}
