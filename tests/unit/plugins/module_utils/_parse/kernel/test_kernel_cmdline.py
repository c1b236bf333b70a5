# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the kernel's command line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.kernel_cmdline import (
    parse_kernel_cmdline)


@pytest.mark.parametrize(
    "text, pairs", [
        ("root=/dev/vda1 ro quiet\n", [("root", "/dev/vda1"), ("ro", None), ("quiet", None)]),
        ("module_blacklist=ip_vs,ip_tables modprobe.blacklist=a",
         [("module_blacklist", "ip_vs,ip_tables"), ("modprobe.blacklist", "a")]),
        ('dyndbg="file drivers/usb/* +p" x', [("dyndbg", "file drivers/usb/* +p"), ("x", None)]),
        ('"a b=c d" e', [("a b", "c d"), ("e", None)]),
        ("nomodule rdinit=/init -- nomodule modules_load=x", [("nomodule", None), ("rdinit", "/init")]),
        ("a= b==c", [("a", ""), ("b", "=c")]),
        ("", []),
    ])
def test_words(text, pairs):
    assert parse_kernel_cmdline(text) == pairs


@given(st.text())
@example('"')
@example("=")
def test_no_character_outside_of_quotes_and_blanks_is_lost(text):
    pairs = parse_kernel_cmdline(text.replace("--", "-"))
    kept = "".join(key + ("" if value is None else "=" + value) for key, value in pairs)
    assert "".join(kept.split()) == "".join(text.replace("--", "-").replace('"', "").split())
