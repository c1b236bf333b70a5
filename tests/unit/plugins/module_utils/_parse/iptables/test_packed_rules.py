# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that are kept as bytes are the same rules."""

import random

import pytest

import kube_audit
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables import save_lines
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.packed_rules import PackedRules

FIELDS = ("chain", "text", "target", "goto", "has_match", "has_arguments", "folded_before", "options", "matches",
          "arguments", "comment")
RULES = (
    "-A FORWARD -j DROP", "-A FORWARD -g USER", "-A FORWARD -p tcp",
    "-A FORWARD -m comment --comment \"a -j b\" -j USER", "-A FORWARD -j \"odd name\"",
    "-A FORWARD -m comment --comment \"\u00e4\U0001f600\" -j \u00dcBER", "-A FORWARD -j LOG --log-prefix \"-j DROP \"",
    "-A FORWARD -s 192.0.2.1/32 -j DROP", "-A FORWARD -m comment --comment \"two\nlines\" -j DROP",
)


def forward(rules):
    return kube_audit.read("*filter\n:FORWARD ACCEPT [0:0]\n:USER - [0:0]\n%sCOMMIT\n"
                           % "".join(rule + "\n" for rule in rules)).tables["filter"].chains[
                               "FORWARD"].rules


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
    seed = kube_audit.seed()
    found = []
    for kept in (1000000, 2000, 0):
        monkeypatch.setattr(save_lines, "_KEPT", kept)
        dice, lines = random.Random(seed), kube_audit.sample(name).split("\n")
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
                found.append((kept, kube_audit.observations([kube_audit.read("\n".join(damaged))], mode)))
    third = len(found) // 3
    assert [rows for _kept, rows in found[:third]] == [rows for _kept, rows in found[third:2 * third]] == [
        rows for _kept, rows in found[2 * third:]]
    assert any(rows for _kept, rows in found)
