# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of kernel configurations."""

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.kernel_config import parse_kernel_config

NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))

HEADER = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 6.1.176 Kernel Configuration\n#\n"
LINES = ('CONFIG_NF_CONNTRACK=m\n# CONFIG_IP_VS is not set\nCONFIG_BRIDGE=y\nCONFIG_IP_VS_TAB_BITS=12\n'
         'CONFIG_LOCALVERSION="-x"\n')
SYMBOLS = {"NF_CONNTRACK": "m", "IP_VS": "n", "BRIDGE": "y", "IP_VS_TAB_BITS": "12", "LOCALVERSION": '"-x"'}


def test_a_whole_configuration():
    assert parse_kernel_config(HEADER + LINES) == (SYMBOLS, True)


def test_a_fragment():
    assert parse_kernel_config(LINES) == (SYMBOLS, False)


def test_a_comment_of_another_kind_makes_no_whole():
    assert parse_kernel_config("# Linux for containers\n# Kernel Configuration\n" + LINES)[1] is False


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    symbols, whole = parse_kernel_config(text)
    assert isinstance(symbols, dict) and whole in (True, False)


@given(st.dictionaries(NAMES, st.sampled_from("ymn")), st.text(alphabet="# \tcxCONFIG_=\r"))
def test_every_symbol_is_found(symbols, noise):
    text = "".join("%s\n%s\n" % (noise, "# CONFIG_%s is not set" % name if value == "n"
                                 else "CONFIG_%s=%s" % (name, value)) for name, value in symbols.items())
    found = parse_kernel_config(text)[0]
    assert all(found[name] == value for name, value in symbols.items())
