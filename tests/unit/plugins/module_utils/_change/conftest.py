# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records tell the time of a change; tests compare those of two runs as bytes."""

import conntrack_changes
import hook_changes
import module_changes
import node_tree
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._change import record


@pytest.fixture(autouse=True)
def one_moment(monkeypatch):
    monkeypatch.setattr(record, "_now", lambda: "2026-01-02T03:04:05Z")


@pytest.fixture
def tree(tmp_path):
    """A live node with nf_conntrack."""
    return conntrack_changes.unpacked(tmp_path)


@pytest.fixture
def azure(tmp_path):
    """A node with a unit, a script and a cron table that flush."""
    node_tree.unpack(hook_changes.AZURE, tmp_path)
    return tmp_path


@pytest.fixture
def image(tmp_path):
    """An image with two kernels."""
    node_tree.unpack(module_changes.IMAGE, tmp_path)
    return tmp_path
