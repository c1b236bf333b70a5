# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the groups of update-alternatives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.alternatives import (parse_alternatives,
                                                                                             parse_choices)

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


@pytest.mark.parametrize(
    "text", [
        "", "\n\n", "auto\n\n", "sometimes\n/usr/sbin/iptables\n\n", "auto\niptables\n\n",
        "auto\n/usr/sbin/iptables\niptables-save\n\n", "auto\n/usr/sbin/iptables\niptables-save\nno path\n\n",
        "auto\n/usr/sbin/iptables\n", "auto\r\n/usr/sbin/iptables\r\n\r\n",
    ])
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
