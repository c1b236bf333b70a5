# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rule set in every form: what real iptables 1.8.9 and nft 1.0.6 printed of the rules of a real kube-proxy 1.36."""

import gzip
import pathlib
import re

import pytest
from case_rows import cases
from hypothesis import given, settings, strategies as st
from parsed_texts import parse_listing, parse_save, shown

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.dump_forms import is_plain
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import dump_fragments, listing
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.dump_forms import read_forms
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft import json_listing

FORMS = pathlib.Path(__file__).resolve().parents[5] / "fixtures" / "forms"
HEAD = " pkts bytes target     prot opt in     out     source               destination"
# (phrase of -L, match of a rule that drops) and (target, protocol and phrases, rule); what -L leaves out is left out of
# the rule, too.
MATCHES = [
    ("TTL match TTL < 2", "-m ttl --ttl-lt 2"), ("statistic mode nth every 2", "-m statistic --mode nth --every 2"),
    ("DSCP match 0x0a", "-m dscp --dscp 0x0a"), ("MAC 00:11:22:33:44:55", "-m mac --mac-source 00:11:22:33:44:55"),
    ("length 0:100", "-m length --length 0:100"), ("PKTTYPE = broadcast", "-m pkttype --pkt-type broadcast"),
    ("quota: 1000 bytes", "-m quota --quota 1000"), ("connmark match 0x1/0xf", "-m connmark --mark 0x1/0xf"),
    ('helper match "ftp"', "-m helper --helper ftp"), ('u32 "0x6&0xff=0x1"', '-m u32 --u32 "0x6&0xff=0x1"'),
    ('STRING match "foo" ALGO name bm', '-m string --string "foo" --algo bm'),
    ("policy match dir in pol ipsec proto 50", "-m policy --dir in --pol ipsec"),
    ("source IP range 10.0.0.1-10.0.0.9", "-m iprange --src-range 10.0.0.1-10.0.0.9"),
    ("destination IP range ! 10.0.0.1-10.0.0.9", "-m iprange ! --dst-range 10.0.0.1-10.0.0.9"),
    ("TIME from 01:00:00 to 02:00:00 UTC", "-m time --timestart 01:00:00 --timestop 02:00:00"),
    ("ctorigdst 10.96.0.1 ctorigdstport 443", "-m conntrack --ctorigdst 10.96.0.1 -m conntrack --ctorigdstport 443"),
    ("limit: above 5/sec burst 10 mode srcip",
     "-m hashlimit --hashlimit-above 5/sec --hashlimit-burst 10 --hashlimit-mode srcip"),
    ("recent: SET name: DEFAULT side: source mask: 255.255.255.255",
     "-m recent --set --name DEFAULT --mask 255.255.255.255 --rsource"),
    ("connbytes 100 connbytes mode bytes connbytes direction both",
     "-m connbytes --connbytes 100 --connbytes-mode bytes --connbytes-dir both")]
