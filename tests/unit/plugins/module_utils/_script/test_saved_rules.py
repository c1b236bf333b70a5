# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved rule sets: whose rules are in them, and what loading them destroys."""

import hypothesis
import pytest
from hypothesis import strategies as st

from hook_nodes import SNAPSHOT
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.saved_rules import (family_of,
                                                                                             flushing_commands,
                                                                                             is_saved, read_saved)

NFT = """#!/usr/sbin/nft -f
table ip nat {
    chain KUBE-SERVICES {
        counter packets 0 bytes 0
    }
    chain mine {
    }
}
table ip6 kube-proxy {
    chain services {
    }
}
"""


def test_a_snapshot_of_iptables():
    saved = read_saved(SNAPSHOT, "ipv4")
    assert (saved.format, saved.family, saved.tables, saved.rules) == ("iptables", "ipv4", ["nat"], 4)
    assert saved.owners == {"kube_proxy": 4, "calico": 2, "other": 1} and saved.kubernetes == 6


def test_the_site_s_own_rules():
    saved = read_saved("*filter\n:INPUT DROP [0:0]\n:site - [0:0]\n-A INPUT -j site\n-A site -i lo -j ACCEPT\nCOMMIT\n")
    assert (saved.kubernetes, saved.tables, saved.owners) == (0, ["filter"], {"other": 3})


def test_a_comment_is_nobody_s_chain():
    saved = read_saved('*filter\n-A INPUT -m comment --comment "was -j KUBE-FIREWALL" -j ACCEPT\nCOMMIT\n')
    assert saved.kubernetes == 0


def test_a_dump_of_nft():
    saved = read_saved(NFT)
    assert (saved.format, saved.tables, saved.family) == ("nft", ["kube-proxy", "nat"], None)
    assert saved.owners == {"kube_proxy": 2, "other": 2} and saved.kubernetes == 2
    assert read_saved("table ip6 x {\n chain cali-FORWARD {\n }\n}\n").family == "ipv6"


@pytest.mark.parametrize("text", ["", "#!/bin/sh\niptables -F\n", "filter\n", "table of contents\n", "* filter\n",
                                  "a\n*unknown\nCOMMIT\n"])
def test_other_texts(text):
    assert is_saved(text) is None and read_saved(text) is None


def test_dos_line_ends():
    assert read_saved(SNAPSHOT.replace("\n", "\r\n")).kubernetes == 6


@pytest.mark.parametrize(
    "path, family", [
        ("/etc/iptables/rules.v4", "ipv4"), ("/etc/iptables/rules.v6", "ipv6"), ("/etc/sysconfig/ip6tables", "ipv6"),
        ("/etc/ufw/before6.rules", "ipv6"), ("/var/lib/ip6tables/rules-save", "ipv6"),
        ("/var/lib/iptables/rules-save", "ipv4"), ("/etc/systemd/scripts/ip6save", "ipv6")])
def test_family(path, family):
    assert family_of(path) == family


@pytest.mark.parametrize(
    "line, expected", [
        ("-F", ("flush", None)), ("--flush", ("flush", None)), ("-X", ("delete", None)),
        ("-F POSTROUTING", ("flush", "POSTROUTING")), ("-F KUBE-SERVICES", ("flush", "KUBE-SERVICES")),
        ("-X cali-FORWARD", ("delete", "cali-FORWARD")), ("  -F\r", ("flush", None)), ("-F ufw-before-input", None),
        ("-X SITE-CHAIN", None), ("-A INPUT -j ACCEPT", None), ("# -F", None), ("-Z", None), ("-Fx", None),
    ])
def test_commands_in_a_file(line, expected):
    found = flushing_commands("*nat\n:POSTROUTING ACCEPT [0:0]\n%s\nCOMMIT\n" % line)
    assert [(each.line, each.table, each.sort, each.chain)
            for each in found] == ([(3, "nat") + expected] if expected else [])


def test_a_command_before_any_table_is_none():
    assert flushing_commands("-F\n*filter\nCOMMIT\n") == []


@hypothesis.given(st.lists(st.sampled_from(["*nat\n", "-F\n", ":KUBE-X - [0:0]\n", "COMMIT\n", "table ip x {\n",
                                            "chain KUBE-A {\n", "\0", "}\n", "*", "\r\n"]) | st.text(max_size=9),
                           max_size=30).map("".join))
def test_any_text(text):
    saved = read_saved(text)
    assert saved is None or (saved.kubernetes >= 0 and saved.tables == sorted(saved.tables))
    flushing_commands(text)
