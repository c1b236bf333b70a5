# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module names: which are allowed, how they are spelled, which file holds which. Versions and kernel releases."""

import pytest
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors, _names, _versions


@pytest.mark.parametrize("name", ["nf_conntrack", "nf-conntrack", "8021q", "ip_set_hash:ip",
                                  "net-pf-16-proto-16-family-IPVS", "a.b", "x" * 64])
def test_names_and_aliases(name):
    assert _names.is_name(name)


@pytest.mark.parametrize("name", ["", "../x", "ip tables", "-a", "a/b", "a..b", "x" * 65, "a\0", "nf_\u00e4", "--all",
                                  ".a", "ip_vs\n"])
def test_what_is_no_name(name):
    assert not _names.is_name(name)
    with pytest.raises(_errors.BadInput, match="is not a kernel module name"):
        _names.checked([name])


def test_names_once_each_in_the_order_given():
    assert _names.checked(["ip-vs", "nf_nat", "ip_vs"]) == ["ip_vs", "nf_nat"]


@cases
def test_name_of_a_file(path, name):
    assert _names.of_file(path) == name


@given(st.text())
def test_any_text_is_judged(text):
    assert _names.is_name(text) in (True, False)
    assert _names.of_file(text) is None or _names.of_file(text)


@cases
def test_leading_numbers(version, parts):
    assert _versions.numbers(version) == parts


def test_newest_last():
    releases = ["6.12.0-1", "6.9.0-2", "6.1.0-9-amd64", "6.1.0-10-amd64", "5.14.0-70.el9", "6.1.0-10-cloud-amd64"]
    assert sorted(releases, key=_versions.order) == [
        "5.14.0-70.el9", "6.1.0-9-amd64", "6.1.0-10-amd64", "6.1.0-10-cloud-amd64", "6.9.0-2", "6.12.0-1"]


@cases
def test_bounds(version, since, before, answer):
    assert _versions.within(version, since, before) is answer
