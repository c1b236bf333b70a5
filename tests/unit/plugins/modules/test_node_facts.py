# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module node_facts, run as Ansible runs it: each option has its effect, and RETURN documents every key."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import node_tree
from conntrack_node import LISTED, MAX_LINE, tracking
from documented_return import differences, documented
from hook_nodes import AZURE, CRON_DEBIAN, firewalld, ufw
from ip_vs import HEADING, four, mark, real
from iptables_programs import program
from kube_proxy_captures import replay
from module_runs import RUNNER, run_module, section_of
from node_manifests import merged, node, process
from node_processes import needs_mounts, python_path
from node_tree import executable

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")

ANSWERS = replay("restore-hangs/kube-proxy-1.36.3-iptables-nft", "2-70s-hanging")
# A tree with something for every section and every option.
RICH = merged(node(modules=["ip_vs", "nf_conntrack"]), AZURE, CRON_DEBIAN, firewalld(), ufw(), {
    "etc/cron.daily/maintain": executable("#!/bin/sh\nsystemctl restart iptables\n"),
    "etc/sysctl.d/a.conf": MAX_LINE % 524288, "usr/local/sbin/fw": executable("#!/bin/sh\niptables -F\n"),
    "srv/fw/a/b/c.sh": "iptables -F\n", "srv/answers/metrics": ANSWERS["/metrics"][0].decode("utf-8"),
    "srv/answers/healthz": ANSWERS["/healthz"][0].decode("utf-8")}, process(5, "kubelet", ["kubelet"]))
SECTIONS = ("cni", "conntrack", "flush_hooks", "host", "iptables_backend", "iptables_chains", "ipvs", "kernel_modules",
            "kube_proxy", "kubelet", "logs", "xtables_lock")
