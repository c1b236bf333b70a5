# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test sanity without ignore files, with the oldest supported and the newest ansible-core that this machine can
run."""

import subprocess
import sys

import cores
import pythons
from results import BUILD, TOP, VENV, Results, clean_env, copy_collection

CACHE = TOP / ".cache" / "ansible-test"


def run_sanity(results, core, path):
    _path, copy = copy_collection("sanity")
    junit = copy / "tests" / "output" / "junit"
    # A separate HOME, in which ansible-test caches whole virtual environments.
    env = clean_env(HOME=str(CACHE), PATH="%s:%s" % (VENV / "bin", path))
    minors = ["%d.%d" % version for version in pythons.find()[0]]
    subprocess.run([str(core.python), str(TOP / "tests/tools/seed_get_pip.py"), str(CACHE / "wheels")] + minors,
                   env=env, check=True)
    results.run("ansible-test sanity, ansible-core %s" % core.version,
                [core.python.parent / "ansible-test", "sanity", "--venv", "--junit", "--color", "no"],
                cwd=copy, env=env, junit=junit)


def main():
    results = Results("sanity")
    path = pythons.link_all(BUILD / "pythons", pythons.find()[0])
    for core in cores.lanes(results):
        run_sanity(results, core, path)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
