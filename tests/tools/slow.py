# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the unit tests and writes tests/unit/slow.txt: the tests that `make test` leaves to `make test-all`."""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys

import pytest
from results import BUILD, TOP, clean_env
from unit import PLUGIN_TESTS, UNIT, trees

# Seconds of CPU time, with that of processes that a test starts: a busy machine gives the same list. A test of a
# playbook starts Ansible, which takes some seconds each time, and `make test` has to run some of them.
SLOW, SLOW_PLAYBOOK = 0.1, 3.0
# The rules for all files, which no source belongs to.
ALWAYS = ("test_house.py", "test_words.py", "test_import_law.py")
LIST = TOP / "tests" / "unit" / "slow.txt"
HEAD = """\
# Written by `make slow`: cases that take %g seconds of CPU time or more (of playbooks: %g), and tests of which all cases
# do on average.
"""
# Two processes of about the same length.
HALVES = {"plugins": [PLUGIN_TESTS], "others": [UNIT, "--ignore", PLUGIN_TESTS]}


def cpu_seconds():
    return sum(os.times()[:4])


class Meter:
    """Notes the seconds of each case; what a fixture of several cases takes counts for the first of them."""

    def __init__(self):
        self.seconds = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        before = cpu_seconds()
        yield
        self.seconds[item.nodeid] = cpu_seconds() - before


def measure(file, tests):
    """Run tests in this process and write {id of a case: seconds} into a file."""
    meter = Meter()
    status = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[meter])
    with open(file, "w", encoding="utf-8") as out:
        json.dump(meter.seconds, out)
    return status


def measured(half):
    """Return {id of a case: seconds} of one half of the tests, measured in a process of its own."""
    file = BUILD / "results" / ("slow-%s.json" % half)
    file.parent.mkdir(parents=True, exist_ok=True)
    with trees() as folder:
        subprocess.run([sys.executable, __file__, str(file), *HALVES[half]], cwd=str(TOP), check=False,
                       env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder), stdin=subprocess.DEVNULL)
    return json.loads(file.read_text(encoding="utf-8"))


def slow_of(seconds):
    """Return the lines of the list for {id of a case: seconds}; a test without its cases stands for all of them."""
    tests = collections.defaultdict(list)
    for case, taken in seconds.items():
        tests[case.partition("[")[0]].append(taken)
    slow = {test for test, taken in tests.items() if sum(taken) / len(taken) >= limit_of(test)}
    return sorted(slow | {case for case, taken in seconds.items()
                          if taken >= limit_of(case) and case.partition("[")[0] not in slow})


def limit_of(case):
    if case.startswith(ALWAYS):
        return float("inf")
    return SLOW_PLAYBOOK if case.startswith("playbooks/") else SLOW


def main():
    seconds = {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for half in pool.map(measured, HALVES):
            seconds.update(half)
    lines = slow_of(seconds)
    LIST.write_text(HEAD % (SLOW, SLOW_PLAYBOOK) + "".join(line + "\n" for line in lines), encoding="utf-8")
    of_slow = sum(taken for case, taken in seconds.items() if case in lines or case.partition("[")[0] in lines)
    print("  %s: %d lines; %d of %d seconds, %d cases"
          % (LIST.relative_to(TOP), len(lines), of_slow, sum(seconds.values()), len(seconds)))


if __name__ == "__main__":
    sys.exit(measure(sys.argv[1], sys.argv[2:]) if sys.argv[1:] else main())
