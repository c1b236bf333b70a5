# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the long versions of tests that have one (marker `robust`) on all cores, and prints a table of the cases."""

import collections
import concurrent.futures
import os
import subprocess
import sys
import xml.etree.ElementTree

from results import TOP, VENV, Results, clean_env
from unit import run_pytest

PYTEST = [str(VENV / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "robust"]
LONG = {"KUBENODE_ROBUST": "1"}
TESTS = "tests/unit"


def names_of_tests():
    """Return the test functions below TESTS that have a long version; a function with parameters only once."""
    listed = subprocess.run([*PYTEST, "--collect-only", TESTS], cwd=str(TOP), env=clean_env(**LONG),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, universal_newlines=True, check=False)
    names = [line.partition("[")[0] for line in listed.stdout.splitlines() if "::" in line]
    if listed.returncode or not names:
        sys.exit(listed.stdout + "No test with a long version was found")
    return list(dict.fromkeys(names))


def count(junit):
    """Return (tried cases in words, passed cases, failed cases, seconds) of a file of results."""
    tried, cases = collections.Counter(), collections.Counter()
    seconds = 0.0
    for case in xml.etree.ElementTree.parse(str(junit)).iter("testcase") if junit.exists() else ():
        seconds += float(case.get("time", 0))
        wrong = case.find("failure") is not None or case.find("error") is not None
        cases["failed" if wrong else "skipped" if case.find("skipped") is not None else "held"] += 1
        for each in case.iter("property"):
            if each.get("value", "").isdigit():
                tried[each.get("name").replace("_", " ")] += int(each.get("value"))
    words = ["%d %s" % (number, name) for name, number in sorted(tried.items())]
    return ", ".join(words) or "%d cases" % sum(cases.values()), cases["held"], cases["failed"], seconds


def table(rows):
    """Return the counts as a table that docs/security.md can quote."""
    lines = ["| test | tried | cases that held | cases that failed | seconds |", "| --- | --- | --- | --- | --- |"]
    lines += ["| %s | %s | %d | %d | %d |" % (name, *counted) for name, counted in rows]
    return "\n".join(lines)


def main():
    results = Results("robust")
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        # Tests of whole nodes are collected last and take longest. They run first, so that no core is idle at the end.
        jobs = {name: pool.submit(run_pytest, results, name, VENV / "bin/python", "-m", "robust",
                                  "%s/%s" % (TESTS, name), **LONG) for name in reversed(names_of_tests())}
        rows = [(name.replace("::", " "), count(job.result())) for name, job in sorted(jobs.items())]
    print("\n" + table(rows), flush=True)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
