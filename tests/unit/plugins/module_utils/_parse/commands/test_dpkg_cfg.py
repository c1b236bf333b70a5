# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks of dpkg."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.commands.dpkg_cfg import parse_dpkg_cfg


@pytest.mark.parametrize(
    "text, told", [
        ("post-invoke=iptables -F", [(1, "iptables -F")]), ("pre-invoke iptables -F\n", [(1, "iptables -F")]),
        ("\n  post-invoke = 'a \"b\"' \n", [(2, 'a "b"')]),
        ('post-invoke="if x; then y; fi"\npre-invoke="z"', [(1, "if x; then y; fi"), (2, "z")]),
        ('post-invoke="a" || "b', [(1, '"a" || "b')]), ("# post-invoke=x", []), ("post-invoke", []),
        ("post-invoke=", []), ("post-invokes=x", []), ("status-logger=x", []), ("", []),
    ])
def test_what_runs(text, told):
    assert [(found.line, found.text) for found in parse_dpkg_cfg(text)] == told
