# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of tuned's profiles, and what its modifiers leave of a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.tuned_profile import (assigned,
                                                                                              parse_tuned_profile)

PROFILE = """\
#
# tuned configuration
#
[main]
summary=Optimize for streaming network throughput
include=throughput-performance ; others, third

[sysctl]
net.ipv4.tcp_rmem="4096 131072 16777216"
net.netfilter.nf_conntrack_max = >262144  # raised only
net/ipv4/ip_forward=1

[more]
type=sysctl
net.core.somaxconn=2048

[off]
type=sysctl
enabled=0
net.core.x=1

[cpu]
governor=performance
"""


def test_the_settings_of_all_its_sysctl_units():
    profile = parse_tuned_profile(PROFILE)
    assert profile.include == ["throughput-performance", "others", "third"] and profile.replaces is False
    assert sorted(profile.settings) == [
        ("net/core/somaxconn", "2048", 15), ("net/ipv4/ip_forward", "1", 11),
        ("net/ipv4/tcp_rmem", '"4096 131072 16777216"', 9), ("net/netfilter/nf_conntrack_max", ">262144", 10)]


def test_one_that_replaces():
    assert parse_tuned_profile("[sysctl]\nreplace=1\na.b=2\n") == ([], True, [("a/b", "2", 3)])


@pytest.mark.parametrize("value, before, left",
                         [
                             ("2048", 1024, "2048"), ('"2048"', None, "2048"), (">2048", 1024, "2048"),
                             (">2048", 4096, "4096"), ("<2048", 4096, "2048"), ("<2048", 1024, "1024"),
                             (">2048", None, None), ("${calculated}", 1024, None), (">word", 1024, None), ("", 1, "")])
def test_modifiers(value, before, left):
    assert assigned(value, before) == left


@given(st.text())
def test_any_text_is_read_without_an_exception(text):
    parse_tuned_profile(text)
    for _key, value, _line in parse_tuned_profile("[sysctl]\n" + text).settings:
        assigned(value, 5)
