# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cgroups of a run (v1, and v2 without controllers): those of the node are inside them, and go with them."""

import os
import pathlib
import time

FOLDER = pathlib.Path("/sys/fs/cgroup")
UNIFIED = "unified"
# The kernel refuses processes in a cpuset without these.
OF_CPUSET = ("cpuset.cpus", "cpuset.mems")


def _own():
    """{hierarchy, such as `memory`, `name=systemd` or `unified`: the folder of this process's cgroup in it}."""
    found = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _number, names, path = line.split(":", 2)
        names = names or UNIFIED
        folder = FOLDER / names.replace("name=", "")
        if folder.is_dir():
            found[names] = folder / path.lstrip("/")
    return found


def problem():
    """Why this machine's cgroups cannot be used, in one sentence; None where they can."""
    if "memory" not in _own():
        return "the hierarchies of cgroup v1 (memory, cpu, pids and others) are not mounted below /sys/fs/cgroup"
    return None


def mount(names):
    """The shell commands that mount a hierarchy of those below sys/fs/cgroup of the present folder."""
    name, kind, options = names.replace("name=", ""), "cgroup", "-o " + ("none," + names if "=" in names else names)
    if names == UNIFIED:
        kind, options = "cgroup2", ""
    return "mkdir sys/fs/cgroup/{0}; mount -t {1} {2} {1} sys/fs/cgroup/{0}; ".format(name, kind, options)


def make(*path):
    """Make cgroups inside those of this process; all but the last of `path` exist. {hierarchy: folder}."""
    made = {names: folder.joinpath(*path) for names, folder in _own().items()}
    for names, folder in made.items():
        folder.mkdir()
        if names == "cpuset":
            for file in OF_CPUSET:
                (folder / file).write_text((folder.parent / file).read_text())
    return made


def remove(made):
    """Remove the cgroups, whose processes have ended."""
    for folder in made.values():
        for inside, _folders, _files in os.walk(str(folder), topdown=False):
            for _attempt in range(50):
                try:
                    os.rmdir(inside)
                    break
                except FileNotFoundError:
                    break
                except OSError:  # The kernel still lets go of a process that has ended.
                    time.sleep(0.2)
