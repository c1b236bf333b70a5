# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of small files, and of what commands print."""

import subprocess

import pytest
from hypothesis import example, given, strategies as st
from node_processes import needs_root
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.alternatives import (
    parse_alternatives, parse_choices)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.assignments import parse_assignments
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.ipset_list import parse_ipset_list
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.os_release import parse_os_release
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.sysctl_conf import (
    fits, is_pattern, parse_sysctl_conf, path_of)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.tuned_profile import (
    assigned, parse_tuned_profile)


# Parser of the groups of update-alternatives.

DEBIAN = """\
manual
/usr/sbin/iptables
iptables-restore
/usr/sbin/iptables-restore
iptables-save
/usr/sbin/iptables-save

/usr/sbin/iptables-legacy
10
/usr/sbin/iptables-legacy-restore
/usr/sbin/iptables-legacy-save
/usr/sbin/iptables-nft
20
/usr/sbin/iptables-nft-restore
/usr/sbin/iptables-nft-save

"""
# With ip6tables as a slave and a family behind the priority.
RED_HAT = """\
auto
/usr/sbin/iptables
ip6tables
/usr/sbin/ip6tables
iptables-save
/usr/sbin/iptables-save

/usr/sbin/iptables-nft
@iptables@10
/usr/sbin/ip6tables-nft
/usr/sbin/iptables-nft-save
"""
WORDS = st.text("abcdefg-6", min_size=1, max_size=12)


def test_debian():
    assert parse_alternatives(DEBIAN) == {
        "mode": "manual", "link": "/usr/sbin/iptables",
        "slaves": {"iptables-restore": "/usr/sbin/iptables-restore", "iptables-save": "/usr/sbin/iptables-save"}}


def test_red_hat():
    assert parse_alternatives(RED_HAT) == {
        "mode": "auto", "link": "/usr/sbin/iptables",
        "slaves": {"ip6tables": "/usr/sbin/ip6tables", "iptables-save": "/usr/sbin/iptables-save"}}


def test_a_group_without_slaves():
    assert parse_alternatives("auto\n/usr/sbin/nft\n\n/usr/sbin/nft1\n10\n") == {"mode": "auto",
                                                                                 "link": "/usr/sbin/nft", "slaves": {}}


@cases
def test_what_is_no_such_file(text):
    assert parse_alternatives(text) is None


@given(st.text())
def test_any_text_is_a_group_or_none(text):
    found = parse_alternatives(text)
    assert found is None or text.startswith("%s\n%s\n" % (found["mode"], found["link"]))


@given(st.sampled_from(["auto", "manual"]), WORDS, st.dictionaries(WORDS, WORDS))
def test_what_was_written_is_read_back(mode, link, slaves):
    slaves = {name: "/sbin/" + path for name, path in slaves.items()}
    text = "\n".join([mode, "/sbin/" + link] + [line for pair in slaves.items() for line in pair]) + "\n\n"
    assert parse_alternatives(text) == {"mode": mode, "link": "/sbin/" + link, "slaves": slaves}


def test_choices_of_debian():
    assert parse_choices(DEBIAN) == [
        {"path": "/usr/sbin/iptables-%s" % name, "priority": priority, "slaves": {
            "iptables-restore": "/usr/sbin/iptables-%s-restore" % name,
            "iptables-save": "/usr/sbin/iptables-%s-save" % name}} for name, priority in (("legacy", 10), ("nft", 20))]


def test_choices_of_red_hat():
    assert parse_choices(RED_HAT) == [{"path": "/usr/sbin/iptables-nft", "priority": 10, "slaves": {
        "ip6tables": "/usr/sbin/ip6tables-nft", "iptables-save": "/usr/sbin/iptables-nft-save"}}]


def test_a_slave_that_a_choice_lacks_is_left_out():
    assert parse_choices(DEBIAN.replace("/usr/sbin/iptables-nft-restore\n",
                                        "\n"))[1]["slaves"] == {"iptables-save": "/usr/sbin/iptables-nft-save"}


