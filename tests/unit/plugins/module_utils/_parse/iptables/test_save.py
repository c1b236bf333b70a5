# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of iptables-save dumps and of one rule, rules kept as bytes, and builds of iptables by their bytes."""

import random
import re
import string
import subprocess

import kube_audit
import pytest
from case_rows import cases
from hypothesis import example, given, strategies as st
from iptables_programs import OTHER, program, WRAPPER_IN_GO
from parsed_texts import parse_save
from save_dumps import read, SAMPLE, SAMPLE6, told

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.packed_rules import PackedRules
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save_rule import is_open, read_rule
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.program_files import parse_iptables_program

FIELDS = ("chain", "text", "target", "goto", "has_match", "has_arguments", "folded_before", "options", "matches",
          "arguments", "comment")
RULES = ("-A FORWARD -j DROP", "-A FORWARD -g USER",
         "-A FORWARD -p tcp", "-A FORWARD -m comment --comment \"a -j b\" -j USER",
         "-A FORWARD -j \"odd name\"", "-A FORWARD -m comment --comment \"\u00e4\U0001f600\" -j \u00dcBER",
         "-A FORWARD -j LOG --log-prefix \"-j DROP \"",
         "-A FORWARD -s 192.0.2.1/32 -j DROP", "-A FORWARD -m comment --comment \"two\nlines\" -j DROP")


def test_a_whole_dump():
    rules = parse_save(SAMPLE, "live")
    assert (rules.family, rules.backend, rules.version, rules.source,
            rules.notices) == ("ipv4", "nft", "1.8.9", "live", {})
    nat, table = rules.tables["nat"], rules.tables["filter"]
    assert nat.complete and table.complete
    assert table.chains["FORWARD"].policy == "DROP" and nat.chains["KUBE-SERVICES"].policy is None
    rule = nat.chains["PREROUTING"].rules[0]
    assert rule.text == '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES'
    assert (rule.comment, rule.target, rule.goto,
            rule.has_match) == ("kubernetes service portals", "KUBE-SERVICES", False, False)
    rule = nat.chains["KUBE-MARK-MASQ"].rules[0]
    assert (rule.value("--set-xmark"), rule.value("--mark"), rule.arguments) == (
        "0x4000/0x4000", None, [("--set-xmark", ["0x4000/0x4000"], False)])
    first, second = table.chains["INPUT"].rules[0], table.chains["FORWARD"].rules[0]
    assert (first.target, first.options, first.has_match) == (None, {"-i": ("lo", False)}, True)
    assert (second.target, second.goto, second.options) == ("OTHER", True, {"-s": ("10.0.0.0/8", False)})
    assert table.references() == {"OTHER": 1}
    assert nat.references() == {"KUBE-SERVICES": 1, "MARK": 1, "KUBE-MARK-MASQ": 1, "DNAT": 1,
                                "KUBE-SVC-AAAAAAAAAAAAAAAA": 1, "KUBE-SEP-AAAAAAAAAAAAAAAA": 1}
    assert nat.rule_counts() == {"PREROUTING": 1, "KUBE-MARK-MASQ": 1, "KUBE-SERVICES": 1,
                                 "KUBE-SVC-AAAAAAAAAAAAAAAA": 1, "KUBE-SEP-AAAAAAAAAAAAAAAA": 2}
    assert read(SAMPLE.encode())[1] == {"table": 2, "commit": 2, "chain": 7, "rule": 8, "continued": 0, "comment": 4,
                                        "blank": 0, "unread": 0}


@cases
def test_headers(header, wanted):
    rules = parse_save(header + "\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n")
    assert (rules.family, rules.backend, rules.version) == wanted
    assert ("no_header" in rules.notices) == (wanted[1] is None)


@cases
def test_the_family_of_a_dump_without_header(rule, family):
    assert parse_save("*filter\n:X - [0:0]\n%s\nCOMMIT\n" % rule).family == family
    assert parse_save("*filter\n:X - [0:0]\n%s\nCOMMIT\n" % rule, family="ipv4", backend="nft").family == "ipv4"


