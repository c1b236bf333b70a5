# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states that were made on a real Kubernetes node, as stored evidence: the first finding names the cause, its fix
has the command, no other check of high severity fails, and states without harm have no finding of high severity.

States that iptables or nft alone make are also made live in namespaces, with the rules and answers of a real
kube-proxy: broken, judged, mended by the command that is printed, and judged again."""

import json
import os
import shutil
import subprocess
import sys

import broken_node
import pytest
import real_node
from case_rows import cases
from node_processes import needs_mounts, python_path

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube import (
    kube_proxy_process, kube_proxy_running)


@cases
def test_a_state_is_named_by_its_cause(change, high, unknown, cause, fix, tmp_path, monkeypatch):
    # No pauses, and a slow machine does not make an answer late.
    monkeypatch.setattr(kube_proxy_process, "_PAUSE", 0.01)
    monkeypatch.setattr(kube_proxy_process, "APART_SECONDS", 0.05)
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


def scene(**fields):
    """[high findings before, the command, high findings after]."""
    # kube-proxy is a child of the program, so it has the same arguments.
    mode = "--proxy-mode=" + ("nftables" if fields["backend"] == "nftables" else "iptables")
    done = subprocess.run(
        ["unshare", "-npfm", "--mount-proc", sys.executable, broken_node.__file__, json.dumps(fields), mode],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()), check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    return json.loads(done.stdout.decode("utf-8").splitlines()[-1])


def proved(found, high, cause, command, after):
    before, ran, left = found
    assert list(dict.fromkeys(row["check"] for row in before)) == high, before
    first = before[0]
    assert cause in "%(title)s %(subject)s %(observed)s %(reason)s" % first, first
    assert not command or ran in first["remediation"], first["remediation"]
    assert sorted({row["check"] for row in left}) == after, left


@needs_mounts
@pytest.mark.parametrize("backend", ["nft", "legacy"])
@cases
def test_the_printed_command_mends(broken, high, cause, command, instead, then, keeps, after, backend):
    if not shutil.which("iptables-%s-restore" % backend):
        pytest.skip("no iptables of this backend")
    proved(scene(backend=backend, broken=broken, command=command, instead=instead, then=then, keeps=keeps),
           high, cause, command, after)


@needs_mounts
def test_a_deleted_table_of_nftables_mode():
    found = scene(backend="nftables", broken="nft delete table ip kube-proxy", command="", instead="true",
                  then="kube-proxy", keeps=False)
    proved(found, ["CHAIN001", "KPROXY006", "KPROXY015"],
           "kube-proxy runs in nftables mode, but this table does not exist", "", [])
    assert found[0][0]["remediation"].startswith("Restart kube-proxy") and "CANARY" not in found[0][0]["remediation"]
