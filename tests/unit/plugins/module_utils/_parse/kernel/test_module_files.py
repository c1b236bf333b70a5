# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of kmod and depmod."""

import pytest
from hypothesis import example, given, strategies as st
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modprobe_conf import (
    parse_modprobe_conf, soft_dependencies)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_alias import find_alias
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_builtin import (
    parse_modules_builtin, parse_modules_builtin_modinfo)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_dep import (
    dependencies_of, parse_modules_dep)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_load import parse_modules_load


# Parser of modprobe.d files.

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


@cases
def test_lines_are_cut_as_kmod_cuts_them(text, wanted):
    assert rows(text) == wanted


@cases
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


# Search in modules.alias.

SAMPLE_MODULES_ALIAS = """\
# Aliases extracted from modules themselves.
alias nf_conntrack-2 nf_conntrack
alias nf_conntrack-10 nf_conntrack
alias ip_conntrack nf_conntrack
alias ipt_MASQUERADE xt_MASQUERADE
alias nft-chain-2-nat nft_chain_nat
alias nft-expr-* nft_some
alias rtnl-link-vxlan vxlan
alias pci:v00008086d00001234sv*sd*bc*sc*i* e1000e
alias twice first
alias twice second-one
alias broken
"""


@cases
def test_exact_and_pattern(name, modules):
    assert find_alias(SAMPLE_MODULES_ALIAS, name) == modules


def test_dos_line_endings_and_blanks():
    assert find_alias("alias a_b c\r\nalias a_b d \t\n", "a-b") == ["c", "d"]


@given(st.text(), st.text(min_size=1))
@example("alias [ x", "[")
@example("alias *[!] x", "*[")
def test_any_text_is_searched_without_an_exception(text, name):
    assert isinstance(find_alias(text, name), list)


@given(NAMES, NAMES, st.text(alphabet="ab -_\n#"))
def test_an_alias_is_found_wherever_it_stands(alias, module, around):
    assert module in find_alias("%s\nalias %s %s\n%s" % (around, alias, module, around), alias)


# Parsers of modules.builtin and modules.builtin.modinfo.

def test_names_and_paths():
    modules, unread = parse_modules_builtin("kernel/net/bridge/bridge.ko\nkernel/crypto/crc32c-generic.ko\n\n")
    assert modules == {"bridge": "kernel/net/bridge/bridge.ko", "crc32c_generic": "kernel/crypto/crc32c-generic.ko"}
    assert unread == []


def test_lines_that_name_no_module_are_reported():
    assert parse_modules_builtin("kernel/net/bridge\n\x7fELF\n") == ({}, ["kernel/net/bridge", "\x7fELF"])


@given(st.text())
def test_no_line_is_lost_modules_builtin(text):
    modules, unread = parse_modules_builtin(text)
    for line in text.splitlines():
        assert not line.strip() or line in unread or _names.of_file(line.strip()) in modules


def test_aliases_of_builtin_modules():
    text = ("nf_conntrack.alias=nf_conntrack-2\0nf_conntrack.license=GPL\0ip-set.alias=nfnetlink-subsys-6\0broken\0="
            "\0a.alias\0")
    assert parse_modules_builtin_modinfo(text) == {"nf_conntrack-2": "nf_conntrack", "nfnetlink-subsys-6": "ip_set"}


@given(st.text())
def test_any_modinfo_is_read_without_an_exception(text):
    aliases = parse_modules_builtin_modinfo(text)
    assert all(isinstance(alias, str) and isinstance(name, str) for alias, name in aliases.items())


# Parser of modules.dep.

