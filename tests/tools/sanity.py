# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test sanity without ignore files, with the oldest supported and the newest ansible-core that this machine can
run; with --short only with the newest one, on two Pythons."""

import concurrent.futures
import shutil
import subprocess
import sys

import cache
import cores
import pythons
from results import BUILD, TOP, VENV, Results, clean_env, copy_collection

# Two runs of about the same length, because ansible-test does one thing at a time.
HALVES = {"pylint": ("--test", "pylint"), "all but pylint": ("--skip-test", "pylint")}


def run_sanity(results, core, usable):
    path = pythons.link_all(BUILD / "pythons", usable)
    minors = ["%d.%d" % version for version in usable]
    # A separate HOME, in which ansible-test keeps whole virtual environments, one for each of its requirements.
    home = cache.entry("ansible-test", core.version, minors)
    env = clean_env(HOME=str(home), PATH="%s:%s" % (VENV / "bin", path))
    ansible_test = [core.python.parent / "ansible-test", "sanity", "--venv", "--color", "no"]
    copies = {half: copy_collection("sanity %s" % half)[1] for half in HALVES}
    for evidence in [each for copy in copies.values() for each in copy.glob("tests/strangers/*/evidence")]:
        shutil.rmtree(evidence)  # Files as people have them: other encodings, ends of lines and modes.

    def run(half, copy):
        results.run("ansible-test sanity, %s, ansible-core %s" % (half, core.version),
                    [*ansible_test, "--junit", *HALVES[half]], cwd=copy, env=env, junit=copy / "tests/output/junit")

    with cache.locked(home.name), concurrent.futures.ThreadPoolExecutor() as pool:
        subprocess.run([str(core.python), str(TOP / "tests/tools/seed_get_pip.py"), str(home / "wheels")] + minors,
                       env=env, check=True)
        # Otherwise both halves would make the same virtual environments at the same time.
        if not results.run("virtual environments of ansible-test, ansible-core %s" % core.version,
                           [*ansible_test, "--prime-venvs"], cwd=copies["pylint"], env=env):
            return
        list(pool.map(run, copies, copies.values()))


def main(short):
    results = Results("sanity")
    usable, _broken = pythons.find()
    for core in cores.lanes(results, ["newest"] if short else cores.LANES):
        # Files are compiled and imported on each Python: in a short run on the oldest and the newest one.
        run_sanity(results, core, {minor: usable[minor] for minor in usable
                                   if not short or minor in (core.node_minor, max(usable))})
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main("--short" in sys.argv[1:]))
