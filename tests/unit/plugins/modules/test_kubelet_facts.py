# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module kubelet_facts, run as Ansible runs it; its RETURN documents every key."""

import json
import subprocess
import sys

import pytest

import node_tree
from documented_return import differences, documented
from fake_tools import LIVE, unpacked
from kubelet_node import CONFIG, dump, journal, rules, runs, said, systemd
from module_runs import RUNNER, run_module
from node_manifests import node, process
from node_processes import needs_mounts, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kubelet import collect_kubelet

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

# A process that is named kubelet and only sleeps, in a pid namespace of its own.
SCENE = """\
(exec -a kubelet "$1" -c "import time; open('/proc/self/comm', 'w').write('kubelet'); time.sleep(60)" --port=10260) &
sleep 1
"$1" -c "$2" kubelet_facts "$3"
true
"""


def test_everything_that_is_returned_is_documented(tmp_path):
    section = collect_kubelet(
        unpacked(
            tmp_path, runs(arguments=("--config=/c",)), {"c": CONFIG}, rules(dump("ipv4", hint=False, canaries=())),
            systemd(), journal(said("ipv4", True))), LIVE)
    assert section["unit"] and section["initialisation"]["failed"] == ["ipv4"]
    described = documented("kubelet_facts", "node_kubelet")
    assert differences(section, described) == []
    assert set(described["contains"]["collected"]["sample"]) == set(section["collected"])


def test_an_image_runs_none(tmp_path):
    tree = node_tree.unpack(dict(node(), **process(5, "kubelet", ["kubelet"])), tmp_path)
    code, result = run_module("kubelet_facts", root=tree, _ansible_check_mode=True)
    section = result["ansible_facts"]["node_kubelet"]
    assert (code, result["changed"], section["running"], section["unit"],
            section["initialisation"]) == (0, False, False, None, None)
    assert run_module("node_facts", root=tree, gather_subset=["kubelet"])[1]["ansible_facts"] == result["ansible_facts"]


@needs_mounts
def test_a_real_process(tmp_path):
    done = subprocess.run(["unshare", "-pf", "--mount-proc", "bash", "-c", SCENE, "scene", sys.executable, RUNNER,
                           json.dumps({"place": "live"})], stdout=subprocess.PIPE,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": python_path()}, check=True)
    section = json.loads(done.stdout.decode("utf-8"))["ansible_facts"]["node_kubelet"]
    assert (section["running"], section["distribution"], section["settings"]["port"]) == (True, "kubelet", 10260)
    assert 0.5 < section["started_seconds_ago"] < 60 and section["initialisation"]["expected"] is True
    # The program of the process is this interpreter, which the module does not ask for the version of a kubelet.
    assert (section["version"] is None
            and {row["state"] for row in section["initialisation"]["families"]} <= {"starting", "unused", "unknown"})
