# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts and lines of nft, saved rule sets, and texts worth parsing at all."""

import hook_corpus
import hook_nodes
import hypothesis
import pytest
from case_rows import cases
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._script import script
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.nft_script import (
    read_nft_includes, read_nft_script,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.rule_files import (
    family_of, flushing_commands, is_saved, read_saved,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.script import read_plain_line
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.words import WORDS, folders_started, mentions

SNAPSHOT = hook_nodes.SNAPSHOT  # Named in rows.


# Scripts of nft: what their statements take from others.

def told(text):
    return ["%d %s %s %s %s" % (effect.line, effect.sort, ",".join(effect.families), ",".join(effect.tables),
                                ",".join(effect.chains)) for effect in read_nft_script(text)]


@cases
def test_a_script(text, effects, spans, includes):
    found = read_nft_script(text)
    assert told(text) == effects and [text[slice(*effect.span)] for effect in found] == spans
    assert found[3].command == "flush table filter"
    assert [(run.line, run.path_or_name, run.how) for run in read_nft_includes(text)] == includes


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

@cases
def test_saved_rules(text, family, saved):
    found = read_saved(text, family)
    assert (is_saved(text) is None) == (found is None) == (saved is None)
    assert found is None or {name: getattr(found, name) for name in saved} == saved


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
