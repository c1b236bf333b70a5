# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding of kube-proxy's service rules: what is folded, what is not, and that every answer is the same without it."""

import random

import kube_audit
import kube_cluster
import kube_dumps
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._chains.services import ask_services, digest, list_services
from ansible_collections.kubenode.netfilter.plugins.module_utils._chains.setting import Setting
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse import iptables_save
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables_save import SaveReader, parse_save

SETTING = Setting(None, None, "iptables", None, None, {})
VERSIONS = ((1, 20), (1, 24), (1, 30), (1, 34))
SVC, SEP, OTHER = "KUBE-SVC-AAAAAAAAAAAAAAAA", "KUBE-SEP-AAAAAAAAAAAAAAAA", "KUBE-SEP-BBBBBBBBBBBBBBBB"
COMMENT = '-m comment --comment "ns/name:port"'


def read(text, folding=True):
    reader = SaveReader("live", folding=folding)
    reader.feed(text.encode("utf-8", "surrogatepass"))
    return reader.close(), reader.lines


def answers(rule_sets, lines):
    """What is asked of rule sets, in a form that does not tell how they hold their rules."""
    said = [lines]
    for rules in rule_sets:
        services = list_services(rules)
        said.append((rules.family, rules.backend, rules.notices, services and sorted(services), digest(services),
                     sorted(map(str, ask_services(rules, SETTING)))))
        for name, table in rules.tables.items():
            assert table.targets() == set(table.references())
            said.append((name, table.complete, table.packets, table.references(), table.rule_counts(), sorted(table.duplicates()),
                         [(chain.name, chain.policy, chain.declared) for chain in table.chains.values()]))
    return said


def nat(*rules):
    return "*nat\n:PREROUTING ACCEPT [0:0]\n" + "".join(rule + "\n" for rule in rules) + "COMMIT\n*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"


def left(*rules):
    """Texts of the rules that were not folded."""
    table = parse_save(nat(*rules)).tables["nat"]
    return [rule.text for chain in table.chains.values() for rule in chain.rules]


@pytest.fixture(scope="module", params=[(version, backend, family, counters) for version in VERSIONS for backend in kube_dumps.BACKENDS
                                        for family in kube_dumps.FAMILIES for counters in (False, True)], ids=str)
def dump(request):
    version, backend, family, counters = request.param
    return kube_dumps.node_dump(version, "iptables", backend, kube_cluster.every_kind(family), counters=counters)[0]


def test_a_real_dump_says_the_same_with_and_without(dump):
    assert answers(*read(dump)) == answers(*read(dump, False))
    assert answers(*read(dump))[0]["unread"] == 0


def test_what_kube_proxy_writes_is_folded(dump):
    table = read(dump)[0][0].tables["nat"]
    assert len(table.services.endpoints) == sum(1 for name in table.chains if name.startswith("KUBE-SEP-")) > 20
    refusing = set(name for name, chain in table.chains.items() if any(rule.target == "KUBE-MARK-DROP" for rule in chain.rules))
    assert set(table.services.balancing) == set(name for name in table.chains if name.startswith(("KUBE-SVC-", "KUBE-SVL-"))) - refusing
    assert table.services.affinity
    texts = [rule.text for chain in table.chains.values() for rule in chain.rules]
    assert [text for text in texts if text.startswith(("-A KUBE-SEP-", "-A KUBE-SV")) and "KUBE-MARK-DROP" not in text] == []
    assert [text for text in texts if text.startswith("-A KUBE-SERVICES") and "KUBE-MARK-MASQ" not in text and "addrtype" not in text] == []


@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_rules_of_a_large_cluster_have_no_comment_and_are_folded(backend, family):
    cluster = kube_cluster.plain_cluster(family, 340, 3)
    text = kube_dumps.node_dump((1, 30), "iptables", backend, cluster)[0]
    table = read(text)[0][0].tables["nat"]
    assert len(table.services.endpoints) == 1020
    assert sum(len(chain.rules) for chain in table.chains.values()) < 20
    assert sum(table.rule_counts().values()) > kube_cluster.cluster_ip_rules(cluster)


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_pieces_do_not_change_what_is_folded(backend, monkeypatch):
    source = random.Random(kube_audit.seed())
    text = kube_dumps.node_dump((1, 30), "iptables", backend, kube_cluster.every_kind("ipv4"))[0].encode()

    def shapes(size, block):
        monkeypatch.setattr(iptables_save, "_BLOCK", block)
        reader = SaveReader("live")
        for place in range(0, len(text), size):
            reader.feed(text[place:place + size])
        table = reader.close()[0].tables["nat"]
        services = table.services
        return [services.jumps, services.balancing, services.endpoints, services.affinity, services.masquerading,
                [(name, [rule.text for rule in chain.rules]) for name, chain in table.chains.items()]]
    wanted = shapes(1 << 20, 1 << 20)
    for _try in range(15):
        assert shapes(source.randrange(1, 3000), source.randrange(1, 3000)) == wanted


