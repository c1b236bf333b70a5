# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of iptables-save dumps: whole ones, several in one text, and those without headers."""

from save_dumps import SAMPLE, SAMPLE6, read, told

from parsed_texts import parse_save
from case_rows import cases


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


def test_counters_make_no_difference():
    text = "*nat\n:PREROUTING ACCEPT [1:60]\n%s-A PREROUTING -j ACCEPT\n%s-A PREROUTING -j ACCEPT\nCOMMIT\n"
    with_them, without = [parse_save(text % counters).tables["nat"] for counters in (("[7:420] ", "[0:0] "), ("", ""))]
    assert [rule.text for rule in with_them.chains["PREROUTING"].rules] == [
        rule.text for rule in without.chains["PREROUTING"].rules]
    assert with_them.duplicates() == without.duplicates() == [("PREROUTING", "-A PREROUTING -j ACCEPT", 2)]


def test_kinds_of_lines():
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


def test_several_dumps_in_one_text():
    whole, _lines = read((SAMPLE + SAMPLE6 + SAMPLE.replace("-nft-", "-").replace(" (nf_tables)", "")).encode())
    assert [(rules.family, rules.backend, sorted(rules.tables)) for rules in whole] == [
        ("ipv4", "nft", ["filter", "nat"]), ("ipv6", "nft", ["filter", "nat"]), ("ipv4", "legacy", ["filter", "nat"])]


def test_two_dumps_of_one_sort_stay_apart():
    again, _lines = read((SAMPLE + SAMPLE).encode())
    assert told(again[:1]) == told(again[1:]) and len(again) == 2


def test_two_families_without_headers_stay_apart():
    bare = "\n".join(line for line in (SAMPLE + SAMPLE6).splitlines() if not line.startswith("#")) + "\n"
    assert [(rules.family, sorted(rules.tables))
            for rules in read(bare.encode())[0]] == [("ipv4", ["filter", "nat"]), ("ipv6", ["filter", "nat"])]
    mangle = bare.split("COMMIT\n", 1)[0].replace("*nat", "*mangle") + "COMMIT\n" + SAMPLE6.split("\n", 1)[1].split(
        "COMMIT\n")[0] + "COMMIT\n"
    assert [(rules.family, sorted(rules.tables))
            for rules in read(mangle.encode())[0]] == [("ipv4", ["mangle"]), ("ipv6", ["nat"])]


def test_tables_nft_alone_can_list_are_unknown_and_not_absent():
    text = "# Table `nat' is incompatible, use 'nft' tool.\n" + SAMPLE.split("Completed", 1)[1].split("\n", 1)[1]
    rules = parse_save(text)
    assert rules.unreadable == ["nat"] and sorted(rules.tables) == ["filter"]
    assert rules.notices == {"incompatible_table": 1}


def test_warnings_of_iptables():
    text = "# Table `filter' contains incompatible base-chains, use 'nft' tool to list them.\n"
    text += ("# Warning: iptables-legacy tables present, use iptables-legacy-save to see them\n# Warning: "
             "ip6tables-legacy tables present\n")
    rules = parse_save(SAMPLE + text)
    assert rules.notices == {"foreign_base_chain": 1, "legacy_tables_present": 2}
    assert rules.tables["filter"].complete and not rules.unreadable
