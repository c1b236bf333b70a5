# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of /proc/modules."""

from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.modules import parse_proc_modules

NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))

SAMPLE = """\
nf_conntrack 196608 4 nf_nat,xt_conntrack,nft_ct,ip_vs, Live 0xffffffffc0a4c000
wireguard 106496 0 - Live 0x0000000000000000 (OE)
ip_vs 212992 0 - Loading 0x0000000000000000
overlay 172032 - - Unloading 0x0000000000000000
"""


def test_states_of_a_real_list():
    states, unread = parse_proc_modules(SAMPLE)
    # Who uses a module is loaded, whether or not its own line is there.
    using = {"nf_nat": "Live", "xt_conntrack": "Live", "nft_ct": "Live"}
    assert states == dict(using, nf_conntrack="Live", wireguard="Live", ip_vs="Loading", overlay="Unloading")
    assert unread == []


def test_nothing_is_loaded():
    assert parse_proc_modules("") == ({}, [])


def test_a_line_cut_short_is_reported():
    states, unread = parse_proc_modules("nf_nat 57344 2 - Live 0x0\nnf_conntrack 1966")
    assert states == {"nf_nat": "Live"}
    assert unread == ["nf_conntrack 1966"]


@given(st.text())
@example("a b c d Dead 0x0")
def test_no_line_is_lost(text):
    states, unread = parse_proc_modules(text)
    for line in text.splitlines():
        assert not line.split() or line in unread or line.split()[0] in states


@given(st.lists(st.tuples(NAMES, st.sampled_from(["Live", "Loading", "Unloading"])), unique_by=lambda pair: pair[0]))
def test_what_the_kernel_prints_is_read_back(modules):
    text = "".join("%s 16384 1 - %s 0xffffffffc0000000\n" % pair for pair in modules)
    assert parse_proc_modules(text) == (dict(modules), [])