def damaged(text, source):
    """A dump with a few lines gone, doubled, moved, cut or changed."""
    rows = text.split("\n")
    for _change in range(source.randrange(1, 8)):
        place = source.randrange(len(rows))
        sort = source.randrange(8)
        if sort == 0:
            del rows[place]
        elif sort == 1:
            rows.insert(source.randrange(len(rows)), rows[place])
        elif sort == 2:
            rows.insert(place, rows[place])
        elif sort == 3:
            rows.insert(source.randrange(len(rows)), rows.pop(place))
        elif sort == 4:
            words = rows[place].split(" ")
            del words[source.randrange(len(words))]
            rows[place] = " ".join(words)
        elif sort == 5:
            rows[place] = rows[place][:source.randrange(len(rows[place]) + 1)]
        elif sort == 6:
            words, others = rows[place].split(" "), source.choice(rows).split(" ")
            words[source.randrange(len(words))] = source.choice(others)
            rows[place] = " ".join(words)
        else:
            rows[place] = rows[place].replace("ns", 'n"s\n-A %s -j %s\n' % (SVC, SEP)) if source.random() < 0.5 else '"' + rows[place]
        rows = rows or [""]
    return "\n".join(rows)


@pytest.mark.parametrize("backend, family", [(backend, family) for backend in kube_dumps.BACKENDS for family in kube_dumps.FAMILIES])
def test_a_damaged_dump_says_the_same_with_and_without(backend, family):
    source = random.Random(kube_audit.seed())
    text = kube_dumps.node_dump(source.choice(VERSIONS), "iptables", backend, kube_cluster.every_kind(family), counters=source.random() < 0.5)[0]
    for _try in range(60):
        broken = damaged(text, source)
        assert answers(*read(broken)) == answers(*read(broken, False))


ROWS = st.sampled_from([
    ":%s - [0:0]" % SVC, ":%s - [0:0]" % SEP, ":%s - [0:0]" % OTHER,
    "-A %s -s 10.0.0.1/32 %s -j KUBE-MARK-MASQ" % (SEP, COMMENT), "-A %s -p tcp %s -m tcp -j DNAT --to-destination 10.0.0.1:80" % (SEP, COMMENT),
    "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.2:80" % SEP, "-A %s -s 10.0.0.2/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -j DROP" % SEP,
    "-A %s -s fd00::1/128 -j KUBE-MARK-MASQ" % OTHER, "-A %s -p udp -m udp -j DNAT --to-destination [fd00::1]:53" % OTHER,
    "-A %s -p udp -m recent --set --name %s --mask 255.255.255.255 --rsource -m udp -j DNAT --to-destination [fd00::1]:53" % (OTHER, OTHER),
    "-A %s -m statistic --mode random --probability 0.50000000000 -j %s" % (SVC, SEP), "-A %s %s -j %s" % (SVC, COMMENT, OTHER),
    "-A %s %s -j %s" % (SVC, COMMENT, SEP), "-A %s -m statistic --mode random --probability 0.33333333349 -j %s" % (SVC, OTHER),
    "-A %s -m statistic --mode nth --every 2 --packet 0 -j %s" % (SVC, SEP), '-A %s -m comment --comment "odd\\\\" -j %s' % (SVC, SEP),
    "-A %s -m recent --rcheck --seconds 10800 --reap --name %s --mask 255.255.255.255 --rsource -j %s" % (SVC, SEP, SEP),
    "-A %s ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp %s -m tcp --dport 80 -j KUBE-MARK-MASQ" % (SVC, COMMENT), "-A %s -j KUBE-MARK-MASQ" % SVC,
    "-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp %s -m tcp --dport 80 -j %s" % (COMMENT, SVC), "-A KUBE-SERVICES -p tcp -m tcp --dport 80 -j %s" % SVC,
    "-A KUBE-SERVICES -d 10.96.0.0/16 -p tcp -m tcp --dport 80 -j %s" % SVC, "-A KUBE-SERVICES -j KUBE-NODEPORTS",
    '-A KUBE-SERVICES -d 10.96.0.1/32 -p udp -m comment --comment "a\\"b x" -m udp --dport 53 -j %s' % SVC,
    "-A KUBE-NODEPORTS -p tcp %s -m tcp --dport 30000 -j KUBE-EXT-AAAAAAAAAAAAAAAA" % COMMENT, "-A KUBE-EXT-AAAAAAAAAAAAAAAA -j %s" % SVC,
    "-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp %s -m nfacct --nfacct-name n -m tcp --dport 30000 -j KUBE-EXT-AAAAAAAAAAAAAAAA" % COMMENT,
    "[1:2] -A %s -s 10.0.0.1/32 %s -j KUBE-MARK-MASQ" % (SEP, COMMENT), "", "COMMIT", "*filter", "*nat", "garbage", '-A X -m comment --comment "',
    "# Generated by ip6tables-save v1.8.9 on x", "  -A %s -j %s  " % (SVC, SEP)])