def test_paths_and_dependencies_by_name():
    modules, unread = parse_modules_dep(
        "kernel/net/netfilter/nf_nat.ko.xz: kernel/net/netfilter/nf_conntrack.ko.xz kernel/lib/libcrc32c.ko.xz\n"
        "kernel/net/netfilter/nf-defrag-x.ko.zst:\n"
        "/lib/modules/5.14.0-70/extra/kmod-x/ip_vs.ko:\n")
    assert {name: (path, dependencies_of(needs)) for name, (path, needs) in modules.items()} == {
        "nf_nat": ("kernel/net/netfilter/nf_nat.ko.xz", ["nf_conntrack", "libcrc32c"]),
        "nf_defrag_x": ("kernel/net/netfilter/nf-defrag-x.ko.zst", []),
        "ip_vs": ("/lib/modules/5.14.0-70/extra/kmod-x/ip_vs.ko", []),
    }
    assert unread == []


def test_lines_that_name_no_module_are_reported_modules_dep():
    assert parse_modules_dep("kernel/x.ko\nkernel/readme.txt:\n: a.ko\n\n") == ({}, ["kernel/x.ko",
                                                                                     "kernel/readme.txt:", ": a.ko"])


def test_a_path_that_no_system_call_takes_is_no_path():
    for path in ("ker\0nel/nf_nat.ko:", "kern\u00e4l/nf_nat.ko:", "kern\ufffdl/nf_nat.ko:"):
        assert parse_modules_dep(path + "\n") == ({}, [path])


@given(st.text(st.sampled_from("ab./:-ko \n\r\x0c")))
@example("a.ko.gz.ko:\nb/.ko:\n")
def test_a_sound_line_reads_the_same_among_unsound_ones(text):
    alone = parse_modules_dep(text)
    assert parse_modules_dep(text + "\n\x07:\n") == (alone[0], alone[1] + ["\x07:"])


@given(st.text())
@example("\x0c.ko:")
def test_no_line_is_lost_modules_dep(text):
    modules, unread = parse_modules_dep(text)
    for line in text.splitlines():
        assert not line.strip() or line in unread or _names.of_file(line.partition(":")[0]) in modules


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=4)),
       st.sampled_from(_names.COMPRESSIONS))
def test_what_depmod_writes_is_read_back(needs, compression):
    def path(name):
        return "kernel/%s.ko%s" % (name, compression)

    text = "".join("%s:%s\n" % (path(name), "".join(" " + path(need) for need in needs[name])) for name in needs)
    modules, unread = parse_modules_dep(text)
    assert (unread, {name: (where, dependencies_of(rest)) for name, (where, rest) in modules.items()}) == (
        [], {name: (path(name), needs[name]) for name in needs})


# Parser of modules-load.d files and /etc/modules.

def test_one_name_for_each_line():
    text = "# comment\n; another\n\nnf_conntrack\n  br-netfilter \t\r\nip_vs scheduler=rr\n../evil\n"
    assert parse_modules_load(text) == ([(4, "nf_conntrack"), (5, "br_netfilter")],
                                        [(6, "ip_vs scheduler=rr"), (7, "../evil")])


def test_first_word_only():
    text = "loop max_loop=64\n# x\n/etc/passwd a\n"
    assert parse_modules_load(text, first_word_only=True) == ([(1, "loop")], [(3, "/etc/passwd a")])


@pytest.mark.parametrize("strange", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_only_line_feeds_count_lines(strange):
    assert parse_modules_load("#%s\nip_vs\n" % strange)[0] == [(2, "ip_vs")]


@given(st.text(), st.booleans())
@example("\0", False)
@example("a" * 65, True)
def test_no_line_is_lost_modules_load(text, first_word_only):
    names, unread = parse_modules_load(text, first_word_only)
    numbers = [number for number, _name in names] + [number for number, _line in unread]
    assert len(numbers) == len(set(numbers))
    for number, line in enumerate(text.split("\n"), 1):
        assert (number in numbers) == bool(line.strip() and line.strip()[0] not in "#;")


@given(st.lists(NAMES))
def test_a_list_is_read_back(names):
    assert parse_modules_load("".join(name + "\n" for name in names)) == (list(enumerate(names, 1)), [])
