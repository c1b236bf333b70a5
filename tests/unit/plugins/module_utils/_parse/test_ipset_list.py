# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of what ipset list -t prints."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from node_processes import needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.ipset_list import parse_ipset_list

# As ipset 7.17 prints it, and as 6.29 does, which knows no number of entries.
SAMPLE = """\
Name: KUBE-CLUSTER-IP
Type: hash:ip,port
Revision: 7
Header: family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x66a533a6
Size in memory: 264
References: 3
Number of entries: 84

Name: KUBE-NODE-PORT-TCP
Type: bitmap:port
Revision: 3
Header: range 0-65535
Size in memory: 8264
References: 0
"""


def test_sets_and_how_full_they_are():
    assert parse_ipset_list(SAMPLE) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 84, "size_limit": 65536},
        {"name": "KUBE-NODE-PORT-TCP", "entries": None, "size_limit": 65536}]


@needs_root
def test_against_ipset():
    script = ("ipset create KUBE-CLUSTER-IP hash:ip,port maxelem 100 && ipset add KUBE-CLUSTER-IP 10.96.0.1,tcp:443 && "
              "ipset create p bitmap:port range 1-10 && ipset create l list:set && ipset list -t")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_ipset_list(text) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 1, "size_limit": 100}, {"name": "p", "entries": 0, "size_limit": 10},
        {"name": "l", "entries": 0, "size_limit": None}]


@given(st.text())
def test_any_text(text):
    assert [row["name"]
            for row in parse_ipset_list(text)] == [line[6:] for line in text.splitlines() if line.startswith("Name: ")]
