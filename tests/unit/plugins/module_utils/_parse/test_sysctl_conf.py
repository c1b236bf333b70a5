# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of sysctl.d; that it agrees with systemd-sysctl is proved beside the collector that uses it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.sysctl_conf import (fits, is_pattern,
                                                                                            parse_sysctl_conf, path_of)

TEXT = """\
# net.core.a = 1
; net.core.b = 1
net.netfilter.nf_conntrack_max = 262144
  -net/ipv4/conf/eth0.100/rp_filter=2
net.ipv4.conf.*.rp_filter = 2
-net.ipv4.conf.lo.rp_filter
net.core.word
kernel.core_pattern = |/usr/bin/core a=b  # kept
= 5
net.empty =
"""


def test_every_form():
    assert [tuple(row) for row in parse_sysctl_conf(TEXT)] == [
        ("net/netfilter/nf_conntrack_max", "262144", 3), ("net/ipv4/conf/eth0.100/rp_filter", "2", 4),
        ("net/ipv4/conf/*/rp_filter", "2", 5), ("net/ipv4/conf/lo/rp_filter", None, 6),
        ("kernel/core_pattern", "|/usr/bin/core a=b  # kept", 8), ("", "5", 9), ("net/empty", "", 10)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\0"])
def test_ends_of_lines(end):
    assert [tuple(row)
            for row in parse_sysctl_conf(end.join(["a.b = 1", "c.d = 2", ""]))] == [("a/b", "1", 1), ("c/d", "2", 2)]


@pytest.mark.parametrize(
    "key, path", [
        ("net.ipv4.ip_forward", "net/ipv4/ip_forward"), ("net/ipv4/ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter"), ("/net//ipv4/./x/", "net/ipv4/x"),
        ("word", "word"), ("", "")])
def test_the_first_separator_tells(key, path):
    assert path_of(key) == path


@pytest.mark.parametrize("pattern, key, answer",
                         [
                             ("net/ipv4/conf/*/rp_filter", "net/ipv4/conf/all/rp_filter", True),
                             ("net/*/rp_filter", "net/ipv4/conf/all/rp_filter", False),
                             ("net/netfilter/nf_conntrack_*", "net/netfilter/nf_conntrack_max", True),
                             ("net/netfilter/nf_conntrack_m?x", "net/netfilter/nf_conntrack_max", True),
                             ("net/netfilter/nf_conntrack_m[!a]x", "net/netfilter/nf_conntrack_max", False),
                             ("net/netfilter/nf_conntrack_m[^b]x", "net/netfilter/nf_conntrack_max", True),
                             ("net/*", "net/netfilter/nf_conntrack_max", False)])
def test_a_pattern_stands_for_no_slash(pattern, key, answer):
    assert is_pattern(pattern) and fits(pattern, key) is answer


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    for row in parse_sysctl_conf(text):
        fits(row.key, "net/ipv4/ip_forward")