@pytest.mark.parametrize("text", [
    "", DEBIAN.replace("\n10\n", "\nten\n"), DEBIAN.replace("\n/usr/sbin/iptables-nft\n", "\niptables-nft\n"),
    DEBIAN.partition("20\n")[0], DEBIAN.replace("/usr/sbin/iptables-nft-restore\n", "iptables-nft-restore\n"),
])
def test_choices_that_cannot_be_read(text):
    assert parse_choices(text) is None


@given(st.text())
def test_any_text_is_choices_or_none(text):
    found = parse_choices(text)
    assert found is None or all(row["path"].startswith("/") for row in found)


@cases
def test_the_last_assignment_counts(text, expected):
    assert parse_assignments(text) == expected


# Parser of what ipset list -t prints.

# As ipset 7.17 prints it, and as 6.29 does, which knows no number of entries.
SAMPLE = """\
Name: KUBE-CLUSTER-IP
Type: hash:ip,port
Revision: 7
Header: family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x66a533a6
Size in memory: 264
References: 3
Number of entries: 84

Name: KUBE-NODE-PORT-TCP
Type: bitmap:port
Revision: 3
Header: range 0-65535
Size in memory: 8264
References: 0
"""


def test_sets_and_how_full_they_are():
    assert parse_ipset_list(SAMPLE) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 84, "size_limit": 65536},
        {"name": "KUBE-NODE-PORT-TCP", "entries": None, "size_limit": 65536}]


@needs_root
def test_against_ipset():
    script = ("ipset create KUBE-CLUSTER-IP hash:ip,port maxelem 100 && ipset add KUBE-CLUSTER-IP 10.96.0.1,tcp:443 && "
              "ipset create p bitmap:port range 1-10 && ipset create l list:set && ipset list -t")
    text = subprocess.check_output(["unshare", "-n", "sh", "-c", script]).decode("ascii")
    assert parse_ipset_list(text) == [
        {"name": "KUBE-CLUSTER-IP", "entries": 1, "size_limit": 100}, {"name": "p", "entries": 0, "size_limit": 10},
        {"name": "l", "entries": 0, "size_limit": None}]


@given(st.text())
def test_any_text(text):
    assert [row["name"]
            for row in parse_ipset_list(text)] == [line[6:] for line in text.splitlines() if line.startswith("Name: ")]


# Parser of os-release.

NAMES = st.builds("".join, st.tuples(st.sampled_from("ABCXYZ"), st.text("ABXYZ_", max_size=9)))


def test_a_real_file():
    text = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
ID=debian
# a comment = with an equals sign
VERSION_ID='12'
ID_LIKE=
BUG_REPORT_URL="https://bugs.debian.org/" trailing
QUOTED="a \\"b\\" \\$c"
OPEN="never closed
no assignment
"""
    assert parse_os_release(text) == {
        "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)", "ID": "debian", "VERSION_ID": "12", "ID_LIKE": "",
        "BUG_REPORT_URL": "https://bugs.debian.org/", "QUOTED": 'a "b" \\$c',
    }


@given(st.text())
@example("A=\\")
@example("A=\0")
def test_any_text_is_read_without_an_exception(text):
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in parse_os_release(text).items())


@given(st.dictionaries(NAMES, st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126,
                                                             blacklist_characters="\"\\$`"))))
def test_quoted_values_are_read_back(values):
    assert parse_os_release("".join('%s="%s"\n' % pair for pair in values.items())) == values


# Parser of sysctl.d; that it agrees with systemd-sysctl is proved beside the collector that uses it.

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


@cases
def test_the_first_separator_tells(key, path):
    assert path_of(key) == path


@cases
def test_a_pattern_stands_for_no_slash(pattern, key, answer):
    assert is_pattern(pattern) and fits(pattern, key) is answer


@given(st.text())
def test_any_text_is_read_without_an_exception_sysctl_conf(text):
    for row in parse_sysctl_conf(text):
        fits(row.key, "net/ipv4/ip_forward")


# Parser of tuned's profiles, and what its modifiers leave of a value.

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


@cases
def test_modifiers(value, before, left):
    assert assigned(value, before) == left


@given(st.text())
def test_any_text_is_read_without_an_exception_tuned_profile(text):
    parse_tuned_profile(text)
    for _key, value, _line in parse_tuned_profile("[sysctl]\n" + text).settings:
        assigned(value, 5)