PRINTED = [("DROP 0 ... " + phrase, "-A FORWARD %s -j DROP" % match) for phrase, match in MATCHES] + [
    ("CT 6 ... CT notrack", "-A PREROUTING -p tcp -j CT --notrack"),
    ("TTL 0 ... TTL set to 64", "-A PREROUTING -j TTL --ttl-set 64"),
    ("DROP 0 ... cgroup 5", "-A OUTPUT -m cgroup --cgroup 5 -j DROP"),
    ("CT 6 ... CT helper ftp", "-A PREROUTING -p tcp -j CT --helper ftp"),
    ("NFQUEUE 0 ... NFQUEUE num 0", "-A FORWARD -j NFQUEUE --queue-num 0"),
    ("CONNMARK 0 ... CONNMARK save", "-A FORWARD -j CONNMARK --save-mark"),
    ("DSCP 0 ... DSCP set 0x0a", "-A POSTROUTING -j DSCP --set-dscp 0x0a"),
    ("DROP 50 ... esp spi:5", "-A FORWARD -p esp -m esp --espspi 5 -j DROP"),
    ("DROP 6 ... tcp spt:!5", "-A OUTPUT -p tcp -m tcp ! --sport 5 -j DROP"),
    ("DROP 1 ... icmptype 8", "-A OUTPUT -p icmp -m icmp --icmp-type 8 -j DROP"),
    ("MARK 0 ... MARK and 0x0", "-A FORWARD -j MARK --set-xmark 0x0/0xffffffff"),
    ('DROP 17 ... u32 "0x0=0x1"', '-A FORWARD -p udp -m u32 --u32 "0x0=0x1" -j DROP'),
    ("CLASSIFY 0 ... CLASSIFY set 1:10", "-A POSTROUTING -j CLASSIFY --set-class 1:10"),
    ("CHECKSUM 17 ... CHECKSUM fill", "-A POSTROUTING -p udp -j CHECKSUM --checksum-fill"),
    ("CONNMARK 0 ... CONNMARK set 0x1", "-A FORWARD -j CONNMARK --set-xmark 0x1/0xffffffff"),
    ("CONNMARK 0 ... CONNMARK restore mask 0xff", "-A FORWARD -j CONNMARK --restore-mark --mask 0xff"),
    ("NFQUEUE 0 ... NFQUEUE balance 0:3 bypass", "-A FORWARD -j NFQUEUE --queue-balance 0:3 --queue-bypass"),
    ("NFLOG 0 ... nflog-prefix hello nflog-group 5", "-A FORWARD -j NFLOG --nflog-prefix hello --nflog-group 5"),
    ("NETMAP 0 -- * * 10.0.0.0/8 0.0.0.0/0 to:10.9.0.0/16", "-A POSTROUTING -s 10.0.0.0/8 -j NETMAP --to 10.9.0.0/16"),
    ("REJECT 6 ... tcp flags:0x17/0x02 #conn src/32 > 60 reject-with icmp-port-unreachable",
     "-A FORWARD -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -m connlimit --connlimit-above 60 "
     "--connlimit-mask 32 --connlimit-saddr -j REJECT --reject-with icmp-port-unreachable"),
    ("DROP 0 ... owner UID match 1000 owner GID match 5",
     "-A OUTPUT -m owner --uid-owner 1000 -m owner --gid-owner 5 -j DROP"),
    ("TPROXY 6 ... TPROXY redirect 0.0.0.0:123 mark 0x1/0x1",
     "-A PREROUTING -p tcp -j TPROXY --on-port 123 --on-ip 0.0.0.0 --tproxy-mark 0x1/0x1")]
SERVICES = ["Chain KUBE-SERVICES (2 references)", "target     prot opt source               destination",
            "KUBE-SVC-A  tcp  --  anywhere  10.96.0.1  /* default/kubernetes:https cluster IP */%s",
            "KUBE-NODEPORTS  all  --  anywhere  anywhere  /* kubernetes service nodeports; NOTE: this must be the last "
            "rule in this chain */%s"]


def sample(name):
    return gzip.decompress((FORMS / (name + ".gz")).read_bytes()).decode()


def filter_table(text):
    return read_forms(text, "x.txt").rule_sets[0].tables["filter"]


SAVE = sample("save.txt")


def rules_of(rule_sets, table):
    """The rules of a table, folded or not, as a count for each chain; and the chains."""
    found = [rules.tables[table] for rules in rule_sets if table in rules.tables]
    assert len(found) == 1
    return found[0].rule_counts(), found[0].complete


WHOLE = {table: rules_of([parse_save(SAVE)], table)[0] for table in ("filter", "nat")}


@cases
def test_every_form_holds_the_same_rules(name, table, family, backend):
    found = read_forms(sample(name), name)
    assert rules_of(found.rule_sets, table) == (WHOLE[table], True)
    assert [(rules.family, rules.backend) for rules in found.rule_sets] == [(family, backend)]


