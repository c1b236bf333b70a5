# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module xtables_lock_facts, run as Ansible runs it: its options work, and its RETURN documents every key."""

import json
import os
import subprocess
import sys

import pytest

import node_tree
from documented_return import differences, documented
from module_runs import RUNNER, run_module
from node_manifests import node
from node_processes import needs_mounts, python_path

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

# A pid namespace with a lock holder, a waiter, an agent and a restore that hangs; all of them end with the namespace.
SCENE = """\
lock=$1 python=$2 runner=$3 arguments=$4
printf kube-proxy >/proc/$$/comm
flock $lock sleep 600 &
mkfifo $lock.pipe
(exec -a iptables-restore "$python" -c "open('/proc/self/comm', 'w').write('iptables-restor'); open('$lock.pipe')") &
sleep 1.5
flock $lock true &
sleep 0.5
"$python" -c "$runner" xtables_lock_facts "$arguments"
true
"""


def test_an_image_has_no_lock(tmp_path):
    _code, result = run_module("xtables_lock_facts", root=node_tree.unpack(node(), tmp_path), window_seconds=60,
                               _ansible_check_mode=True)
    section = result["ansible_facts"]["node_xtables_lock"]
    assert result["changed"] is False and set(section["collected"].values()) == {"absent"} and section["sample"] is None


@needs_mounts
def test_everything_that_is_returned_is_documented(tmp_path):
    lock = str(tmp_path / "lock")
    asked = {"path": lock, "hung_after_seconds": 1, "window_seconds": 1, "place": "live"}
    done = subprocess.run(["unshare", "-pf", "--mount-proc", "bash", "-c", SCENE, "scene", lock, sys.executable, RUNNER,
                           json.dumps(asked)], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, PYTHONPATH=python_path()))
    section = json.loads(done.stdout.decode("utf-8"))["ansible_facts"]["node_xtables_lock"]
    assert (section["holder"] and section["waiters"] and section["hung"] and section["agents"]
            and section["sample"]["holders"])
    described = documented("xtables_lock_facts", "node_xtables_lock")
    assert differences(section, described) == []
    # Nothing here runs in a container.
    container = {"id", "name", "pod", "namespace", "pod_uid"}
    assert [set(described["contains"][key]["contains"]["container"]["contains"])
            for key in ("holder", "waiters", "hung", "agents")] == [container] * 4
