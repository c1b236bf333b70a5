# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of one rule as iptables-save prints it."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save_rule import is_open, read_rule

# libxtables/xtables.c xtables_save_string(): a text of these characters alone is printed without quotes.
SAFE = "_-" + string.digits + string.ascii_letters


def saved(text):
    """A value as iptables prints it."""
    if text and all(char in SAFE for char in text):
        return text
    return '"%s"' % "".join("\\" + char if char in "\"\\'" else char for char in text)


def fields(text):
    rule = read_rule(text)
    return rule and (rule.chain, rule.options, rule.matches, rule.comment, rule.target, rule.goto, rule.arguments)


@pytest.mark.parametrize(
    "text, wanted", [
        ("-A INPUT", ("INPUT", {}, [], None, None, False, [])),
        ("-A INPUT -j DROP", ("INPUT", {}, [], None, "DROP", False, [])),
        ("-A INPUT -g OTHER", ("INPUT", {}, [], None, "OTHER", True, [])),
        ("-A INPUT ! -s 10.0.0.0/8 -i eth0 -p tcp -j ACCEPT",
         ("INPUT", {"-s": ("10.0.0.0/8", True), "-i": ("eth0", False), "-p": ("tcp", False)}, [], None, "ACCEPT", False,
          [])),
        ("-A INPUT ! -f -j ACCEPT", ("INPUT", {"-f": ("", True)}, [], None, "ACCEPT", False, [])),
        ("-A INPUT -s ! 10.0.0.0/8 -j ACCEPT", ("INPUT", {"-s": ("10.0.0.0/8", True)}, [], None, "ACCEPT", False, [])),
        ("-A X -m mark ! --mark 0x4000/0x4000 -j RETURN",
         ("X", {}, [("mark", [("--mark", ["0x4000/0x4000"], True)])], None, "RETURN", False, [])),
        ("-A X -m set ! --match-set A src,dst -j DROP",
         ("X", {}, [("set", [("--match-set", ["A", "src,dst"], True)])], None, "DROP", False, [])),
        ("-A X -p tcp -m tcp --dport ! 80 -j DROP",
         ("X", {"-p": ("tcp", False)}, [("tcp", [("--dport", ["80"], True)])], None, "DROP", False, [])),
        ("-A X -p tcp -m tcp --tcp-flags SYN,RST SYN --dport 1:2 -j TCPMSS --clamp-mss-to-pmtu",
         ("X", {"-p": ("tcp", False)},
          [("tcp", [("--tcp-flags", ["SYN,RST", "SYN"], False), ("--dport", ["1:2"], False)])], None, "TCPMSS", False,
          [("--clamp-mss-to-pmtu", [], False)])),
        ("-A X -p udp --dport 53 -j Y",
         ("X", {"-p": ("udp", False)}, [("udp", [("--dport", ["53"], False)])], None, "Y", False, [])),
        ('-A X -m comment --comment "a -j DROP" -j ACCEPT', ("X", {}, [], "a -j DROP", "ACCEPT", False, [])),
        ("-A X -m comment --comment -j -j ACCEPT", ("X", {}, [], "-j", "ACCEPT", False, [])),
        ("-A X -m comment --comment one -m comment --comment two", ("X", {}, [], "one", None, False, [])),
        ('-A X -m comment --comment "" -j Y', ("X", {}, [], "", "Y", False, [])),
        (r'-A X -m comment --comment "it\'s \"q\" back\\slash" -j Y',
         ("X", {}, [], "it's \"q\" back\\slash", "Y", False, [])),
        ('-A X -j LOG --log-prefix "-j DROP " --log-level 7',
         ("X", {}, [], None, "LOG", False, [("--log-prefix", ["-j DROP "], False), ("--log-level", ["7"], False)])),
        ("-A X -m u32 --u32 0x0>>0x16=-1 -j TTL --ttl-set -1",
         ("X", {}, [("u32", [("--u32", ["0x0>>0x16=-1"], False)])], None, "TTL", False,
          [("--ttl-set", ["-1"], False)])),
    ])
def test_forms(text, wanted):
    assert fields(text) == wanted


@pytest.mark.parametrize("text",
                         [
                             "", "-A", "-D X -j Y", "-A X -j", "-A X -j Y -j Z", "-A X -j Y -g Z", "-A X -s", "-A X !",
                             "-A X ! -j Y", "-A X ! -m tcp", "-A X stray -j Y", '-A X -m comment --comment "open -j Y',
                             '-A X -m comment --comment "a"b -j Y', '-A X -m comment --comment a"b" -j Y',
                             "-A X -m tcp ! 80", '-A "" -j Y', "-A -j Y", '-A X -j ""',
                         ])
def test_what_is_no_rule(text):
    assert read_rule(text) is None


@given(st.text())
@example("\\")
@example('" -j DROP')
@example("-j")
@example("a\nCOMMIT")
@example("\0\x1b[2J\u2028\x85")
def test_any_comment_is_read_back_and_hides_nothing(comment):
    rule = read_rule("-A X -s 10.0.0.1/32 -m comment --comment %s -j DNAT --to-destination 10.0.0.2:80"
                     % saved(comment))
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
