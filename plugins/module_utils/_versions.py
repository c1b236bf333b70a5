# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version numbers as kernels, iptables and Kubernetes write them. PRIVATE to the collection."""

import re

_PIECE = re.compile(r"(\d+)|([A-Za-z]+)")


def numbers(version):
    """The leading dotted numbers: `6.1.0-49-amd64` is (6, 1, 0), `v1.31.2+k3s1` is (1, 31, 2); () if there are none."""
    found = re.match(r"v?(\d{1,9}(?:\.\d{1,9})*)", version or "")
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def order(version):
    """A sort key under which 6.12 comes after 6.9 and -10 after -9."""
    return [(1, int(digits), "") if digits else (0, 0, letters) for digits, letters in _PIECE.findall(version)]


def within(version, since=None, before=None):
    """True where `since` <= `version` < `before`, comparing as many numbers as the bound has; None if `version` has no
    numbers."""
    have = numbers(version)
    if not have:
        return None
    return (since is None or have >= numbers(since)) and (before is None or have < numbers(before))
