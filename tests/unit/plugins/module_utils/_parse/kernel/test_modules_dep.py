# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of modules.dep."""

from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_dep import (dependencies_of,
                                                                                                   parse_modules_dep)

NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))


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


def test_lines_that_name_no_module_are_reported():
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
def test_no_line_is_lost(text):
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