@pytest.mark.parametrize("name", ["Lv.txt", "Lv-nat.txt", "L-nat.txt", "S-nat.txt", "S-filter.txt"])
def test_listings_are_put_into_the_words_of_iptables_save(name):
    """Each rule, word for word; nft alone keeps no comments."""
    told = (dump_fragments if name.startswith("S") else listing).save_text_of(sample(name).rstrip("\n").split("\n"))
    printed = SAVE[SAVE.index("*" + told.table):].partition("COMMIT")[0]
    assert [line.replace('"', "") for line in printed.splitlines()
            if line.startswith("-A")] == [text.replace('"', "") for text in told.rules]


@pytest.mark.parametrize(
    "change", [
        lambda text: "root@node-1:~# iptables-save\n" + text + "root@node-1:~# lsmod\nModule  Size  Used by\n",
        lambda text: "\n".join("2026-11-22T10:00:00.123456789Z stderr F " + line for line in text.split("\n")),
        lambda text: 'I1122 10:00:00.123456       1 proxier.go:1500] "Restoring" rules="'
        + text.replace('"', '\\"').replace("\n", "\\n") + '"\n', lambda text: "```\n" + text + "```\n",
        lambda text: "\n".join("> " + line for line in text.split("\n")), lambda text: "somebody writes:\n"
        + text.replace("\n", "\r\n"), lambda text: "# a remark\n" + re.sub("^", "\t", text, flags=re.M)
        + "\nend of it\n", lambda text: "x\n" + re.sub("^-A", "[12:3456] -A", text, flags=re.M),
    ], ids=["prompt", "CRI log", "one line of klog", "fence", "quoted", "CR", "tabs", "counters"])
def test_what_stands_around_rules_is_taken_off(change):
    found = read_forms(change(SAVE), "x.txt")
    assert len(found.rule_sets) == 1 and found.rule_sets[0].family == "ipv4"
    assert [rules_of(found.rule_sets, table)
            for table in ("filter", "nat")] == [(WHOLE["filter"], True), (WHOLE["nat"], True)]


def test_a_fragment_goes_to_the_table_of_its_chains():
    fragment = "\n".join(line for line in SAVE.split("\n") if not line.startswith(("*", "#", "COMMIT")))
    found = read_forms(fragment, "x.txt")
    assert len(found.rule_sets) == 1 and sorted(found.rule_sets[0].tables) == ["filter", "mangle", "nat"]
    for table in ("filter", "nat"):
        assert rules_of(found.rule_sets, table) == (WHOLE[table], False)


@cases
def test_a_single_rule_tells_its_table(line, table):
    for text in (line, line + "\n"):
        assert [list(rules.tables) for rules in read_forms(text, "x.txt").rule_sets] == [[table]]


def test_families_and_backends_beside_each_other():
    six = "-P INPUT ACCEPT\n-P FORWARD DROP\n-P OUTPUT ACCEPT\n-N KUBE-FORWARD\n-A FORWARD -j KUBE-FORWARD\n"
    text = "$ iptables-nft -S\n%s$ ip6tables-legacy -S\n%s$ ip6tables-nft -t nat -S\n%s" % (
        sample("S-filter.txt"), six, "-P PREROUTING ACCEPT\n-P INPUT ACCEPT\n-P OUTPUT ACCEPT\n-P POSTROUTING ACCEPT\n")
    assert [(rules.family, rules.backend, sorted(rules.tables)) for rules in read_forms(text, "x.txt").rule_sets] == [
        ("ipv4", "nft", ["filter"]), ("ipv6", "legacy", ["filter"]), ("ipv6", "nft", ["nat"])]


