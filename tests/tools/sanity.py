# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test sanity without ignore files, with the oldest supported and the newest ansible-core that this machine can
run; with --short only with the newest one, on two Pythons."""

import subprocess
import sys

import cache
import cores
import pythons
from results import BUILD, TOP, VENV, Results, clean_env, copy_collection


def run_sanity(results, core, usable):
    _path, copy = copy_collection("sanity")
    junit = copy / "tests" / "output" / "junit"
    path = pythons.link_all(BUILD / "pythons", usable)
    minors = ["%d.%d" % version for version in usable]
    # A separate HOME, in which ansible-test keeps whole virtual environments, one for each of its requirements.
    home = cache.entry("ansible-test", core.version, minors)
    env = clean_env(HOME=str(home), PATH="%s:%s" % (VENV / "bin", path))
    with cache.locked(home.name):
        subprocess.run([str(core.python), str(TOP / "tests/tools/seed_get_pip.py"), str(home / "wheels")] + minors,
                       env=env, check=True)
        results.run("ansible-test sanity, ansible-core %s" % core.version,
                    [core.python.parent / "ansible-test", "sanity", "--venv", "--junit", "--color", "no"],
                    cwd=copy, env=env, junit=junit)


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
