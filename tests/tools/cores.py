# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ansible-cores to test with: the oldest supported one, and the newest for the newest Python of this machine."""

import collections
import subprocess

import pythons
from results import make_venv

# `node_python` is the oldest Python of this machine that the core drives on a node, and `node_minor` its version.
Core = collections.namedtuple("Core", "version python node_python node_minor")

# For each lane: the requirement for pip, the oldest and newest Python of a controller (open for `newest`, because pip
# knows the limit), and the oldest Python that it drives on a node.
LANES = {
    "2.16": {"requirement": "ansible-core>=2.16,<2.17", "pythons": ((3, 10), (3, 12)), "node": (3, 6)},
    "newest": {"requirement": "ansible-core>=2.18", "pythons": ((3, 11), (3, 99)), "node": (3, 9)},
}


def lanes(results, names=tuple(LANES)):
    """A generator of one Core per lane of these names; adds a lane that cannot run to `results`, with the reason."""
    usable, _broken = pythons.find()
    for name in names:
        lane = LANES[name]
        oldest, youngest = lane["pythons"]
        fitting = [minor for minor in usable if oldest <= minor <= youngest]
        if not fitting:
            results.left_out("ansible-core " + name, "this machine has no Python %d.%d to %d.%d" % (oldest + youngest))
            continue
        venv = make_venv("core-" + name, usable[fitting[-1]][0], lane["requirement"],
                         "-r", "requirements.txt", "-r", "tests/unit/requirements.txt",
                         "-r", "tests/fixtures/requirements.txt")
        if venv is None:
            results.add("ansible-core %s: no virtual environment" % name, 0, 1)
            continue
        python = venv / "bin" / "python"
        asked = [str(python), "-c", "import ansible.release as release; print(release.__version__)"]
        version = subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        node_minor = min(minor for minor in usable if minor >= lane["node"])
        yield Core(version, python, usable[node_minor][0], node_minor)
