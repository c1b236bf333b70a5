# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module iptables_backend on a node of its own, with the real iptables and update-alternatives."""

import os
import subprocess

import backend_trees
import pytest
from backend_node import KUBERNETES, on_a_node
from hook_changes import content

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")


def rules_in(save):
    return [line for line in save.splitlines() if not line.startswith("#")]


def test_a_switch_on_a_live_node_waits_for_the_reboot_and_can_be_undone(tmp_path):
    told = on_a_node(tmp_path, """\
states_before = sh("tar c /etc/alternatives /var/lib/dpkg/alternatives | sha256sum")
load("nft", KUBERNETES)
told["refused"] = module(backend="legacy")
told["untouched"] = states_before == sh("tar c /etc/alternatives /var/lib/dpkg/alternatives | sha256sum") and not os.path.exists(FOLDER)
told["announced"] = module(backend="legacy", check=True, live=True)
told["done"] = module(backend="legacy", live=True)
told["second"] = module(backend="legacy", live=True)
told["shown"] = sh("update-alternatives --query iptables | grep -E '^(Status|Value)'; iptables --version; ip6tables-save --version")
told["saves"] = [open(path).read() for path in told["done"]["saved"]]
told["modes"] = sorted(set(oct(os.stat(path).st_mode & 0o777) for path in told["done"]["saved"]))
told["expected"] = sh("iptables-nft-save -c")
told["undone"] = module("absent")
told["query"] = sh("update-alternatives --query ip6tables | grep -E '^(Status|Value)'")
told["left"] = os.path.exists("/var/lib/kubenode-netfilter")
told["tables"] = open("/proc/net/ip_tables_names").read()
""", KUBERNETES=KUBERNETES)
    refused, done = told["refused"], told["done"]
    assert (refused["live_rules"] and not refused["changed"]
            and "19 chains of Kubernetes are in the nft backend (ipv4)" in refused["refused"])
    assert [(row["before"], row["after"]) for row in refused["groups"]] == [("nft", "nft")] * 4
    assert (told["untouched"] and done == told["announced"] and done["changed"] and done["reboot_needed"]
            and done["refused"] is None)
    assert (not told["second"]["changed"] and told["second"]["reboot_needed"]
            and told["second"]["saved"] == done["saved"])
    assert (told["shown"].split("\n")[:2] == ["Status: manual", "Value: /usr/sbin/iptables-legacy"]
            and told["shown"].count("(legacy)") == 2)
    assert told["modes"] == ["0o600"] and rules_in(told["expected"]) in [rules_in(save) for save in told["saves"]]
    assert (told["undone"]["changed"] and told["query"] == "Status: auto\nValue: /usr/sbin/ip6tables-nft\n"
            and told["left"] is False)
    assert told["tables"] == "", "no legacy table came of it"


def test_an_undo_on_a_live_node_waits_for_the_reboot_too(tmp_path):
    told = on_a_node(tmp_path, """\
module(backend="legacy")
load("legacy", KUBERNETES)
told["refused"] = module("absent")
told["done"] = module("absent", live=True)
told["second"] = module("absent")
told["query"] = sh("update-alternatives --query iptables | grep -E '^(Status|Value)'")
told["kept"] = [os.path.exists(path) for path in told["done"]["saved"]]
""", KUBERNETES=KUBERNETES)
    assert (told["refused"]["live_rules"]
            and "chains of Kubernetes are in the legacy backend (ipv4)" in told["refused"]["refused"])
    assert (told["done"]["changed"] and told["done"]["reboot_needed"]
            and told["query"] == "Status: auto\nValue: /usr/sbin/iptables-nft\n")
    assert (not told["second"]["changed"] and told["second"]["reboot_needed"]
            and told["second"]["saved"] == told["done"]["saved"])
    assert told["kept"] and all(told["kept"])


def test_a_disk_that_is_full_leaves_everything_as_it_was(tmp_path):
    told = on_a_node(tmp_path, """\
load("nft", KUBERNETES)
state = "/var/lib/kubenode-netfilter"
sh("mkdir -p %s; mount -t tmpfs -o size=4k,mode=755 none %s; cat /dev/zero > %s/x || true" % (state, state, state))
told["result"] = module(backend="legacy", live=True)
told["query"] = sh("update-alternatives --query iptables | grep -E '^(Status|Value)'")
told["left"] = os.listdir("/var/lib/kubenode-netfilter")
""", KUBERNETES=KUBERNETES)
    assert "No space left on device" in told["result"]["failed"] and told["left"] == ["x"]
    assert told["query"] == "Status: auto\nValue: /usr/sbin/iptables-nft\n"


