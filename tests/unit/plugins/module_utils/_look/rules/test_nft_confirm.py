# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule that only seems to have no match: nft prints the match that iptables-save cannot print."""

import json
import subprocess
import sys

import pytest

from case_rows import cases
from node_processes import needs_root, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.kube_proxy import lost_match

LOOK = """
import json, subprocess, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.nft_confirm import confirmed

class Rules:
    def __init__(self):
        self.unread = []
    def miss(self, source, status, evidence, table=None):
        self.unread.append((source, table))

rules, changes = Rules(), json.loads(sys.argv.pop(1))
for command in sys.argv[2:]:
    subprocess.check_call(command, shell=True)
row = {"kind": "anchor_shadowed", "family": "ipv4", "backend": "nft", "table": "filter", "chain": "INPUT", "text": "-A INPUT -j DROP", "count": 1, "detail": ""}
row.update(changes)
host = _host.Host("/")
if sys.argv[1] == "without":
    host.find_binary = lambda name: None
print(json.dumps([len(confirmed(host, rules, [row, dict(row, backend="legacy")], {})[0]), rules.unread]))
"""
JUMP = "iptables-nft -N KUBE-FIREWALL; iptables-nft -A INPUT -j KUBE-FIREWALL"
SET = "nft add set ip filter bad '{ type ipv4_addr; }'; nft insert rule ip filter INPUT ip saddr @bad drop"


def look(nft, *commands, **changes):
    """[how many of two rows stay (the row, and the same row of the legacy backend), unread sources] after these
    commands in a network namespace of its own."""
    said = subprocess.run(["unshare", "--net", sys.executable, "-c", LOOK, json.dumps(changes), nft] + list(commands),
                          stdout=subprocess.PIPE, check=True,
                          env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}).stdout.decode()
    return json.loads(said.splitlines()[-1])


@needs_root
@cases
def test_only_what_nft_shows_without_a_match_stays(commands, kept):
    assert look("with", *commands) == [kept, []]


@needs_root
@pytest.mark.parametrize("rule", ["-A INPUT -s 198.51.100.0/24 -j DROP",
                                  "-A INPUT -d 10.96.0.0/12 -p tcp -m tcp --dport 443 -j DROP"])
def test_a_rule_that_refuses_by_its_match_needs_no_confirmation(rule):
    """nft does not have to be asked: it prints that match too."""
    for nft in ("with", "without"):
        assert look(nft, JUMP, "iptables-nft " + rule, kind="unexpected_drop", text=rule) == [2, []]


PORT = "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp%s -j KUBE-SVC-A"
CHAINS = "iptables-nft -t nat -N KUBE-SERVICES; iptables-nft -t nat -N KUBE-SVC-A; iptables-nft -t nat "


@needs_root
@pytest.mark.parametrize("there, kept", [(" -m tcp --dport 443", 1), (" -m multiport --dports 443,80", 1), ("", 2),
                                         (" -m comment --comment 'the dport @home'", 2)])
def test_a_port_that_was_lost_in_print_only(there, kept):
    assert look("with", CHAINS + PORT % there, kind="lost_match", table="nat", chain="KUBE-SERVICES", text=PORT % "",
                detail=lost_match.NO_PORT) == [kept, []]


@needs_root
def test_what_nobody_can_confirm_is_not_known():
    assert look("without", JUMP) == [1, [["nft_ipv4", "filter"]]]


@needs_root
@pytest.mark.parametrize("there, kept", [(" -m tcp --dport 30023", 1), ("", 2)])
def test_a_node_port_that_was_lost_in_print_only(there, kept):
    rule = "-A KUBE-EXTERNAL-SERVICES -p tcp -m addrtype --dst-type LOCAL%s -j DROP"
    assert look("with", "iptables-nft -N KUBE-EXTERNAL-SERVICES; iptables-nft " + rule % there, kind="lost_match",
                chain="KUBE-EXTERNAL-SERVICES", text=rule % "", detail=lost_match.NO_PORT) == [kept, []]
