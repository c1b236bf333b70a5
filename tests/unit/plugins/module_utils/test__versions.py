# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions and kernel releases."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils import _versions


@pytest.mark.parametrize("version, parts", [
    ("6.1.0-49-amd64", (6, 1, 0)), ("v1.31.2+k3s1", (1, 31, 2)), ("6", (6,)), ("", ()), (None, ()), ("rolling", ())])
def test_leading_numbers(version, parts):
    assert _versions.numbers(version) == parts


def test_newest_last():
    releases = ["6.12.0-1", "6.9.0-2", "6.1.0-9-amd64", "6.1.0-10-amd64", "5.14.0-70.el9", "6.1.0-10-cloud-amd64"]
    assert sorted(releases, key=_versions.order) == [
        "5.14.0-70.el9", "6.1.0-9-amd64", "6.1.0-10-amd64", "6.1.0-10-cloud-amd64", "6.9.0-2", "6.12.0-1"]


@pytest.mark.parametrize(
    "version, since, before, answer", [
        ("4.18.0-513.el8", "4.19", None, False), ("4.19.1", "4.19", None, True), ("6.1.0", None, "6.2", True),
        ("6.2", None, "6.2", False), ("none", "1", None, None), ("10.0", "10", "11", True),
        ("1.31", "1.31.0", None, True), ("1.31", None, "1.31.0", False), ("1.31", "1.31.2", None, None),
        ("1.31", None, "1.31.2", None), ("1.31", "1.30.4", "1.32.1", True), ("1.31", "1.31.2", "1.31.0", False),
        ("1", "1.31", None, None), ("1.8", None, "1.8.8", None), ("1.31.2", "1.31", "1.31.2.1", None)])
def test_bounds(version, since, before, answer):
    assert _versions.within(version, since, before) is answer
