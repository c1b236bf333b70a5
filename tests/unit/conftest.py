# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.kubenode.netfilter` importable from a checkout, with and without Ansible.

Without `__init__.py` the folders are namespace packages, so that a bare Python finds them below sys.path.
"""

import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LINK = TOP / ".build" / "ansible_collections" / "kubenode" / "netfilter"

if not os.path.lexists(str(LINK)):
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(os.path.join("..", "..", ".."), target_is_directory=True)
# Helpers shared by tests lie beside this file, nodes and texts to look at in tests/fixtures, the tables of checks in
# tests/checks, what the tests and make share in tests/tools.
sys.path[:0] = [str(TOP / ".build"), *(str(TOP / "tests" / name) for name in ("unit", "fixtures", "checks", "tools"))]

from documented_evidence import watch_collectors

watch_collectors()


SLOW = {line for line in (TOP / "tests/unit/slow.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")}


def pytest_collection_modifyitems(items):
    """What a test with a long version tries, from its marker, for the table of `make robust`; a test that only knows
    afterwards uses record_property. And the mark `slow`, from the list of the slow tests."""
    for item in items:
        name = item.nodeid
        if name in SLOW or name.partition("[")[0] in SLOW:
            item.add_marker("slow")
        for marker in item.iter_markers("robust"):
            item.user_properties.extend(marker.kwargs.items())
