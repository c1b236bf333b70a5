# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the side effects left on the controller: snapshots of the nodes, and reports about them."""

import json
import os
import pathlib

import pytest

FOLDER = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])


@pytest.fixture
def node(host):
    return host.backend.get_pytest_id().split("://")[-1]


@pytest.fixture
def snapshot(node):
    """snapshot(label) -> what snapshot.py printed on this node then"""
    return lambda label: json.loads((FOLDER / "snapshots" / label / (node + ".json")).read_text())


@pytest.fixture
def findings(node):
    """findings(label, status) -> {(check, subject): observed} of this node's report"""

    def read(label, status):
        report = json.loads((FOLDER / "reports" / label / "nodes" / (node + ".json")).read_text())
        return {(row["check"], row["subject"]): row["observed"] for row in report["findings"] if row["status"] == status}

    return read
