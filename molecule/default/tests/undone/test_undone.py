# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After state=absent: the files are what they were before the first hardening, and no module was unloaded."""

import pytest


@pytest.fixture
def configuration(snapshot):
    """configuration(label) -> {path: content, mode, owner, group}; times of what was written and put back differ."""

    def read(label):
        files = snapshot(label)["files"]
        return {path: entry[:4] for path, entry in files.items()
                if path.startswith(("etc", "run", "usr/local", "usr/lib/mod"))
                and not path.startswith("usr/lib/modules/")}

    return read


def test_files_are_byte_for_byte_as_before(configuration):
    assert configuration("undone") == configuration("broken")


def test_no_module_was_unloaded(snapshot):
    assert set(snapshot("rebooted")["modules"]) <= set(snapshot("undone")["modules"])