@given(st.lists(ROWS, max_size=25))
def test_any_lines_say_the_same_with_and_without(rows):
    text = nat(*rows)
    assert answers(*read(text)) == answers(*read(text, False))


@pytest.mark.parametrize("rules", [
    ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.2:80" % SEP],
    ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m udp -j DNAT --to-destination 10.0.0.1:80" % SEP],
    ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80" % OTHER],
    ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -j DNAT --to-destination 10.0.0.1:80" % SEP],
    ["-A %s -s 10.0.0.1/31 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80" % SEP],
    ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80 --random" % SEP],
    ["-A %s -s fd00::1/128 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination fd00::1:80" % SEP],
    ["-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80" % SEP, "-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP],
    ["-A %s -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80" % SEP],
    ["-A %s -g %s" % (SVC, SEP)], ["-A %s -j KUBE-MARK-MASQ" % SVC], ["-A %s -m statistic --mode random --probability 0.5 -j %s" % (SVC, SEP)],
    ["-A KUBE-SERVICES -p tcp -m tcp --dport 80 -j %s" % SVC], ["-A KUBE-SERVICES -d 10.96.0.1/32 -j %s" % SVC],
    ["-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m udp --dport 80 -j %s" % SVC], ["-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 80:81 -j %s" % SVC],
    ["-A KUBE-SERVICES ! -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j %s" % SVC],
    ["-A KUBE-NODEPORTS -d 127.0.0.0/8 -p tcp -m tcp --dport 80 -j KUBE-EXT-AAAAAAAAAAAAAAAA"],
])
def test_what_is_not_exactly_kube_proxys_rule_stays_a_rule(rules):
    assert left(*rules) == rules


def test_what_stands_out_of_place_stays_a_rule():
    balancing = "-A %s -j %s" % (SVC, SEP)
    masquerade = "-A %s ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC
    assert left(masquerade, balancing) == []
    assert left(balancing, masquerade) == [masquerade]
    pair = ["-A %s -s 10.0.0.1/32 -j KUBE-MARK-MASQ" % SEP, "-A %s -p tcp -m tcp -j DNAT --to-destination 10.0.0.1:80" % SEP]
    assert left(*(pair + pair)) == pair


def test_nothing_is_folded_outside_of_nat():
    text = nat().replace("*nat", "*mangle").replace("COMMIT", "-A %s -j %s\nCOMMIT" % (SVC, SEP), 1)
    assert [rule.text for rule in parse_save(text).tables["mangle"].chains[SVC].rules] == ["-A %s -j %s" % (SVC, SEP)]


def test_the_order_among_folded_rules_is_known():
    jump = "-A KUBE-SERVICES -d 10.96.0.%d/32 -p tcp -m tcp --dport 80 -j %s"
    table = parse_save(nat("-A KUBE-SERVICES -j FIRST", jump % (1, SVC), jump % (2, SVC), "-A KUBE-SERVICES -j LAST")).tables["nat"]
    assert [(rule.target, rule.folded_before) for rule in table.chains["KUBE-SERVICES"].rules] == [("FIRST", 0), ("LAST", 2)]
