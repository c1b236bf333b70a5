# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that dnf runs after its transactions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.dnf_actions import parse_dnf_actions


@pytest.mark.parametrize("line, wanted", [
    ("iptables*:any:systemctl restart iptables", "systemctl restart iptables"),
    ("kernel:in:sh -c 'a:b'", "sh -c 'a:b'"),
    ("post_transaction:iptables*:in::/usr/bin/sh -c 'iptables -F; echo'", "/usr/bin/sh -c 'iptables -F; echo'"),
    ("post_transaction:::enabled=host-only raise_error=1:iptables -F; echo", "iptables '-F;' echo"),
    ("post_transaction::::iptables 'unfinished", None),
    ("post_transaction:x", None),
    ("# iptables*:any:systemctl restart iptables", None),
    ("iptables*:any:", None),
    ("iptables*:any", None),
])
def test_lines_of_dnf(line, wanted):
    assert [(each.line, each.text, each.when) for each in parse_dnf_actions("\n%s\n" % line)] == (
        [(2, wanted, "package_upgrade")] if wanted else [])


@given(st.text())
def test_no_text_is_too_odd(text):
    for each in parse_dnf_actions(text):
        assert 1 <= each.line <= text.count("\n") + 1