def test_auto_is_what_kubelet_and_kube_proxy_use(tmp_path):
    told = on_a_node(tmp_path, """\
load("legacy", KUBERNETES)
told["done"] = module()
told["stuck"] = module(backend="nft")
load("nft", "*mangle\\n:KUBE-IPTABLES-HINT - [0:0]\\nCOMMIT\\n")
told["both"] = module()
""", KUBERNETES=KUBERNETES)
    assert told["done"]["backend"] == "legacy" and told["done"]["changed"] and not told["done"]["reboot_needed"]
    assert told["done"]["backend_because"] == "kubelet (ipv4) and kube-proxy (ipv4) have chains in it"
    assert told["stuck"]["live_rules"]
    assert told["both"]["backend"] == "legacy" and told["both"]["left"] == [{"backend": "nft", "family": "ipv4",
                                                                             "chains": 1, "rules": 0}]


def test_a_tool_that_fails_or_lies_puts_all_groups_back(tmp_path):
    told = on_a_node(tmp_path, """\
real = sh("command -v update-alternatives").strip()
sh("mkdir /run/bin; mount --bind /run/bin /usr/local/sbin")
texts = {"fails": "case $2 in ip6*) echo no room >&2; exit 2;; esac", "lies": "case $1-$2 in --set-ip6*) exit 0;; esac"}
for name, text in sorted(texts.items()):
    with open("/run/bin/update-alternatives", "w") as script:
        script.write('#!/bin/sh\\n%s; exec %s "$@"\\n' % (text, real))
    os.chmod("/run/bin/update-alternatives", 0o755)
    told[name] = module(backend="legacy")
    told[name + " after"] = sh(real + " --query iptables | grep -E '^(Status|Value)'")
told["left"] = os.path.exists(FOLDER)
""")
    assert ("could not switch ip6tables: no room" in told["fails"]["failed"]
            and "but its state is now ip6tables is auto" in told["lies"]["failed"])
    for name in ("fails", "lies"):
        assert told[name + " after"] == "Status: auto\nValue: /usr/sbin/iptables-nft\n"
    assert "Every group was put back" in told["lies"]["failed"] and not told["left"]


def test_the_red_hat_familys_tool_is_the_one_of_its_state(tmp_path):
    """Its state is in /var/lib/alternatives. The program of dpkg, run with --admindir, stands in for the program of
    chkconfig."""
    told = on_a_node(tmp_path, """\
sh("mv /var/lib/dpkg/alternatives /var/lib/alternatives; mkdir /run/bin; mount --bind /run/bin /usr/local/sbin")
with open("/run/bin/alternatives", "w") as script:
    script.write('#!/bin/sh\\necho "$@" >>/run/asked; exec update-alternatives --admindir /var/lib/alternatives "$@"\\n')
os.chmod("/run/bin/alternatives", 0o755)
told["done"], told["undone"] = module(backend="legacy"), module("absent")
told["asked"] = open("/run/asked").read()
""")
    assert told["done"]["changed"] and told["done"]["groups"][0]["mechanism"] == "alternatives"
    assert told["undone"]["changed"] and told["undone"]["groups"][0]["after"] == "nft"
    assert (told["asked"] == "--set iptables /usr/sbin/iptables-legacy\n--set ip6tables /usr/sbin/ip6tables-legacy\n"
                             "--auto ip6tables\n--auto iptables\n")


def test_update_alternatives_agrees_with_what_is_written_into_a_tree(tmp_path):
    """The program of dpkg makes the same choice in a copy of the tree; both trees are the same to the last byte."""
    ours, theirs = (backend_trees.unpacked(backend_trees.debian("legacy", "nft", "auto"), tmp_path / name)
                    for name in ("ours", "theirs"))
    for tree in (ours, theirs):
        (tree / "var/log").mkdir()
    result = backend_trees.run(ours, backend="legacy")
    for group in ("ip6tables",):
        subprocess.run(["update-alternatives", "--root", str(theirs), "--set", group, "/usr/sbin/%s-legacy" % group],
                       stdout=subprocess.DEVNULL, check=True)
    record = "var/lib/kubenode-netfilter/iptables_backend/record.json"
    assert [row["after"] for row in result["groups"]] == ["legacy", "legacy", "nft", "nft"]
    assert {path: held for path, held in content(ours).items() if path != record} == {
        path: held for path, held in content(theirs).items() if not path.startswith("var/log")}
    shown = subprocess.run(["update-alternatives", "--root", str(ours), "--query", "ip6tables"], stdout=subprocess.PIPE,
                           check=True).stdout.decode()
    assert "Status: manual" in shown and "Value: /usr/sbin/ip6tables-legacy" in shown
    assert os.path.exists(str(ours / record))
