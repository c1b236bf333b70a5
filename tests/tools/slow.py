# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the unit tests and writes tests/unit/slow.txt: the tests that `make test` leaves to `make test-all`.

Usage: slow.py [TEST ...]      of these tests only, and prints the list instead of writing it
"""

import collections
import os
import sys
import tempfile

import pytest
from results import TOP
from unit import UNIT, place_for_trees

# CPU time, with that of processes that a test starts: a busy machine gives the same list.
SLOW = 0.8
LIST = TOP / "tests" / "unit" / "slow.txt"
HEAD = """\
# Written by `make slow`: cases that take %g seconds of CPU time or more, and tests of which all cases do on average.
"""


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


def slow_of(seconds):
    """Return the lines of the list for {id of a case: seconds}; a test without its cases stands for all of them."""
    tests = collections.defaultdict(list)
    for case, taken in seconds.items():
        tests[case.partition("[")[0]].append(taken)
    slow = {test for test, taken in tests.items() if sum(taken) / len(taken) >= SLOW}
    return sorted(slow | {case for case, taken in seconds.items()
                          if taken >= SLOW and case.partition("[")[0] not in slow})


def main(tests):
    meter = Meter()
    with tempfile.TemporaryDirectory(prefix="kubenode-netfilter-", dir=place_for_trees()) as folder:
        os.chmod(folder, 0o1777)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        status = pytest.main(["-q", "-p", "no:cacheprovider", *(tests or [str(TOP / UNIT)])], plugins=[meter])
    lines = slow_of(meter.seconds)
    if tests:
        print("\n".join(lines))
    else:
        LIST.write_text(HEAD % SLOW + "".join(line + "\n" for line in lines), encoding="utf-8")
    of_slow = sum(taken for case, taken in meter.seconds.items()
                  if case in lines or case.partition("[")[0] in lines)
    print("  %d lines; %d of %d seconds" % (len(lines), of_slow, sum(meter.seconds.values())))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
