# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/cni, and the evidence of each."""

import os
import pathlib

import looks
import pytest
from cni_leases import FOLDER
from node_sections import collect_sections

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.cni.files import runtime_of


def old_leases(tree, place, young=()):
    """The section of a node whose leases are old, but those named `young`."""
    for path in pathlib.Path(tree, FOLDER).iterdir():
        if path.name not in young:
            os.utime(str(path), (1e9, 1e9))
    return collect_sections(["cni"], tree, place)["node_cni"]


def runtime(tree, place):
    found = runtime_of(Host(tree), {"place": place})
    return {name: getattr(found, name) for name in ("name", "source", "conf_dir", "bin_dirs", "status")}


@pytest.mark.parametrize("case", looks.cases("cni"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"old_leases": old_leases, "runtime": runtime})
