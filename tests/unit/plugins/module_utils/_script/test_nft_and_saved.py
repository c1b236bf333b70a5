# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts and lines of nft, saved rule sets, and texts worth parsing at all."""

import hook_corpus
import hypothesis
import pytest
from hook_nodes import SNAPSHOT
from hypothesis import strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._script import script
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.nft_script import (
    read_nft_includes, read_nft_script)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.plain_line import read_plain_line
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.saved_rules import (
    family_of, flushing_commands, is_saved, read_saved)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.words import WORDS, folders_started, mentions


# Scripts of nft: what their statements take from others.

SCRIPT = """\
#!/usr/sbin/nft -f

# flush ruleset
flush ruleset
define t = nat
include "/etc/nftables.d/*.nft"
table inet site {
    # delete table ip nat
    chain input { type filter hook input priority 0; policy accept; flush ruleset; }
    comment "flush ruleset; delete table ip nat"
}
delete table ip $t; flush chain ip filter FORWARD
flush \\
  table filter
include "one.nft"
"""


def told(text):
    return ["%d %s %s %s %s" % (effect.line, effect.sort, ",".join(effect.families), ",".join(effect.tables),
                                ",".join(effect.chains)) for effect in read_nft_script(text)]


def test_a_script():
    assert told(SCRIPT) == [
        "4 ruleset ipv4,ipv6,inet,arp,bridge * *", "12 table ipv4 nat *", "12 flush ipv4 filter FORWARD",
        "13 table ipv4 filter *"]
    assert [SCRIPT[slice(*effect.span)] for effect in read_nft_script(SCRIPT)] == [
        "flush ruleset", "delete table ip $t", "flush chain ip filter FORWARD", "flush \\\n  table filter"]
    assert read_nft_script(SCRIPT)[3].command == "flush table filter"
    assert [(run.line, run.path_or_name, run.how) for run in read_nft_includes(SCRIPT)] == [
        (6, "/etc/nftables.d/*.nft", "source"), (15, "one.nft", "source")]


@cases
def test_statements(text, expected):
    assert told(text) == expected


def test_whether_others_come_instead():
    assert [effect.comes_back for effect in read_nft_script("flush ruleset")] == ["no"]
    assert [effect.comes_back for effect in read_nft_script("flush ruleset\ntable inet x { }")] == ["replaced"]


# Lines of nft that are read without a shell: the same as with one.

LEFT = [
    "nft", "nft -c -f /etc/nftables.conf", "nft -f -", "nft -f /dev/stdin", "nft -f relative",
    "nft -f /etc/nftables.conf -c", "nft -j list ruleset", "nft flush ruleset; true", "nft 'flush ruleset'",
    "nft -f $FILE", "nft -f /etc/*.nft", "nft flush ruleset > /dev/null", "sudo nft flush ruleset",
    "nft flush ruleset &", "nft add rule ip nat x counter -f", "/usr/sbin/nftables flush ruleset",
    "/usr/sbin/iptables -F", "X=1 nft flush ruleset"]


@cases
def test_it_reads_what_the_walk_of_a_script_reads(text, monkeypatch):
    found = read_plain_line(text + "\n")
    monkeypatch.setattr(script, "read_plain_line", lambda _text: None)
    assert found == script.read_script(text + "\n")


@pytest.mark.parametrize("text", [line + "\n" for line in LEFT] + ["nft flush ruleset",
                                                                   "nft flush ruleset\nnft flush ruleset\n", "\n", ""])
def test_everything_else_is_left_to_it(text):
    assert read_plain_line(text) is None


# Saved rule sets: whose rules are in them, and what loading them destroys.

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


@cases
def test_other_texts(text):
    assert is_saved(text) is None and read_saved(text) is None


def test_dos_line_ends():
    assert read_saved(SNAPSHOT.replace("\n", "\r\n")).kubernetes == 6


@cases
def test_family(path, family):
    assert family_of(path) == family


@cases
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


# Which texts are worth parsing at all.

@pytest.mark.parametrize("text", [text for text in hook_corpus.one_liners("hooks")
                                  if any(word in text.encode() for word in WORDS)])
def test_a_hook_with_such_a_word_is_meant(text):
    assert mentions(text.encode())


@cases
def test_what_may_change_the_firewall(text):
    assert mentions(text.encode())


@cases
def test_everyday_words(text):
    assert not mentions(text.encode())


@cases
def test_folders_whose_programs_are_started(text, folders):
    assert folders_started(text.encode()) == (folders and [folder.encode() for folder in folders])
