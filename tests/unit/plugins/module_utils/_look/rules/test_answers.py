# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host ports that portmap wrote with nft."""

import json
import subprocess
import sys

from case_rows import cases
from fake_tools import script, unpacked
from node_processes import needs_root, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import answers, rule_sets

LOOK = """
import json, subprocess, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import answers as _answers
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules import rule_sets as _rule_sets
subprocess.run(["nft", "-f", "-"], input=sys.argv[1].encode(), check=True)
rules = _rule_sets.Rules("live")
rules.nf_tables = "ok"
found = _answers.nft_hostports(_host.Host("/"), rules, {("tcp", 10250): "kubelet", ("tcp", 6443): "the API server"})
print(json.dumps([[(row["family"], row["table"], row["chain"], row["text"]) for row in found], rules.unread]))
"""
TABLE = """
table %s cni_hostport {
    comment "CNI portmap plugin"
    chain hostports { %s }
    chain hostip_hostports { ip daddr 192.0.2.77 tcp dport 10250 dnat to 10.244.1.9:80; }
    chain prerouting { type nat hook prerouting priority dstnat; jump hostip_hostports; jump hostports; }
}
"""


def look(text):
    said = subprocess.run(["unshare", "--net", sys.executable, "-c", LOOK, text], stdout=subprocess.PIPE, check=True,
                          env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}).stdout.decode()
    return json.loads(said.splitlines()[-1])


@needs_root
def test_what_nft_lists():
    rules = "".join('tcp dport %d dnat to 10.244.1.9:80 comment "a\\tb"; ' % port
                    for port in (80, 10250, 10251)) + "udp dport 6443 dnat to 10.244.1.9:53; "
    six = TABLE.replace("ip daddr 192.0.2.77", "ip6 daddr 2001:db8::7").replace("10.244.1.9:80", "[fd00::9]:80") % (
        "ip6", "tcp dport 6443 dnat to [fd00::9]:80;")
    assert look(TABLE % ("ip", rules) + six) == [[
        ["ipv4", "ip cni_hostport", "hostports", "tcp dport 10250 dnat to 10.244.1.9:80"],
        ["ipv6", "ip6 cni_hostport", "hostports", "tcp dport 6443 dnat to [fd00::9]:80"]], []]
    assert look(TABLE % ("ip", "")) == look("table ip other { }") == [[], []]


def nft(tmp_path, text, status="ok", ports=True):
    rules = rule_sets.Rules("live")
    rules.nf_tables = status
    host = unpacked(tmp_path, {"usr/sbin/nft": script(text)})
    known = {("tcp", 10250): "kubelet"} if ports else {}
    return len(answers.nft_hostports(host, rules, known)), len(rules.unread), len(host.ran)


@cases
def test_what_nft_may_say(text, status, told, tmp_path):
    assert nft(tmp_path, text, status) == told


def test_nobody_is_asked_for_nothing(tmp_path):
    assert nft(tmp_path, "exit 0", ports=False) == (0, 0, 0)
