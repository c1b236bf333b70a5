# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule without a match that is none: what iptables-save cannot print, nft does."""

import subprocess
import sys

import pytest

from node_processes import needs_root, python_path

LOOK = """
import json, subprocess, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils import _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect._nft_confirm import confirmed

class Rules(object):
    def __init__(self):
        self.unread = []
    def miss(self, source, status, evidence, table=None):
        self.unread.append((source, table))

for command in sys.argv[2:]:
    subprocess.check_call(command, shell=True)
rules, kind, text = Rules(), "anchor_shadowed", "-A INPUT -j DROP"
row = {"kind": kind, "family": "ipv4", "backend": "nft", "table": "filter", "chain": "INPUT", "text": text, "count": 1, "detail": ""}
host = _host.Host("/")
if sys.argv[1] == "without":
    host.find_binary = lambda name: None
print(json.dumps([len(confirmed(host, rules, [row, dict(row, backend="legacy")])), rules.unread]))
"""
JUMP = "iptables-nft -N KUBE-FIREWALL; iptables-nft -A INPUT -j KUBE-FIREWALL"
SET = "nft add set ip filter bad '{ type ipv4_addr; }'; nft insert rule ip filter INPUT ip saddr @bad drop"


@needs_root
@pytest.mark.parametrize("commands, kept", [
    ([JUMP, "iptables-nft -I INPUT -j DROP"], 2), ([JUMP, "iptables-nft -I INPUT -m comment --comment 'a b' -j DROP"], 2),
    ([JUMP, "nft insert rule ip filter INPUT drop"], 2), ([JUMP, SET], 1),
    ([JUMP, "iptables-nft -A INPUT -m mark --mark 0x8000/0x8000 -j DROP"], 1),
    ([JUMP, "iptables-nft -A INPUT -p tcp --dport 80 -j DROP"], 1),
])
def test_only_what_nft_shows_without_a_match_stays(commands, kept):
    said = subprocess.run(["unshare", "--net", sys.executable, "-c", LOOK, "with"] + commands, stdout=subprocess.PIPE, check=True,
                          env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}).stdout.decode()
    assert said.splitlines()[-1] == "[%d, []]" % kept


@needs_root
def test_what_nobody_can_confirm_is_not_known():
    said = subprocess.run(["unshare", "--net", sys.executable, "-c", LOOK, "without", JUMP], stdout=subprocess.PIPE, check=True,
                          env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}).stdout.decode()
    assert said.splitlines()[-1] == '[1, [["nft_ipv4", "filter"]]]'
