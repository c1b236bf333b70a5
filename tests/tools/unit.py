# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests: all tests on the controller's Python, the tests of module_utils on the oldest Python of this machine, and
the tests of code that runs inside Ansible on the oldest supported and the newest ansible-core, each with a real run
against this machine."""

import concurrent.futures
import os
import shutil
import sys
import tempfile

import cores
import pythons
from results import BUILD, TOP, VENV, Results, clean_env, make_venv

PLUGIN_TESTS = "tests/unit/plugins"
NODE_TESTS = PLUGIN_TESTS + "/module_utils"
CORE_TESTS = ("plugin_utils", "action", "filter", "modules")
# The collection syncs its files to the disk. With their trees in memory, if there is enough, the tests take half the
# time.
MEMORY, ROOM = "/dev/shm", 2 << 30


def place_for_trees():
    """A folder in memory if it has enough room, otherwise None for the usual folder of temporary files."""
    return MEMORY if os.path.ismount(MEMORY) and shutil.disk_usage(MEMORY).free >= ROOM else None


def run_pytest(results, what, python, *tests, **variables):
    """Run tests as one row; return the file of their results."""
    junit = BUILD / "results" / ("%s.xml" % "".join(char if char.isalnum() else "-" for char in what))
    junit.unlink(missing_ok=True)
    seed = ["--hypothesis-seed", os.environ["KUBENODE_SEED"]] if os.environ.get("KUBENODE_SEED") else []
    # Write no byte code into the tree, because other Pythons read it at the same time.
    with tempfile.TemporaryDirectory(prefix="kubenode-netfilter-", dir=place_for_trees()) as folder:
        os.chmod(folder, 0o1777)  # Like /tmp, because some tests unpack and read their tree as another user.
        results.run(what, [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", junit] + seed
                    + list(tests), env=clean_env(PYTHONDONTWRITEBYTECODE="1", TMPDIR=folder, **variables), junit=junit)
    return junit


def run_on_node_python(results, minor, path, version):
    what = "module_utils, Python %s" % version
    venv = make_venv("unit-%d.%d" % minor, path, "-r", str(TOP / "tests/unit/requirements.txt"))
    if venv:
        # It only has to show that the code runs there; input is damaged at random on the controller's Python.
        run_pytest(results, what, venv / "bin/python", "-m", "not robust", NODE_TESTS)
    else:
        results.add(what + ": no virtual environment", 0, 1)


def run_in_core(results, core):
    tests = ["tests/unit/plugins/" + name for name in CORE_TESTS]
    # Tests that damage input at random do not run again on other ansible-cores.
    run_pytest(results, "ansible-core %s" % core.version, core.python, "-m", "not robust", *tests)
    run_pytest(results, "ansible-core %s, preflight.yml --check" % core.version, core.python,
               "tests/tools/test_preflight.py", KUBENODE_NODE_PYTHON=str(core.node_python))


def main():
    results = Results("unit")
    usable, broken = pythons.find()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        # Two rows of about the same length, so that no core is idle at the end.
        here = VENV / "bin/python", "Python %d.%d.%d" % sys.version_info[:3]
        jobs = [pool.submit(run_pytest, results, "plugins, " + here[1], here[0], PLUGIN_TESTS),
                pool.submit(run_pytest, results, "playbooks, pages and tools, " + here[1], here[0], "tests/unit",
                            "--ignore", PLUGIN_TESTS)]
        oldest = min(usable, default=sys.version_info[:2])
        if oldest < sys.version_info[:2]:
            jobs.append(pool.submit(run_on_node_python, results, oldest, *usable[oldest]))
        jobs += [pool.submit(run_in_core, results, core) for core in cores.lanes(results)]
        for job in jobs:
            job.result()
    for minor, path in broken.items():
        results.left_out("module_utils, Python %d.%d" % minor, "%s does not run or has no venv" % path)
    if pythons.OLDEST not in usable and pythons.OLDEST not in broken:
        results.left_out("module_utils, Python %d.%d" % pythons.OLDEST,
                         "this machine has none; vermin reads the syntax instead")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
