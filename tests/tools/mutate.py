# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many small mistakes the tests notice: makes one at a time in a copy of the tree, runs the tests of the file, and
if they pass the tests of the files that use it; prints the share that failed and the mistakes that no test noticed."""

import argparse
import collections
import concurrent.futures
import functools
import os
import pathlib
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from mirror import tests_of, tests_of_users
from mutations import FOLDERS, apply, describe, sample
from results import TOP, clean_env
from unit import place_for_trees

# Tests of the file get this multiple of the time that they take without a mutation, and a minute. Tests of users get
# two minutes: the nearest run first, and a test that notices a mistake mostly is near. All of them take up to an hour.
TIMES, MORE_SECONDS, USERS_SECONDS = 5, 60, 120
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed", "0")
FAILED = re.compile(r"(?m)^(?:FAILED|ERROR) ([^\s:]+)")
OWN, TIMEOUT, WIDER = "killed by tests of the file", "killed by a timeout", "killed by tests of its users"
PASSED, SURVIVED, LATE = "not noticed by tests of the file", "SURVIVED", "SURVIVED for the time of tests of its users"
BROKEN, UNTESTED = "left out, its tests fail without a mutation", "left out, it has no tests"
CHILDREN = []


def end(child, folder):
    """Kill a run with all that it started: its process group, and processes that left it but keep its TMPDIR."""
    for process in [*pathlib.Path("/proc").glob("[0-9]*")]:
        try:
            if os.getpgid(int(process.name)) == child.pid or os.fsencode(folder) in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue
    child.wait()


def run(copy, tests, seconds):
    """Run tests until the first that fails; return (status of pytest, None after a timeout; seconds; output)."""
    with tempfile.TemporaryDirectory(prefix="kubenode-netfilter-", dir=place_for_trees(),
                                     ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o1777)
        started = time.monotonic()
        with open(os.path.join(folder, "output"), "w+", encoding="utf-8", errors="replace") as output:
            # The slow ones, too: `make test` runs them where the source changed.
            child = subprocess.Popen([*PYTEST, *tests], cwd=str(copy), stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True,
                                     env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder))
            CHILDREN.append((child, folder))
            try:
                status = child.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            end(child, folder)
            CHILDREN.remove((child, folder))
            output.seek(0)
            return status, time.monotonic() - started, output.read()


class Runner:
    """Copies of a tree, one a job, and what its tests do without a mutation."""

    def __init__(self, tree, jobs, place):
        self.tree, self.copies, self.unmutated = tree, queue.Queue(), {}
        for number in range(jobs):
            command = [str(tree / "tests/tools/copy_collection.sh"), "%s/%d" % (place, number)]
            self.copies.put(pathlib.Path(subprocess.check_output(command, universal_newlines=True).strip()))

    def passing_seconds(self, copy, *tests):
        """Return how long tests take without a mutation, None if one of them fails."""
        if tests not in self.unmutated:
            status, seconds, _output = run(copy, tests, None)
            self.unmutated[tests] = seconds if status == 0 else None
        return self.unmutated[tests]

    def judge(self, mutation, users=False):
        """Return what becomes of a mutation with the tests of its file, or with those of its users; print it."""
        copy = self.copies.get()
        try:
            result = (self._with_users if users else self._with_its_own)(copy, mutation)
        finally:
            self.copies.put(copy)
        print("%s: %s" % (result, describe((self.tree / mutation.path).read_bytes(), mutation)), flush=True)
        return result

    def _with_its_own(self, copy, mutation):
        tests = tests_of(mutation.path, self.tree)
        seconds = self.passing_seconds(copy, *tests) if tests else 0
        if not seconds:
            return BROKEN if tests else UNTESTED
        status, _output = self._mutated(copy, mutation, tests, TIMES * seconds + MORE_SECONDS)
        return TIMEOUT if status is None else OWN if status else PASSED

    def _with_users(self, copy, mutation):
        tests = tests_of_users(mutation.path, self.tree)
        while tests:
            status, output = self._mutated(copy, mutation, tests, USERS_SECONDS)
            if status is None:
                return LATE
            failed = FAILED.search(output)
            if not status or not failed or self.passing_seconds(copy, failed.group(1)):
                return SURVIVED if status == 0 else WIDER
            tests.remove(failed.group(1))
        return SURVIVED

    @staticmethod
    def _mutated(copy, mutation, tests, limit):
        file = copy / mutation.path
        original = file.read_bytes()
        file.write_bytes(apply(original, mutation))
        try:
            status, _seconds, output = run(copy, tests, limit)
        finally:
            file.write_bytes(original)
        return status, output


def summary(results):
    """Return the shares by folder as a table."""
    lines = ["| folder | mutations | killed by tests of the file | killed in all | survived | left out |",
             "|" + " --- |" * 6]
    for folder in (*FOLDERS, ""):
        counts = collections.Counter(result for mutation, result in results.items() if mutation.path.startswith(folder))
        out = counts[BROKEN] + counts[UNTESTED]
        own, judged = counts[OWN] + counts[TIMEOUT], sum(counts.values()) - out
        shares = ["%d (%d %%)" % (number, round(100 * number / judged)) for number in (own, own + counts[WIDER])
                  if judged] or ["", ""]
        lines.append("| %s | %d | %s | %s | %d | %d |" % (
            folder or "all", judged, *shares, counts[SURVIVED] + counts[LATE] + counts[PASSED], out))
    left = sum(result == PASSED for result in results.values())
    return "\n".join(lines + ["%d of the survivors were not run with the tests of their users" % left] * bool(left))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--only", metavar="FOLDER", help="a folder below the tree")
    parser.add_argument("--tree", type=pathlib.Path, default=TOP, help="another checkout whose code and tests are used")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    tree, results = given.tree.resolve(), {}
    if given.only and not (tree / given.only).is_dir():
        parser.error("--only %s: there is no such folder below %s" % (given.only, tree))
    waiting = sample(tree, given.seed, given.count, [given.only] if given.only else FOLDERS)
    random.Random(given.seed).shuffle(waiting)  # So that a run that is ended early has judged some of each folder.
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit("ended early"))
    with tempfile.TemporaryDirectory(prefix="kubenode-netfilter-", dir=place_for_trees()) as place:
        os.chmod(place, 0o755)  # Some tests read the tree as another user.
        runner, pool = Runner(tree, given.jobs, place), concurrent.futures.ThreadPoolExecutor(given.jobs)
        try:
            for users in (False, True):
                judge = functools.partial(runner.judge, users=users)
                for mutation, result in zip(waiting, pool.map(judge, waiting), strict=True):
                    results[mutation] = result
                waiting = sorted(mutation for mutation, result in results.items() if result == PASSED)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child, folder in list(CHILDREN):
                end(child, folder)
            print("\n" + summary(results), flush=True)
    for mutation, result in sorted(results.items()):
        if result in (SURVIVED, LATE):
            print("\n" + describe((tree / mutation.path).read_bytes(), mutation))


if __name__ == "__main__":
    main()
