# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that were made on a real Kubernetes node, as stored evidence: the first finding names the cause, its fix
has the command, no other check of high severity fails, and states without harm have no finding of high severity."""

import pytest
import real_node
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube import (
    kube_proxy_process, kube_proxy_running)


@pytest.fixture(autouse=True)
def times(monkeypatch):
    """No pauses, and a slow machine does not make an answer late."""
    monkeypatch.setattr(kube_proxy_process, "_PAUSE", 0.01)
    monkeypatch.setattr(kube_proxy_process, "APART_SECONDS", 0.05)


@cases
def test_a_state_is_named_by_its_cause(change, high, unknown, cause, fix, tmp_path, monkeypatch):
    if not change.get("silent"):
        monkeypatch.setattr(kube_proxy_running, "SECONDS", 60)
    found = real_node.findings(tmp_path, change)
    failing = [row for row in found if row["status"] == "fail"]
    assert list(dict.fromkeys(row["check"] for row in failing if row["severity"] == "high")) == high, failing
    assert sorted({row["check"] for row in found if row["status"] == "unknown"}) == unknown, [
        row for row in found if row["status"] == "unknown"]
    if cause:
        first = failing[0]
        assert cause in "%(title)s %(subject)s %(observed)s %(reason)s" % first and fix in first["remediation"], first
