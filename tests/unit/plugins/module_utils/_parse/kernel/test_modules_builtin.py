# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of modules.builtin and modules.builtin.modinfo."""

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.kernel.modules_builtin import (
    parse_modules_builtin, parse_modules_builtin_modinfo)


def test_names_and_paths():
    modules, unread = parse_modules_builtin("kernel/net/bridge/bridge.ko\nkernel/crypto/crc32c-generic.ko\n\n")
    assert modules == {"bridge": "kernel/net/bridge/bridge.ko", "crc32c_generic": "kernel/crypto/crc32c-generic.ko"}
    assert unread == []


def test_lines_that_name_no_module_are_reported():
    assert parse_modules_builtin("kernel/net/bridge\n\x7fELF\n") == ({}, ["kernel/net/bridge", "\x7fELF"])


@given(st.text())
def test_no_line_is_lost(text):
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