@pytest.mark.parametrize("at", range(200, len(sample("Lv-nat.txt")), 4001))
@pytest.mark.parametrize("name", ["Lv-nat.txt", "nft.txt", "S-nat.txt"])
def test_a_listing_that_breaks_off_is_not_whole(name, at):
    text = sample(name)
    if at < len(text) - 400:
        found = [rules.tables["nat"] for rules in read_forms(text[:at], "x.txt").rule_sets if "nat" in rules.tables]
        assert not any(table.complete for table in found)


@pytest.mark.parametrize("last, whole", [
    ("-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", True), ("-m conntrack --ctstate INVALID -j DROP", False),
    ("-s 10.244.0.0/16 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", False)])
def test_chains_of_kube_proxy_that_most_nodes_have_no_rules_in(last, whole):
    """Beyond the last rule of KUBE-FORWARD; any other chain that rules lead to has rules."""
    text = ("-P INPUT ACCEPT\n-P FORWARD DROP\n-P OUTPUT ACCEPT\n-N KUBE-FORWARD\n-N KUBE-SERVICES\n%s"
            "-A FORWARD -j KUBE-FORWARD\n-A FORWARD -j KUBE-SERVICES\n%s-A KUBE-FORWARD " + last + "\n")
    assert [filter_table(text % more).complete for more in (("", ""), ("-N MINE\n", "-A FORWARD -j MINE\n"))] == [
        whole, False]


def test_interfaces_that_are_not_printed_are_not_guessed():
    """iptables -L prints `-i lo -j ACCEPT` as a rule for all packets."""
    table = filter_table("Chain INPUT (policy DROP)\ntarget     prot opt source               destination\nACCEPT     "
                         "all  --  anywhere   anywhere\n\nChain FORWARD (policy DROP)\n\nChain OUTPUT (policy ACCEPT)\n")
    assert (table.rule_counts()["INPUT"], table.complete) == (0, False)


def test_policy_counters():
    text = "".join("Chain %s (policy %s packets, 2 bytes)\n\n" % row
                   for row in (("INPUT", "ACCEPT 0"), ("FORWARD", "DROP 12K"), ("OUTPUT", "ACCEPT 1")))
    assert filter_table(text).chains["FORWARD"].packets == 12000
    assert parse_save("*filter\n:FORWARD DROP [57:3456]\nCOMMIT\n").tables["filter"].chains["FORWARD"].packets == 57
    text = "-P INPUT ACCEPT -c 0 0\n-P FORWARD DROP -c 57 99\n-P OUTPUT ACCEPT -c 0 0\n"
    assert filter_table(text).chains["FORWARD"].packets == 57


@cases
def test_what_holds_no_rules(text):
    assert read_forms(text, "x.txt").rule_sets == []


def test_json_says_what_the_text_says_and_leaves_its_tables_open_where_it_breaks_off():
    text, notices = parse_listing(sample("kube-proxy-1.36.3-nft.txt"))
    found, noted = parse_listing(json_listing.find_ruleset(sample("kube-proxy-1.36.3-nft.json")))
    assert (shown(found, False), noted, notices) == (shown(text, False), {}, {}) and len(text) == 2
    handles = read_forms(sample("kube-proxy-1.36.3-nft-a.txt"), "x.txt").nft
    assert shown(parse_listing(handles)[0]) == shown(text)
    for at in range(100, len(sample("kube-proxy-1.36.3-nft.json")), 9973):
        cut = json_listing.find_ruleset(sample("kube-proxy-1.36.3-nft.json")[:at])
        assert not any(table.complete for table in parse_listing(cut)[0].values())


@pytest.mark.parametrize("text", [
    '{"nftables": [{"table": {"family": "ip", "name": "x {"}}]}',
    '{"nftables": [{"rule": {"family": "ip", "table": "t", "chain": "c", "expr": 7}}]}',
    '{"nftables": [{"chain": {"family": ["ip"], "table": "t", "name": "c"}}, 7, null, [], {"a": 1, "b": 2}]}',
    '{"nftables": [{"set": {"family": "ip", "table": "t", "name": "c", "elem": [{"a": {"b": 1}}]}}]}',
    '{"nftables": [' + "[" * 100000])
