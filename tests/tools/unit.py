# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests: all on the controller's Python, what runs inside Ansible on the oldest supported and the newest
ansible-core, each with a real run against this machine, and the code of the node on the oldest Python of this machine.

With --short, as in `make test`: all but the slow ones once, on the newest Python with the newest ansible-core, and the
slow ones of files that changed since main~20.
"""

import concurrent.futures
import contextlib
import os
import shutil
import sys
import tempfile

import cores
import pythons
from changes import NoBase, base_of, changed_files
from mirror import is_test, tests_of
from results import BUILD, TOP, VENV, Results, clean_env, make_venv

UNIT = "tests/unit"
PLUGIN_TESTS = UNIT + "/plugins"
# What may differ between ansible-cores.
CORE_TESTS = [PLUGIN_TESTS + "/action", PLUGIN_TESTS + "/modules", UNIT + "/playbooks"]
# What may differ between Pythons of a node: the code that touches the machine, a look at each tree, and the corpus.
NODE_TESTS = [PLUGIN_TESTS + "/module_utils/_host", PLUGIN_TESTS + "/module_utils/_look/test_each_tree.py",
              PLUGIN_TESTS + "/module_utils/_look/test_node.py",
              UNIT + "/test_hooks_corpus.py::test_nothing_is_missed_and_nothing_is_told_that_is_none"]
NOT_SLOW = ("-m", "not slow")
# The changes whose slow tests `make test` runs, and the seconds within which these have to begin.
SINCE, SLOW_SECONDS = "main~20", 45
# The collection syncs its files to the disk. With their trees in memory, if there is enough, the tests take half the
# time.
MEMORY, ROOM = "/dev/shm", 2 << 30


def place_for_trees():
    """A folder in memory if it has enough room, otherwise None for the usual folder of temporary files."""
    return MEMORY if os.path.ismount(MEMORY) and shutil.disk_usage(MEMORY).free >= ROOM else None


@contextlib.contextmanager
def trees():
    """The path of a new folder for the trees of tests. Like /tmp it is open to all, because some tests unpack and read
    their tree as another user."""
    with tempfile.TemporaryDirectory(prefix="kubenode-netfilter-", dir=place_for_trees()) as folder:
        os.chmod(folder, 0o1777)
        yield folder


def run_pytest(results, what, python, *tests, seconds=None, **variables):
    """Run tests as one row, only as many as begin within `seconds`; return the file of their results."""
    junit = BUILD / "results" / ("%s.xml" % "".join(char if char.isalnum() else "-" for char in what))
    junit.unlink(missing_ok=True)
    seed = ["--hypothesis-seed", os.environ["KUBENODE_SEED"]] if os.environ.get("KUBENODE_SEED") else []
    pytest = ["tests/tools/pytest_until.py", str(seconds)] if seconds else ["-m", "pytest"]
    # Write no byte code into the tree, because other Pythons read it at the same time.
    with trees() as folder:
        results.run(what, [python, *pytest, "-q", "-p", "no:cacheprovider", "--junit-xml", junit] + seed
                    + list(tests), env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder, **variables), junit=junit)
    return junit


def run_on_node_python(results, usable, broken):
    """Show that the code of the node runs on the oldest Python of this machine."""
    if pythons.OLDEST not in usable:
        why = ("%s does not run or has no venv" % broken[pythons.OLDEST] if pythons.OLDEST in broken else
               "this machine has none; vermin reads the syntax instead")
        results.left_out("the node's code, Python %d.%d" % pythons.OLDEST, why)
    oldest = min(usable, default=sys.version_info[:2])
    if oldest >= sys.version_info[:2]:
        return
    path, version = usable[oldest]
    what = "the node's code, Python %s" % version
    venv = make_venv("unit-%d.%d" % oldest, path, "-r", "tests/unit/requirements.txt")
    if venv:
        run_pytest(results, what, venv / "bin/python", *NOT_SLOW, *NODE_TESTS)
    else:
        results.add(what + ": no virtual environment", 0, 1)


def run_in_core(results, core, *tests):
    if tests:
        run_pytest(results, "actions, modules and playbooks, ansible-core %s" % core.version, core.python, *tests)
    run_pytest(results, "preflight.yml --check, ansible-core %s" % core.version, core.python,
               "tests/tools/test_preflight.py", KUBENODE_NODE_PYTHON=str(core.node_python))


def run_slow_of_changes(results, python):
    """Run the slow tests of files that changed since SINCE, and of sources that did."""
    what = "slow tests of what changed"
    try:
        changed = changed_files(base_of(SINCE))
    except NoBase:
        results.left_out(what, "this clone has no %s to compare with" % SINCE)
        return
    listed = {line.partition("::")[0] for line in (TOP / UNIT / "slow.txt").read_text(encoding="utf-8").splitlines()}
    tests = sorted({test for path in changed if path.parts[0] == "plugins" or is_test(path) for test in tests_of(path)
                    if os.path.relpath(test, UNIT) in listed})
    if tests:
        run_pytest(results, what, python, "-m", "slow", *tests, seconds=SLOW_SECONDS)


def all_rows(results, pool):
    """Start all tests: two rows of about the same length first, so that no core is idle at the end."""
    here = VENV / "bin/python", "Python %d.%d.%d" % sys.version_info[:3]
    yield pool.submit(run_pytest, results, "plugins, " + here[1], here[0], PLUGIN_TESTS)
    yield pool.submit(run_pytest, results, "playbooks, pages and tools, " + here[1], here[0], UNIT, "--ignore",
                      PLUGIN_TESTS)
    for core in cores.lanes(results):
        yield pool.submit(run_in_core, results, core, *CORE_TESTS)


def short_rows(results, pool):
    """Start the tests of `make test`; the newest ansible-core runs on the newest Python."""
    oldest, newest = [next(iter(cores.lanes(results, [name])), None) for name in ("2.16", "newest")]
    here = newest.python if newest else VENV / "bin/python"
    yield pool.submit(run_pytest, results, "plugins", here, *NOT_SLOW, PLUGIN_TESTS)
    yield pool.submit(run_pytest, results, "playbooks, pages and tools", here, *NOT_SLOW, UNIT, "--ignore",
                      PLUGIN_TESTS)
    if oldest:
        yield pool.submit(run_in_core, results, oldest, *NOT_SLOW, *CORE_TESTS)
    if newest:
        yield pool.submit(run_in_core, results, newest)
    yield pool.submit(run_slow_of_changes, results, here)


def main(short):
    results = Results("unit")
    usable, broken = pythons.find()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = [*(short_rows if short else all_rows)(results, pool),
                pool.submit(run_on_node_python, results, usable, broken)]
        for job in jobs:
            job.result()
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main("--short" in sys.argv[1:]))
