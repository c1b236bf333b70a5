# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of modprobe.d files."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modprobe_conf import (
    parse_modprobe_conf, soft_dependencies)

NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))

SAMPLE = """\
# Deny what the benchmark lists
blacklist nf-conntrack
install ip_vs /bin/true
install  usb-storage\t/sbin/modprobe --ignore-install usb-storage && /bin/true
alias ipt_comment off
options nf_conntrack hashsize=65536 acct=1
softdep br_netfilter pre: bridge post: overlay
include /etc/other
nonsense
"""


def rows(text):
    return [(each.line, each.keyword, each.name, each.rest) for each in parse_modprobe_conf(text)[0]]


def test_a_real_file():
    assert rows(SAMPLE) == [
        (2, "blacklist", "nf_conntrack", ""),
        (3, "install", "ip_vs", "/bin/true"),
        (4, "install", "usb_storage", "/sbin/modprobe --ignore-install usb-storage && /bin/true"),
        (5, "alias", "ipt_comment", "off"),
        (6, "options", "nf_conntrack", "hashsize=65536 acct=1"),
        (7, "softdep", "br_netfilter", "pre: bridge post: overlay"),
    ]
    assert parse_modprobe_conf(SAMPLE)[1] == [(9, "nonsense")]


@pytest.mark.parametrize("text, wanted", [
    ("blacklist \\\nip_vs\n", [(1, "blacklist", "ip_vs", "")]),
    ("blacklist ip_\\\nvs\nblacklist a\n", [(1, "blacklist", "ip_vs", ""), (3, "blacklist", "a", "")]),
    ("# a comment \\\nblacklist ip_vs\n", []),
    ("options a b=\\\\\nblacklist ip_vs\n", [(1, "options", "a", "b=\\"), (2, "blacklist", "ip_vs", "")]),
    ("install a /bin/tr\\ue\n", [(1, "install", "a", "/bin/true")]),
    ("blacklist ip_vs\\", [(1, "blacklist", "ip_vs", "")]),
    ("\t blacklist   ip_vs  and more\n", [(1, "blacklist", "ip_vs", "and more")]),
    ("blacklist ip_vs\0rest\n", [(1, "blacklist", "ip_vs", "")]),
])
def test_lines_are_cut_as_kmod_cuts_them(text, wanted):
    assert rows(text) == wanted


@pytest.mark.parametrize(
    "line", [
        "blacklist", "install ip_vs", "install ip_vs   ", "alias a", "softdep a", "Blacklist a", "blacklist\u00a0ip_vs",
        "blacklist\x0bip_vs", "blacklist ip_vs\r", "\0blacklist ip_vs", "\x7fELF\x02",
    ])
def test_lines_without_effect_are_reported(line):
    assert parse_modprobe_conf(line + "\n") == ([], [(1, line.strip())])


def test_soft_dependencies():
    assert soft_dependencies("pre: a-b c post: d") == ["a_b", "c", "d"]
    assert soft_dependencies("a pre: b") == ["b"]
    assert soft_dependencies("a b") == []
    assert soft_dependencies("") == []


@given(st.text())
@example("\\\n\\\n")
@example("include x\n#\n\x1c")
def test_no_line_is_lost(text):
    directives, unread = parse_modprobe_conf(text)
    numbers = {each.line for each in directives} | {number for number, _line in unread}
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        start = start or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            continue
        whole = " ".join(text.split("\n")[start - 1:number])
        seen = "".join(piece[:-1] for piece in text.split("\n")[start - 1:number - 1]) + line
        words = seen.split()
        assert (start in numbers or not seen.strip() or words[0].startswith("#")
                or words[0] in ("include", "config")), whole
        start = None


@given(st.lists(st.tuples(st.sampled_from(["blacklist %s", "install %s /bin/true", "alias %s off", "# %s", ""]),
                          NAMES)))
def test_line_numbers_are_those_of_the_file(lines):
    text = "\n".join(form % name if "%" in form else form for form, name in lines)
    assert [(each.line, each.name) for each in parse_modprobe_conf(text)[0]] == [
        (number, name) for number, (form, name) in enumerate(lines, 1) if form and not form.startswith("#")]
