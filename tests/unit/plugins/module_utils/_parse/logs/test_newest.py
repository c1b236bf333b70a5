# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest candidate lines of a stream, however its blocks are cut."""

import pathlib
import random

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import is_candidate
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.line import LONGEST
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.newest import Newest

LOCK_HELD = pathlib.Path(__file__).resolve().parents[5] / "fixtures" / "logs" / "lock-held-1.36.txt"


def newest(data, most=200, size=1 << 20):
    found = Newest(most)
    for at in range(0, len(data), size):
        found.feed(data[at:at + size])
    return found.newest()


def test_the_newest_come_first_and_no_more_than_wanted():
    data = b"".join(b"failed %d\nfine\n" % number for number in range(1000))
    assert newest(data, 3) == newest(data, 3, 100) == ["failed 999", "failed 998", "failed 997"]
    assert newest(b"fine\nfailed") == ["failed"] and newest(b"") == []


def test_a_line_with_several_words_is_one():
    assert newest(b"failed: error, not found\n") == ["failed: error, not found"]


def test_a_value_of_several_lines_is_one_text():
    found = newest(LOCK_HELD.read_bytes())
    assert [text for text in found if "Another app" in text][0].splitlines()[-1] == ' > ipFamily="IPv4"'


def test_lines_are_those_that_a_look_at_each_line_finds():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    for _round in range(30):
        lines = [chance.choice(["fine", "it failed", "error", "x" * chance.randint(0, 300), "cannot not", ""])
                 for _line in range(200)]
        expected = [line for line in reversed(lines) if is_candidate(line)]
        assert newest("\n".join(lines).encode(), 500, chance.randint(1, 4000)) == expected


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_line_without_end_costs_no_memory_and_hides_nothing(size):
    data = b"failed " + b"x" * 3000000 + b"\nfailed too\n" + b"\0\xff" * 200000
    found = newest(data, 200, size)
    assert found[0] == "failed too" and all(len(text) <= LONGEST for text in found) and len(found) == 2
