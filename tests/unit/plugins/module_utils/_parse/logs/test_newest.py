# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The newest candidate lines of a stream, read forwards and from its end, however its blocks are cut."""

import pathlib
import random

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import WORDS, is_candidate
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.line import LONGEST
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.newest import FromEnd, Newest


# The newest candidate lines of a stream, however its blocks are cut.

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


@pytest.mark.parametrize("size", [7, 1 << 20])
def test_a_heading_of_notes_ends_a_message(size):
    data = b"[1.0] IPVS: rr: no destination available\n\n# events\nwrite /tmp/x: no space left on device\n"
    assert newest(data, 9, size) == ["write /tmp/x: no space left on device",
                                     "[1.0] IPVS: rr: no destination available"]


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


# Candidate lines, read forwards and from the end in blocks of any size.

VALUE = ('E1122 06:38:01.720735 1 proxier.go:1] "Failed to execute iptables-restore" err=<\n'
         "\tAnother app is currently holding the xtables lock.\n\t\n >\n")
PIECES = ("fine\n", VALUE, "it failed\n", "\n", "x" * 50 + " failed\n", "failed 1\nfailed 2\n", "\tmissing\n",
          " > an error\n")


LETTERS = "abcdefghijklmnopqrstuvwxyzCEIKMNT0123456789 '\"-_=:./\u00e9"


def from_end(data, size, most):
    found = FromEnd(most)
    for end in range(len(data), 0, -size):
        if found.feed(data[max(0, end - size):end], end <= size):
            break
    return found.newest()


def forwards(data, size, most):
    found = Newest(most)
    for start in range(0, len(data), size):
        found.feed(data[start:start + size])
    return found.newest()


@pytest.mark.parametrize("most", [1, 3, 500])
def test_blocks_of_any_size_from_the_end_give_the_same_messages(most):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for _log in range(20):
        data = "".join(rng.choice(PIECES) for _piece in range(60)).encode("ascii")
        wanted = from_end(data, len(data), most)
        for size in (1, 7, 64, rng.randint(65, 500)):
            assert from_end(data, size, most) == wanted


def test_both_ways_find_whole_messages_the_newest_first():
    data = ("fine\nfirst failed\n" + VALUE + "fine\nlast failed").encode("ascii")
    wanted = ["last failed", VALUE.rstrip("\n"), "first failed"]
    for size in (1, 5, 100, 1000):
        assert from_end(data, size, 9) == wanted
    assert forwards(data, 1000, 9) == wanted and forwards(data, 1000, 2) == wanted[:2]


def test_a_line_without_an_end_is_searched_at_its_beginning():
    data = b"first failed\n" + b"it failed " + b"x" * 900000 + b"\nlast failed\n"
    assert [text[:12] for text in from_end(data, 1000, 9)] == ["last failed", "it failed xx", "first failed"]


def test_lines_that_never_repeat_are_searched_as_well():
    rng = random.Random(7)
    lines = ["%x %s" % (rng.getrandbits(200), "is full" if number % 50 == 0 else "fine") for number in range(500)]
    data = "\n".join(lines).encode("ascii")
    wanted = [line for line in reversed(lines) if is_candidate(line)]
    assert from_end(data, 3000, 99) == wanted == forwards(data, 3000, 99) and len(wanted) == 10


@pytest.mark.parametrize("repeats", [False, True])
def test_each_word_is_found_in_lines_of_any_letters(repeats):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    lines = []
    for word in WORDS * 3:
        around = ["".join(rng.choice(LETTERS) for _letter in range(rng.randint(0, 60))) for _side in range(2)]
        # At the beginning of a line "[PANIC] " is the head of an entry, to which the lines after it belong.
        around[0] = "x" + around[0]
        lines += [word.join(around), "".join(around)] + ["fine %d" % len(lines)] * (20 if repeats else 0)
    rng.shuffle(lines)
    data = "\n".join(lines).encode("utf-8")
    wanted = [line for line in reversed(lines) if is_candidate(line)]
    assert len(wanted) >= 3 * len(WORDS)
    for size in (rng.randint(100, 900), len(data)):
        assert from_end(data, size, 999) == wanted == forwards(data, size, 999)