def test_dumps_in_one_text_stay_apart():
    whole, _lines = read((SAMPLE + SAMPLE6 + SAMPLE.replace("-nft-", "-").replace(" (nf_tables)", "")).encode())
    assert [(rules.family, rules.backend, sorted(rules.tables)) for rules in whole] == [
        ("ipv4", "nft", ["filter", "nat"]), ("ipv6", "nft", ["filter", "nat"]), ("ipv4", "legacy", ["filter", "nat"])]
    again, _lines = read((SAMPLE + SAMPLE).encode())
    assert told(again[:1]) == told(again[1:]) and len(again) == 2
    bare = "\n".join(line for line in (SAMPLE + SAMPLE6).splitlines() if not line.startswith("#")) + "\n"
    assert [(rules.family, sorted(rules.tables))
            for rules in read(bare.encode())[0]] == [("ipv4", ["filter", "nat"]), ("ipv6", ["filter", "nat"])]
    mangle = bare.split("COMMIT\n", 1)[0].replace("*nat", "*mangle") + "COMMIT\n" + SAMPLE6.split("\n", 1)[1].split(
        "COMMIT\n")[0] + "COMMIT\n"
    assert [(rules.family, sorted(rules.tables))
            for rules in read(mangle.encode())[0]] == [("ipv4", ["mangle"]), ("ipv6", ["nat"])]
    headless = (SAMPLE.split("\n", 1)[1].split("# Completed")[0] + SAMPLE6).replace("*nat", "*mangle", 1)
    assert [(rules.family, sorted(rules.tables))
            for rules in read(headless.encode())[0]] == [("ipv4", ["mangle"]), ("ipv6", ["filter", "nat"])]


def test_warnings_of_iptables_and_tables_that_nft_alone_can_list():
    rules = parse_save(SAMPLE + "# Table `filter' contains incompatible base-chains, use 'nft' tool to list them.\n"
                       "# Warning: iptables-legacy tables present, use iptables-legacy-save to see them\n"
                       "# Warning: ip6tables-legacy tables present\n")
    assert rules.notices == {"foreign_base_chain": 1, "legacy_tables_present": 2}
    assert rules.tables["filter"].complete and not rules.unreadable
    rules = parse_save("# Table `nat' is incompatible, use 'nft' tool.\n"
                       + SAMPLE.split("Completed", 1)[1].split("\n", 1)[1])
    assert (rules.unreadable, sorted(rules.tables), rules.notices) == (["nat"], ["filter"], {"incompatible_table": 1})


@cases
def test_forms(text, wanted):
    rule = read_rule(text)
    found = (rule.chain, rule.options, rule.matches, rule.comment, rule.target, rule.goto, rule.arguments)
    assert found == wanted


@cases
def test_what_is_no_rule(text):
    assert read_rule(text) is None


@given(st.text())
@example("\\")
@example('" -j DROP')
@example("-j")
@example("a\nCOMMIT")
@example("\0\x1b[2J\u2028\x85")
def test_any_comment_is_read_back_and_hides_nothing(comment):
    # libxtables/xtables.c xtables_save_string(): a text of these characters alone is printed without quotes.
    plain = comment and set(comment) <= set("_-" + string.digits + string.ascii_letters)
    printed = comment if plain else '"%s"' % re.sub(r"""(["'\\])""", r"\\\1", comment)
    rule = read_rule("-A X -s 10.0.0.1/32 -m comment --comment %s -j DNAT --to-destination 10.0.0.2:80" % printed)
    assert (rule.comment, rule.target, rule.matches) == (comment, "DNAT", [])
    assert rule.arguments == [("--to-destination", ["10.0.0.2:80"], False)]


@given(st.text(alphabet='-Aj !"\\\'ax\t\n'))
def test_nothing_raises(text):
    rule = read_rule("-A " + text)
    assert rule is None or (rule.chain and rule.target != "")


@given(st.text(alphabet='ab "'), st.text(alphabet='ab "'))
def test_a_quote_is_open_until_it_is_closed(before, after):
    assert is_open(before + after) == (is_open(before) != is_open(after))
    assert is_open(before + '"') != is_open(before)
    assert is_open(before + '\\"') == is_open(before)


@pytest.mark.parametrize("backend", ["nft", "legacy"])
@pytest.mark.parametrize("version", ["1.8.2", "1.8.7", "1.8.8", "1.8.9", "1.8.11", "1.8.13"])
def test_builds(backend, version):
    assert parse_iptables_program(program(backend, version)) == (backend, version)


@pytest.mark.parametrize("data, backend", [
    (b"#!/bin/sh\nexec iptables-nft 1.8.9 (nf_tables)\n", "wrapper"), (WRAPPER_IN_GO, "wrapper"), (OTHER, None),
    (b"", None), (b"\x7fELF", None), (b"\0001.8.9 (nf_tables)\0", None),
    # An old build with another number in it; both in one file: no build of iptables is that.
    (program("nft", "1.8.7") + b"\0001.2.11\0", "nft"), (program("nft", "1.8.9") + program("legacy", "1.8.9"), None),
    (program("nft", "1.8.7") + program("legacy", "1.8.7"), None)])
def test_what_tells_no_version(data, backend):
    assert parse_iptables_program(data) == (backend, None)