def test_hostile_json_is_no_rule(text):
    assert not any(table.chains for table in parse_listing(json_listing.find_ruleset(text))[0].values())


@pytest.mark.parametrize("text", ["\\" * 200000, "@" * 200000, "a@b:" * 50000, ">" * 200000, "\\n:a" * 60000,
                                  "#-A A " * 40000, "-A " * 60000, "Chain x (1 references)\n" + "/* " * 60000,
                                  "table ip nat {\n" + "{" * 100000, "[1:1] " * 40000], ids=lambda text: text[:8])
def test_hostile_lines_come_to_an_end(text):
    assert sum(table.rule_counts().get("x", 0) for rules in read_forms(text, "x.txt").rule_sets
               for table in rules.tables.values()) == 0


@given(st.data())
@settings(max_examples=60)
def test_damaged_text_never_raises(data):
    text = sample(data.draw(st.sampled_from(["save.txt", "Lv-nat.txt", "S-nat.txt", "nft.txt",
                                             "kube-proxy-1.36.3-nft.txt", "nft.json"])))
    for _change in range(data.draw(st.integers(1, 8))):
        at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 300))
        text = text[:at] + data.draw(st.text(max_size=20)) + text[at + length:]
    found = read_forms(text, "x.txt")
    assert all(rules.tables or rules.unreadable for rules in found.rule_sets)


@pytest.mark.parametrize("prompt", ["# ", "$ ", "root@node-1:~# "])
@pytest.mark.parametrize("command, whole", [
    ("iptables-save", True), ("iptables-save | grep -v KUBE", False), ("sudo iptables-save -t filter |sed 5d", False)])
def test_what_a_filter_passed_on_is_no_whole_table(prompt, command, whole):
    """The prompt of root alone looks like a comment of iptables-save."""
    text = prompt + command + "\n*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n"
    read = [parse_save(text)]
    if not is_plain(read):
        read = read_forms(text, "x.txt").rule_sets
    assert read[0].tables["filter"].complete == whole


@pytest.mark.parametrize("printed, rule", PRINTED)
def test_phrases(printed, rule):
    line = "    0     0 " + printed.replace(" ... ", " --  *      *       0.0.0.0/0            0.0.0.0/0            ")
    told = listing.save_text_of(["Chain %s (policy ACCEPT 0 packets, 0 bytes)" % rule.split()[1], HEAD, line])
    assert (told.rules, told.unread) == ([rule], [])


def test_phrases_that_are_not_known_or_have_lost_their_ends_are_not_read():
    told = listing.save_text_of(["Chain FORWARD (policy ACCEPT 0 packets, 0 bytes)", HEAD, "    0     0 DROP       "
                                 "0    --  *      *       0.0.0.0/0            0.0.0.0/0            made up words"])
    assert not told.rules and len(told.unread) == 1
    whole = listing.save_text_of([SERVICES[0], SERVICES[1], SERVICES[2] % " tcp dpt:443",
                                  SERVICES[3] % " ADDRTYPE match dst-type LOCAL"])
    assert len(whole.rules) == 2 and not whole.unread
    cut = listing.save_text_of([SERVICES[0], SERVICES[1], SERVICES[2] % "", SERVICES[3] % ""])
    assert not cut.rules and len(cut.unread) == 2


@pytest.mark.parametrize("columns, whole", [([HEAD, ""], True), ([], False)], ids=["listed", "picked out by grep"])
def test_headings_of_chains_alone_are_no_whole_table(columns, whole):
    lines = [line for chain in ("INPUT (policy ACCEPT)", "FORWARD (policy DROP)", "OUTPUT (policy ACCEPT)")
             for line in ["Chain " + chain, *columns]]
    assert listing.save_text_of(lines).whole == whole
