# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Search in modules.alias."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_alias import find_alias

NAMES = st.builds("".join, st.tuples(st.sampled_from("abcxyz"), st.text("abxyz_", max_size=9)))

SAMPLE = """\
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


@pytest.mark.parametrize("name, modules", [
    ("ip_conntrack", ["nf_conntrack"]),
    ("nf_conntrack-2", ["nf_conntrack"]),
    ("nf-conntrack_2", ["nf_conntrack"]),
    ("ipt_MASQUERADE", ["xt_MASQUERADE"]),
    ("ipt_masquerade", []),
    ("nft_chain_2_nat", ["nft_chain_nat"]),
    ("nft-expr-masq", ["nft_some"]),
    ("twice", ["first", "second_one"]),
    ("broken", []),
    ("nf_conntrack", []),
    ("conntrack", []),
    ("pci:v00008086d00001234svXsdXbcXscXiX", ["e1000e"]),
])
def test_exact_and_pattern(name, modules):
    assert find_alias(SAMPLE, name) == modules


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
