# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests: all of them on the controller's Python, those of module_utils on every Python this machine has, and those of
what runs inside Ansible on the oldest supported and the newest ansible-core, each with a real run against this machine."""

import sys

import cores
import pythons
from results import BUILD, TOP, VENV, Results, clean_env, make_venv

NODE_TESTS = "tests/unit/plugins/module_utils"
CORE_TESTS = ("plugin_utils", "action", "filter", "modules")


def run_pytest(results, what, python, *tests, **variables):
    junit = BUILD / "results" / ("%s.xml" % "".join(char if char.isalnum() else "-" for char in what))
    junit.unlink(missing_ok=True)
    # Each Python writes its own byte code: not into the tree that others read at the same time.
    results.run(what, [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", junit] + list(tests),
                env=clean_env(PYTHONDONTWRITEBYTECODE="1", **variables), junit=junit)


def main():
    results = Results("unit")
    run_pytest(results, "all, Python %d.%d.%d" % sys.version_info[:3], VENV / "bin/python", "tests/unit")
    usable, broken = pythons.find()
    for (_major, minor), (path, version) in usable.items():
        what = "module_utils, Python %s" % version
        venv = make_venv("unit-3.%d" % minor, path, "-r", str(TOP / "tests/unit/requirements.txt"))
        if venv:
            run_pytest(results, what, venv / "bin/python", NODE_TESTS)
        else:
            results.add(what + ": no virtual environment", 0, 1)
    for (_major, minor), path in broken.items():
        results.left_out("module_utils, Python 3.%d" % minor, "%s does not run or has no venv" % path)
    oldest = pythons.OLDEST
    if oldest not in usable and oldest not in broken:
        results.left_out("module_utils, Python %d.%d" % oldest, "this machine has none; vermin reads the syntax instead")
    for core in cores.lanes(results):
        tests = [str(path) for path in (TOP / "tests/unit/plugins" / name for name in CORE_TESTS) if path.is_dir()]
        run_pytest(results, "ansible-core %s" % core.version, core.python, *tests)
        run_pytest(results, "ansible-core %s, preflight.yml --check" % core.version, core.python,
                   "tests/tools/test_preflight.py", KUBENODE_NODE_PYTHON=str(core.node_python))
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
