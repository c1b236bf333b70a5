# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of a real Kubernetes node that iptables or nft alone make, live in namespaces, with the rules and answers
of a real kube-proxy: broken, judged, mended by the command that is printed, and judged again."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import broken_node
import pytest
from case_rows import cases
from node_processes import needs_mounts, python_path

PROGRAM = pathlib.Path(broken_node.__file__)


def scene(**fields):
    """[high findings before, the command, high findings after]."""
    # kube-proxy is a child of the program, so it has the same arguments.
    mode = "--proxy-mode=" + ("nftables" if fields["backend"] == "nftables" else "iptables")
    done = subprocess.run(
        ["unshare", "-npfm", "--mount-proc", sys.executable, str(PROGRAM), json.dumps(fields), mode],
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