# Sections that other modules document.
ELSEWHERE = {"kernel_modules": "kernel_modules_facts", "iptables_chains": "iptables_chain_audit",
             "xtables_lock": "xtables_lock_facts"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return node_tree.unpack(RICH, tmp_path_factory.mktemp("node"))


def described(section):
    return documented(ELSEWHERE.get(section, "node_facts"), "node_" + section)


def by_hand(section):
    return [row["path"] for row in section["hooks"] if row["triggers"] == ["by_hand"]]


@pytest.mark.parametrize("subset, options, part, expected", [
    ("kernel_modules", {"modules": ["ip-vs"]}, lambda found: [row["name"] for row in found["modules"]], ["ip_vs"]),
    ("kernel_modules", {"kernel": "6.1.0-49-amd64"}, lambda found: found["judged_release"], "6.1.0-49-amd64"),
    ("flush_hooks", {}, by_hand, ["/usr/local/sbin/fw"]),
    ("flush_hooks", {"hook_directories": ["/srv/fw", "/not/there"]}, by_hand, ["/srv/fw/a/b/c.sh"]),
    ("flush_hooks", {"hook_directories": []}, by_hand, []),
    ("conntrack", {"top": True, "kernel_log": True, "window_seconds": 1},
     lambda found: (found["rates"], found["consumers"], found["collected"]["sysctl_d"]), (None, None, "ok")),
    ("kube_proxy", {"metrics_src": "/srv/answers/metrics", "healthz_src": "/srv/answers/healthz"},
     lambda found: (found["running"], found["version"], found["health"]["healthz_code"]), (None, "1.36.3", 503)),
    ("kube_proxy", {"metrics_src": "/srv/answers/metrics"}, lambda found: found["sync"][0]["waiting_seconds"], None),
    ("kubelet", {}, lambda found: (found["running"], found["unit"]), (False, None)),
    ("host", {"place": "container"}, lambda found: found["place"], "container")])
def test_an_option_of_a_section(subset, options, part, expected, tree):
    assert part(section_of("node_facts", root=tree, gather_subset=[subset], **options)) == expected


def test_every_key_is_documented_and_nothing_is_changed(tree):
    def state():
        return sorted((path, os.lstat(path).st_mtime, os.lstat(path).st_size)
                      for folder, folders, names in os.walk(tree)
                      for path in (os.path.join(folder, name) for name in folders + names))
    before = state()
    _code, result = run_module("node_facts", root=tree, gather_subset=SECTIONS, _ansible_check_mode=True)
    facts = result["ansible_facts"]
    assert result["changed"] is False and state() == before
    assert sorted(facts) == ["node_" + section for section in SECTIONS]
    for section in SECTIONS:
        assert differences(facts["node_" + section], described(section), section) == []
    assert facts["node_flush_hooks"]["hooks"] and facts["node_flush_hooks"]["firewalld"]


def test_a_difference_is_found():
    """Missing keys, keys that are not documented, and values of another type."""
    shape = {"type": "dict", "contains": {"max": {"type": "int"}, "keys": {"type": "list", "elements": "dict",
                                                                           "contains": {"key": {"type": "str"}}}}}
    assert differences({"max": 1.5, "keys": [{"kee": 1}], "more": 1},
                       shape) == [".more", ".keys[].kee", ".keys[].key", ".max is a float"]


def test_this_machine():
    section = section_of("node_facts", gather_subset=["conntrack"], place="live", window_seconds=1, top=True,
                         kernel_log=True)
    assert differences(section, described("conntrack")) == []
    try:
        limit = int(pathlib.Path("/proc/sys/net/netfilter/nf_conntrack_max").read_text(encoding="ascii"))
    except OSError:
        limit = None
    assert section["max"] == limit and section["cpus"] >= 1 and section["memory_bytes"] > 0


def test_the_virtual_servers_of_a_node(tmp_path):
    files = merged(node(), {
        "proc/net/ip_vs": HEADING + four("10.96.0.1", 443) + real("10.244.0.7", 6443) + mark(7, "wlc"),
        "proc/net/dev": "kube-ipvs0: 0\n", "proc/net/fib_trie": "", "proc/net/if_inet6": ""})
    section = section_of("node_facts", root=node_tree.unpack(files, tmp_path), place="live", gather_subset=["ipvs"])
    assert (section["virtual_servers"], section["without_real_servers_count"]) == (2, 1)
    assert differences(section, described("ipvs")) == []


def test_a_full_table_of_a_node(tmp_path):
    files = merged(tracking(LISTED), {"etc/sysctl.d/a.conf": MAX_LINE % 524288})
    section = section_of("node_facts", root=node_tree.unpack(files, tmp_path), place="live",
                         gather_subset=["conntrack"], window_seconds=1)
    assert section["rates"]["window_seconds"] >= 1 and section["size"]
    assert differences(section, described("conntrack")) == []


# A network namespace and a pid namespace with rules in both backends, an agent in a container, and a process that is
# named kubelet and only sleeps.
SCENE = """\
tree=$1 python=$2 runner=$3 arguments=$4
{ iptables-nft -t mangle -N KUBE-IPTABLES-HINT; iptables-legacy -A INPUT -p tcp --dport 22 -j ACCEPT; } >&2
(exec -a kubelet "$python" -c "
import time
open('/proc/self/comm', 'w').write('kubelet')
time.sleep(600)" --port=10260) &
"$python" -c "
import os, time
open('/proc/self/comm', 'w').write('kube-proxy')
os.chroot('$tree')
time.sleep(600)" &
until [ "$(cat /proc/$!/comm)" = kube-proxy ]; do sleep 0.05; done
sleep 1
"$python" -c "$runner" node_facts "$arguments"
"""


@needs_mounts
def test_a_live_node(tmp_path):
    container = node_tree.unpack({"usr/sbin/iptables": executable(program("nft", "1.8.7"))}, tmp_path / "container")
    asked = {"place": "live", "gather_subset": ["iptables_backend", "kubelet"]}
    done = subprocess.run(["unshare", "-n", "-pf", "--mount-proc", "bash", "-c", SCENE, "scene", container,
                           sys.executable, RUNNER, json.dumps(asked)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=True, env=dict(os.environ, PYTHONPATH=python_path(),
                                               XTABLES_LOCKFILE=str(tmp_path / "lock")))
    assert not done.stderr.strip(), done.stderr.decode("utf-8")
    facts = json.loads(done.stdout.decode("utf-8"))["ansible_facts"]
    backend, kubelet = facts["node_iptables_backend"], facts["node_kubelet"]
    assert backend["mixing"]["verdict"] == "suspicious" and backend["binaries"][0]["alternative"]
    assert {row["backend"] for row in backend["sets"]} == {"nft", "legacy"}
    assert ("kube-proxy", "1.8.7", "ok") in [(row["comm"], row["version"], row["status"])
                                             for row in backend["containers"]]
    assert (kubelet["running"], kubelet["distribution"], kubelet["settings"]["port"]) == (True, "kubelet", 10260)
    assert 0.5 < kubelet["started_seconds_ago"] < 60
    # The program of the process is this interpreter, which the module does not ask for the version of a kubelet.
    assert kubelet["version"] is None
    assert differences(backend, described("iptables_backend")) == [] == differences(kubelet, described("kubelet"))
