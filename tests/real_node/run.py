# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a real node of Kubernetes into the states of states.yml, and writes what users lost, what was reported and
whether the printed fix mends it to docs/real-node.md. Needs root.

    run.py [--only WORD] FOLDER     FOLDER: Kubernetes programs, see binaries.py; WORD: a part of the name of a state

Everything runs in new namespaces: when this process ends, the kernel ends all processes and mounts of the run.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

import binaries
import cgroups
import table
import trees

# The kernel kills all processes of a PID namespace when its first one ends (pid_namespaces(7)).
NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--propagation", "private", "--pid",
              "--fork", "--kill-child", "--mount-proc")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("folder", nargs="?", default="")
    asked = parser.parse_args()
    problem = binaries.problem(asked.folder) or cgroups.problem()
    if os.geteuid():
        problem = "namespaces, mounts and rules are made: run it as root"
    if problem:
        sys.exit("real-node: " + problem)
    states = table.read_states()
    wanted = [state["state"] for state in states if asked.only in state["state"]]
    if not wanted:
        sys.exit("real-node: no state has %r in its name" % asked.only)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    made = cgroups.make("real-node-%d" % os.getpid())
    try:
        with tempfile.TemporaryDirectory(prefix="real-node-") as folder:
            status = subprocess.run(
                [*NAMESPACES, sys.executable, str(HERE / "inside.py"), folder, str(trees.folder()),
                 os.path.abspath(asked.folder), "real-node-%d" % os.getpid(), *wanted], check=False).returncode
    finally:
        cgroups.remove(made)
    table.write(states)
    return status


if __name__ == "__main__":
    sys.exit(main())
