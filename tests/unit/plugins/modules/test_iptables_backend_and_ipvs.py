# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules iptables_backend_facts and ipvs_facts, run as Ansible runs them: RETURN documents every key."""

import json
import os
import subprocess
import sys

import pytest

import node_tree
from documented_return import differences, documented
from ip_vs import HEADING, four, mark, real
from iptables_programs import program
from module_runs import RUNNER, run_module
from node_manifests import merged, node
from node_processes import needs_mounts, python_path

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

# A network namespace and a pid namespace with rules in both backends and an agent in a container.
SCENE = """\
tree=$1 python=$2 runner=$3 module=$4 arguments=$5
{ iptables-nft -t mangle -N KUBE-IPTABLES-HINT; iptables-legacy -A INPUT -p tcp --dport 22 -j ACCEPT; } >&2
"$python" -c "
import os, time
open('/proc/self/comm', 'w').write('kube-proxy')
os.chroot('$tree')
time.sleep(600)" &
until [ "$(cat /proc/$!/comm)" = kube-proxy ]; do sleep 0.05; done
sleep 0.2
"$python" -c "$runner" "$module" "$arguments"
"""


@needs_mounts
def test_iptables_backend_facts_of_a_live_place(tmp_path):
    tree = node_tree.unpack({"usr/sbin/iptables": node_tree.executable(program("nft", "1.8.7"))},
                            tmp_path / "container")
    done = subprocess.run(["unshare", "-n", "-pf", "--mount-proc", "bash", "-c", SCENE, "scene", tree, sys.executable,
                           RUNNER, "iptables_backend_facts", json.dumps({"place": "live"})], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True,
                          env=dict(os.environ, PYTHONPATH=python_path(), XTABLES_LOCKFILE=str(tmp_path / "lock")))
    assert not done.stderr.strip(), done.stderr.decode("utf-8")
    result = json.loads(done.stdout.decode("utf-8"))
    section = result["ansible_facts"]["node_iptables_backend"]
    assert result["changed"] is False and section["mixing"]["verdict"] == "suspicious"
    assert [(row["comm"], row["version"], row["status"])
            for row in section["containers"]] == [("kube-proxy", "1.8.7", "ok")]
    assert {row["backend"] for row in section["sets"]} == {"nft", "legacy"} and section["binaries"][0]["alternative"]
    assert differences(section, documented("iptables_backend_facts", "node_iptables_backend")) == []


IPVS = merged(node(),
              {
                  "proc/net/ip_vs": HEADING + four("10.96.0.1", 443) + real("10.244.0.7", 6443) + mark(7, "wlc"),
                  "proc/net/dev": "kube-ipvs0: 0\n", "proc/net/fib_trie": "", "proc/net/if_inet6": ""})


def test_ipvs_facts(tmp_path):
    _code, result = run_module("ipvs_facts", root=node_tree.unpack(IPVS, tmp_path), place="live",
                               _ansible_check_mode=True)
    section = result["ansible_facts"]["node_ipvs"]
    assert (result["changed"], section["virtual_servers"], section["without_real_servers_count"]) == (False, 2, 1)
    assert section["dummy_interface"] == {
        "present": True, "addresses": None, "missing_addresses": 1,
        "missing_examples": section["dummy_interface"]["missing_examples"]}
    documentation = documented("ipvs_facts", "node_ipvs")
    assert differences(section, documentation) == []
    # No program of a tree is run, so there are no sets.
    assert set(documentation["contains"]["ipsets"]["contains"]) == {"name", "entries", "size_limit"}


@pytest.mark.parametrize("module, section",
                         [("iptables_backend_facts", "node_iptables_backend"), ("ipvs_facts", "node_ipvs")])
def test_an_image_and_bad_input(module, section, tmp_path):
    found = run_module(module, root=node_tree.unpack(IPVS, tmp_path))[1]["ansible_facts"][section]
    assert differences(found, documented(module, section)) == []
    result = run_module(module, root="/no/such/folder")[1]
    assert result["failed"] is True and "is not a directory" in result["msg"]
