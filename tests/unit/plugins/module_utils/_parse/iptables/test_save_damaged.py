# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of iptables-save dumps as people paste them, broken and hostile ones: no line is ever lost."""

import random

import kube_audit
import kube_dumps
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from save_dumps import SAMPLE, SAMPLE6, lines_of, read, told
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save, save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save import SaveReader
from parsed_texts import parse_save

# What people send: whole dumps with something broken into them.
PIECES = st.sampled_from(SAMPLE.splitlines(True) + SAMPLE6.splitlines(True)
                         + ["\r", "\n", "\r\n", "  ", "\t", '"', "\\", "'", "\0",
                            "\x1b[0m", "garbage", "*nat\n", "COMMIT", "-A X ", '-A X -m comment --comment "', "[1:2] ",
                            "! ", "\u20ac", "\x85", "\u2028", "# Table `nat' is incompatible, use 'nft' tool.\n",
                            "-A KUBE-SEP-AAAAAAAAAAAAAAAA -s 10.244.0.5/32 -j KUBE-MARK-MASQ\n"])
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=5)),
                 max_size=60).map("".join).map(lambda text: text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("change", [
    lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", "\r"), lambda text: "\ufeff" + text,
    lambda text: "".join("    %s  \n" % line for line in text.splitlines()), lambda text: text.rstrip("\n"),
    lambda text: "\n\n" + text.replace("COMMIT", "\n\t\nCOMMIT") + "\n \n",
    lambda text: text.replace("# Completed on Sat Nov 21 11:00:22 2026\n", "")])
def test_what_pasting_does_changes_no_rule(change):
    wanted, rules = parse_save(SAMPLE), parse_save(change(SAMPLE))
    assert rules.notices in ({}, {"carriage_return": 23})
    rules.notices, rules.examples = {}, []
    assert told([rules]) == told([wanted])


@cases
def test_what_is_noticed(old, new, notices, tables):
    """Tables are {name: (whether it is complete, number of its rules)}."""
    rules = parse_save(SAMPLE.replace(old, new, 1))
    assert rules.notices == notices
    assert {name: (table.complete, sum(table.rule_counts().values())) for name, table in rules.tables.items()} == tables


def test_the_end_cut_off():
    for end in range(len(SAMPLE) - len("COMMIT\n# Completed on Sat Nov 21 11:00:22 2026\n"), 0, -7):
        rules = parse_save(SAMPLE[:end])
        known = sum(1 for line in SAMPLE[:end].split("\n")[:-1] if " -A " in line)
        assert not all(table.complete for table in rules.tables.values()) or "*filter" not in SAMPLE[:end]
        assert sum(sum(table.rule_counts().values()) for table in rules.tables.values()) == known
    assert parse_save(SAMPLE[:SAMPLE.index("-g OTHER") + 6]).notices == {"cut_off": 1, "no_commit": 1}


@cases
def test_garbage_is_counted_and_makes_no_table_look_whole(garbage):
    text = SAMPLE.replace(":FORWARD", garbage + "\n:FORWARD")
    rules = parse_save(text)
    assert rules.notices == {"unreadable_line": 1}
    assert rules.examples == [("unreadable_line", 19, garbage)]
    assert not rules.tables["filter"].complete and rules.tables["nat"].complete
    assert len(rules.tables["filter"].chains) == 2
    between = parse_save(SAMPLE.replace("COMMIT\n", "COMMIT\n%s\n" % garbage
                                        if not garbage.startswith("-A INPUT -j") else "COMMIT\n-A\n", 1))
    assert between.notices["unreadable_line"] == 1
    assert all(table.complete for table in between.tables.values())


def test_nothing_at_all():
    assert read(b"")[0] == [] and read(b"\n \r\n")[0] == []
    rules = parse_save("")
    assert (rules.tables, rules.notices, rules.family) == ({}, {}, None)
    assert parse_save("COMMIT\n").notices["unreadable_line"] == 1


def test_invalid_bytes_are_shown():
    rules = parse_save(SAMPLE.encode().replace(b"service portals", b"\xff\xfe\xc3 \xe2\x82\xac"))
    assert rules.tables["nat"].chains["PREROUTING"].rules[0].text == (
        '-A PREROUTING -m comment --comment "kubernetes \\xff\\xfe\\xc3 \u20ac" -j KUBE-SERVICES')
    assert rules.notices == {}


@cases
def test_line_ends_in_a_comment_make_no_lines_of_the_dump(evil):
    text = SAMPLE.replace('"kubernetes service portals"', '"%s"' % evil)
    rules, lines = read(text.encode())
    assert len(rules) == 1 and rules[0].family == "ipv4"
    assert set(rules[0].notices) <= {"carriage_return"}
    assert rules[0].tables["nat"].chains["PREROUTING"].rules[0].target == "KUBE-SERVICES"
    for name, table in parse_save(SAMPLE).tables.items():
        found = rules[0].tables[name]
        assert (found.rule_counts(), found.references()) == (table.rule_counts(), table.references())
    assert (sum(lines.values()) == lines_of(text.encode())
            and lines["continued"] == lines_of(text.encode()) - lines_of(SAMPLE.encode()))


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_a_hostile_comment_through_the_real_iptables(backend):
    evil = "a\nCOMMIT\n*nat\n:KUBE-SVC-AAAAAAAAAAAAAAAA - [0:0]\n-A INPUT -j DROP\r\x1b[2J \\' \" -j DROP"
    tool = kube_dumps.tool(backend, "ipv4", "x")[:-2]
    steps = [[[tool, "-A", "INPUT", "-m", "comment", "--comment", evil, "-j", "ACCEPT"], ""]]
    rules = parse_save(kube_dumps.run_apart(steps + kube_dumps.save_steps(backend, "ipv4"))[-1])
    assert sorted(rules.tables) == ["filter"] and rules.tables["filter"].complete
    assert rules.tables["filter"].rule_counts() == {"INPUT": 1, "FORWARD": 0, "OUTPUT": 0}
    rule = rules.tables["filter"].chains["INPUT"].rules[0]
    assert (rule.target, rule.comment) == ("ACCEPT", evil.replace("\r", "\n"))


def test_what_the_real_iptables_says_of_tables_it_cannot_list():
    native = ("add table ip raw\nadd chain ip raw PREROUTING { type filter hook prerouting priority -300; }\n"
              "add rule ip raw PREROUTING fib saddr . iif oif missing drop\n"
              "add table ip filter\nadd chain ip filter foreign { type filter hook input priority 5; }\n")
    steps = [[["nft", "-f", "-"], native],
             [["iptables-nft", "-A", "INPUT", "-j", "ACCEPT"], ""]] + kube_dumps.save_steps("nft", "ipv4")
    rules = parse_save(kube_dumps.run_apart(steps)[-1])
    assert (rules.family, rules.backend, rules.unreadable) == ("ipv4", "nft", ["raw"])
    assert rules.notices == {"incompatible_table": 1, "foreign_base_chain": 1}
    assert rules.tables["filter"].complete and rules.tables["filter"].rule_counts()["INPUT"] == 1


def test_more_than_the_kernel_or_iptables_takes_is_no_rule():
    rules, lines = read(SAMPLE.replace("kubernetes service portals", "a" + "\n" * 3000).encode())
    assert lines["unread"] == 2 and lines["continued"] == 0 and rules[0].notices == {"unreadable_line": 2}
    rules = parse_save(SAMPLE.replace("-A INPUT -i lo", "-A INPUT -i lo" + " -m tcp" * 300))
    assert rules.notices == {"unreadable_line": 1}


def test_a_comment_of_a_megabyte():
    text = SAMPLE.replace("kubernetes service portals", "x" * (1 << 20))
    for pieces in ((), (300000,), range(0, len(text), 65536)):
        rules, lines = read(text.encode(), pieces)
        assert (rules[0].notices == {"oversized_line": 1} and lines["unread"] == 1
                and sum(lines.values()) == lines_of(text.encode()))
        assert len(rules[0].examples[0][2]) <= 200
        assert not rules[0].tables["nat"].complete and rules[0].tables["filter"].complete


def test_a_text_without_end_is_not_kept():
    reader = SaveReader("some")
    for _piece in range(50):
        reader.feed(b"x" * 100000)
        assert reader._size < 400000
    assert [rules.notices for rules in reader.close()] == [{"oversized_line": 1, "no_header": 1}]


def test_there_is_an_end_to_what_is_read(monkeypatch):
    monkeypatch.setattr(save_lines, "LINES_LIMIT", 10)
    rules, lines = read(SAMPLE.encode())
    assert lines["unread"] == 13 and sum(lines.values()) == 23
    assert rules[0].notices["too_many_lines"] == 13 and not rules[0].tables["nat"].complete
    for pieces in (range(len(SAMPLE)), range(0, len(SAMPLE), 100)):
        monkeypatch.setattr(save, "_BLOCK", 1)
        assert (told(read(SAMPLE.encode(), pieces)[0]), read(SAMPLE.encode(), pieces)[1]) == (told(rules), lines)
    monkeypatch.undo()
    rules, lines = read(b"*nat\nCOMMIT\n" * 1000)
    assert len(rules) == save_lines.DUMPS_LIMIT and lines["table"] == 1000
    assert rules[-1].notices["too_many_dumps"] > 900 and "" in rules[-1].tables


def test_there_is_an_end_to_the_memory_it_takes(monkeypatch):
    whole = read(SAMPLE.encode())
    assert not any("too_many_lines" in rules.notices for rules in whole[0])
    monkeypatch.setattr(save_lines, "ROOM", 2200)
    monkeypatch.setattr(save, "_BLOCK", 1)
    rules, lines = read(SAMPLE.encode(), range(0, len(SAMPLE), 100))
    assert (sum(lines.values()) == sum(whole[1].values()) and 0 < lines["rule"] < whole[1]["rule"]
            and lines["unread"] > 0)
    assert rules[0].notices["too_many_lines"] == lines["unread"] and not all(table.complete
                                                                             for table in rules[0].tables.values())
    assert [line for kind, line, _text in rules[0].examples
            if kind == "too_many_lines"] == [sum(lines.values()) - lines["unread"] + 1]


@cases
def test_everything_counts_that_is_kept_of_a_dump(name, line, least):
    def taken(number):
        lines = save_lines.Lines("live", None, None)
        lines.block("*%s\n" % name + "".join(line % (each // 250, each % 250) + "\n" for each in range(number)), True)
        return lines.taken
    assert taken(2000) - taken(1000) >= 1000 * least


def test_duplicates():
    text = SAMPLE.replace("-A INPUT -i lo\n", "-A INPUT -i lo\n-A INPUT -i lo\n[9:9] -A INPUT -i lo \n")
    assert parse_save(text).tables["filter"].duplicates() == [("INPUT", "-A INPUT -i lo", 3)]


@given(st.one_of(TEXTS, st.binary()), st.lists(st.integers(0, 4000), max_size=8))
@example(b"\xef\xbb\xbf*nat\r", [1, 2, 3])
@example(SAMPLE.replace("\n", "\r\n").encode(), [])
@example(b'-A X -m comment --comment "a\n', [])
def test_no_line_is_lost_and_pieces_do_not_matter(data, pieces):
    block = save._BLOCK
    try:
        wanted, lines = read(data)
        assert sum(lines.values()) == lines_of(data)
        for save._BLOCK in (1, 37):
            rules, seen = read(data, pieces)
            assert (told(rules), seen) == (told(wanted), lines)
    finally:
        save._BLOCK = block
    rules = sum(chain for each in wanted for table in each.tables.values() for chain in table.rule_counts().values())
    assert rules == lines["rule"]
    unread = ("unreadable_line", "cut_off", "oversized_line", "too_many_lines")
    assert sum(each.notices.get(kind, 0) for each in wanted for kind in unread) == lines["unread"]


def test_any_line_broken_is_noticed_or_leaves_all_others_as_they_are():
    source = random.Random(kube_audit.seed())
    rows = SAMPLE.splitlines()
    for _try in range(200):
        place = source.choice([index for index, line in enumerate(rows) if " -A " in line])
        at = source.randrange(8, len(rows[place]))
        broken = rows[:place] + [rows[place][:at] + source.choice(['"', " ! ", " -j ", "\0"])
                                 + rows[place][at:]] + rows[place + 1:]
        rules, lines = read("\n".join(broken + [""]).encode())
        assert sum(lines.values()) == len(rows) and lines["rule"] + lines["unread"] == 8
        assert sum(table.unread for table in rules[0].tables.values()) == lines["unread"]