@pytest.mark.parametrize("backend, path",
                         [("nft", "/usr/sbin/xtables-nft-multi"), ("legacy", "/usr/sbin/xtables-legacy-multi")])
def test_the_build_of_this_machine_tells_what_it_prints(backend, path):
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except IOError:
        pytest.skip("this machine has no %s" % path)
    printed = subprocess.check_output([path, "iptables-save", "--version"]).decode("ascii")
    assert parse_iptables_program(data) == (backend, printed.split()[1].lstrip("v"))


@given(st.binary())
@example(b"\x7fELF" + b"\0001." + b"9" * 300 + b"\0%s v%s (legacy)\0")
def test_any_bytes(data):
    backend, version = parse_iptables_program(data)
    assert backend in ("nft", "legacy", "wrapper", None) and (version is None or version.encode("ascii") in data)


def forward(rules):
    return kube_audit.read("*filter\n:FORWARD ACCEPT [0:0]\n:USER - [0:0]\n%sCOMMIT\n"
                           % "".join(rule + "\n" for rule in rules)).tables["filter"].chains["FORWARD"].rules


def described(rules):
    return [tuple(getattr(rule, field) for field in FIELDS) + (rule.value("--log-prefix"), repr(rule).partition("(")[2])
            for rule in rules]


@pytest.mark.parametrize("kept", [0, 40, 150])
def test_they_are_used_like_a_list(kept, monkeypatch):
    dice = random.Random(kube_audit.seed())
    texts = [dice.choice(RULES) for _rule in range(30)]
    listed = forward(texts)
    monkeypatch.setattr(save_lines, "_KEPT", kept)
    packed = forward(texts)
    assert isinstance(listed, list) and isinstance(packed, PackedRules) and len(packed) == len(listed) == 30 and packed
    assert described(packed) == described(listed)
    for start in (0, 1, 3, 29, 30):
        for stop in (0, 2, 3, 15, 30, -1):
            assert described(packed[start:stop]) == described(listed[start:stop])
    assert described(packed[index] for index in range(-30, 30)) == described(listed[index] for index in range(-30, 30))
    for index in (30, -31):
        with pytest.raises(IndexError):
            packed[index]


def test_a_rule_is_equal_to_itself_alone(monkeypatch):
    monkeypatch.setattr(save_lines, "_KEPT", 0)
    rules = forward(["-A FORWARD -j DROP"] * 3)
    assert (rules[1] == rules[1] == rules[-2] and rules[1] != rules[2]
            and len(set(rules)) == len(set(list(rules) + list(rules[1:]))) == 3)


def test_one_more_takes_little(monkeypatch):
    monkeypatch.setattr(save_lines, "_KEPT", 0)
    texts = ["-A FORWARD -s 10.0.%d.%d/32 -j DROP" % (number // 250, number % 250) for number in range(2000)]
    packed = forward(texts)._packed
    held = sum(part.buffer_info()[1] * part.itemsize
               for part in (packed.starts, packed.target_starts, packed.target_lengths, packed.folded))
    assert held + len(packed.flags) == 17 * len(texts) + 4 and len(packed.texts) == sum(map(len, texts))


@pytest.mark.parametrize("name", ["1.8.9-nft-ipv4", "1.8.9-nft-ipv6", "1.8.7-legacy-ipv4",
                                  "written-by-1.8.9-read-by-1.8.7-nft-ipv4"])
def test_every_question_gets_the_same_answer(name, monkeypatch):
    seed, found = kube_audit.seed(), {}
    for kept in (1000000, 2000, 0):
        monkeypatch.setattr(save_lines, "_KEPT", kept)
        dice, lines, found[kept] = random.Random(seed), kube_audit.sample(name).split("\n"), []
        for _round in range(25):
            damaged = list(lines)
            for _damage in range(dice.randint(0, 3)):
                # A rule without its match, one that is there twice, one in another place, one that is gone.
                index = dice.choice([number for number, line in enumerate(damaged) if line.startswith("-A ")])
                words = damaged[index].split(" ")
                rule = damaged.pop(index) if dice.random() < 0.5 else damaged[index]
                place = dice.choice([number for number, line in enumerate(damaged) if line.startswith("-A ")])
                bare = " ".join(words[:2] + ["-j", dice.choice(["DROP", "ACCEPT", "GONE", words[-1]])])
                damaged[place:place] = dice.choice([[], [rule], [rule, rule], [bare]])
            for mode in ("iptables", "ipvs", None):
                found[kept].append(kube_audit.observations([kube_audit.read("\n".join(damaged))], mode))
    assert found[1000000] == found[2000] == found[0] and any(found[0])
