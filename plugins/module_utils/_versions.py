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
    """Whether `since` <= `version` < `before`. A version stands for each that begins with its numbers, `1.31` for each
    1.31.x; None where the answer depends on the missing numbers, or `version` has none."""
    have = numbers(version)
    if not have:
        return None
    answers = [since is None or _reaches(have, numbers(since))]
    reached = before is not None and _reaches(have, numbers(before))
    answers.append(reached if reached is None else not reached)
    return False if False in answers else None if None in answers else True


def _reaches(have, bound):
    """Whether each version that begins with the numbers `have` is at least `bound`; None where only some are."""
    if have == bound[:len(have)] and any(bound[len(have):]):
        return None
    return have + (0,) * (len(bound) - len(have)) >= bound
