# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and kernel releases."""

from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils import _versions


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
