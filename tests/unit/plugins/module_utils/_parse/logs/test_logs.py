# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of logs as klog, runtimes, the journal and syslog carry them, and the newest candidates among them."""

import json
import random

import kube_audit
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import is_candidate, WORDS
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.entries import MOST_LINES, parse_entries
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.line import LONGEST
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.newest import FromEnd, Newest

KLOG = "E1122 06:37:30.714024   19736 proxier.go:1406] "
VALUE = [KLOG + '"Failed" err=<', "\texit status 4: busy", "\tline 63", ' > ipFamily="IPv4"', KLOG + "next"]
FAILED = ('E1122 06:38:01.720735 1 proxier.go:1] "Failed to execute iptables-restore" err=<\n'
          "\tAnother app is currently holding the xtables lock.\n\t\n >\n")
PIECES = ("fine\n", FAILED, "it failed\n", "\n", "x" * 50 + " failed\n", "failed 1\nfailed 2\n", "\tmissing\n",
          " > an error\n")
LETTERS = "abcdefghijklmnopqrstuvwxyzCEIKMNT0123456789 '\"-_=:./\u00e9"


@cases
def test_forms(line, time, text, count):
    assert [tuple(entry) for entry in parse_entries([line])] == [(text, time, count)]


@pytest.mark.parametrize("layer", ["[pod/a] ", "2026-11-22T06:37:30Z stdout F ", '{"log": "'])
def test_a_line_of_many_carriers_ends(layer):
    entry, = parse_entries([layer * 1000])
    assert entry.text


@cases
def test_a_value_of_several_lines_is_one_entry(carrier):
    entries = list(parse_entries([carrier % line for line in VALUE]))
    assert [entry.text for entry in entries] == ["\n".join(VALUE[:4]), KLOG + "next"]


def test_values_without_indent_end_and_those_of_two_programs_stay_apart():
    lost = [line.lstrip("\t") for line in VALUE]
    assert [entry.text for entry in parse_entries(lost)] == ["\n".join(lost[:4]), KLOG + "next"]
    assert [entry.text for entry in parse_entries(lost[:3] + lost[4:])] == ["\n".join(lost[:3]), KLOG + "next"]
    carriers = ("Nov 22 06:37:30 a kubelet[1]: %s", "Nov 22 06:37:30 a kube-proxy[2]: %s")
    lines = [carrier % line for line in VALUE[:4] for carrier in carriers]
    assert [entry.text for entry in parse_entries(lines)] == ["\n".join(VALUE[:4])] * 2


def test_what_ends_an_entry_and_what_is_joined_to_it():
    assert [entry.text for entry in parse_entries([KLOG + "a", "", "# events of the node", "no space left"])] == [
        KLOG + "a", "# events of the node", "no space left"]
    assert [entry.text for entry in parse_entries([KLOG + "a", "# Warning: iptables-legacy tables present"])] == [
        KLOG + "a\n# Warning: iptables-legacy tables present"]
    head = "2026-11-22T06:37:30.1Z stderr "
    assert [entry.text for entry in parse_entries([head + "P ab", head + "P cd", head + "F ef"])] == ["abcdef"]
    assert [entry.text for entry in parse_entries([head + "P ab"])] == ["ab"]
    assert [entry.text for entry in parse_entries(VALUE[:2])] == ["\n".join(VALUE[:2])]
    assert max(entry.text.count("\n") for entry in parse_entries([VALUE[0]] + ["\tx"] * 1000)) == MOST_LINES - 1


def test_docker_containers_with_one_tag_stay_apart_and_their_long_lines_are_joined():
    def row(text, container, **more):
        return json.dumps(dict(more, MESSAGE=text, CONTAINER_ID=container, SYSLOG_IDENTIFIER="docker", _PID="812"))

    rows = [row("long", "a", CONTAINER_PARTIAL_MESSAGE="true"), row("other", "b"), row(" line", "a")]
    assert [entry.text for entry in parse_entries(rows)] == ["other", "long line"]


@pytest.mark.parametrize("tab", ["\t", "        "])
def test_a_value_in_the_journal_is_joined(tab):
    carrier = "Nov 22 06:37:30 a 3f2a9c1b7d5e[812]: "
    rows = [carrier + text for text in (KLOG + '"Failed" err=<', tab + "Another app", ' > ipFamily="IPv4"', "x")]
    assert [entry.text for entry in parse_entries(rows)] == [
        KLOG + '"Failed" err=<\n' + tab + 'Another app\n > ipFamily="IPv4"', "x"]


def test_a_line_that_begins_no_message_belongs_to_the_entry_before_it():
    head = "2026-03-03 10:00:00.100 [INFO][80] felix/table.go 2: Applying"
    lines = [head, "iptables-save failed", "-A INPUT -j X", "", "```", "failed", head, "  line 4"]
    entries = list(parse_entries(lines))
    assert [(entry.text, entry.time) for entry in entries] == [
        (head + "\niptables-save failed", "2026-03-03T10:00:00.100"), ("failed", None),
        (head + "\n  line 4", "2026-03-03T10:00:00.100")]
    # Without times each line is an entry, and lines of another second of the carrier are no part of it.
    assert len(list(parse_entries(["failed", "line 4"]))) == 2
    carried = ["2026-11-22T06:37:30.1Z stderr F " + KLOG + "x", "2026-11-22T06:37:30.2Z stderr F line 4",
               "2026-11-22T06:37:41.1Z stderr F line 5"]
    assert [entry.text for entry in parse_entries(carried)] == [KLOG + "x\nline 4", "line 5"]


def newest(data, most=200, size=1 << 20):
    found = Newest(most)
    for at in range(0, len(data), size):
        found.feed(data[at:at + size])
    return found.newest()


def test_the_newest_come_first_and_no_more_than_wanted():
    data = b"".join(b"failed %d\nfine\n" % number for number in range(1000))
    assert newest(data, 3) == newest(data, 3, 100) == ["failed 999", "failed 998", "failed 997"]
    assert newest(b"fine\nfailed") == ["failed"] and newest(b"") == []
    data = ("fine\nfirst failed\n" + FAILED + "fine\nlast failed").encode("ascii")
    wanted = ["last failed", FAILED.rstrip("\n"), "first failed"]
    for size in (1, 5, 100, 1000):
        assert from_end(data, size, 9) == wanted
    assert newest(data, 9, 1000) == wanted and newest(data, 2, 1000) == wanted[:2]
    data = b"first failed\n" + b"it failed " + b"x" * 900000 + b"\nlast failed\n"
    assert [text[:12] for text in from_end(data, 1000, 9)] == ["last failed", "it failed xx", "first failed"]


@pytest.mark.parametrize("size", [7, 1 << 20])
def test_a_heading_of_notes_ends_a_message(size):
    data = b"[1.0] IPVS: rr: no destination available\n\n# events\nwrite /tmp/x: no space left on device\n"
    assert newest(data, 9, size) == ["write /tmp/x: no space left on device",
                                     "[1.0] IPVS: rr: no destination available"]


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_line_without_end_costs_no_memory_and_hides_nothing(size):
    data = b"failed " + b"x" * 3000000 + b"\nfailed too\n" + b"\0\xff" * 200000
    found = newest(data, 200, size)
    assert found[0] == "failed too" and all(len(text) <= LONGEST for text in found) and len(found) == 2


def from_end(data, size, most):
    found = FromEnd(most)
    for end in range(len(data), 0, -size):
        if found.feed(data[max(0, end - size):end], end <= size):
            break
    return found.newest()


@pytest.mark.parametrize("most", [1, 3, 500])
def test_blocks_of_any_size_from_the_end_give_the_same_messages(most):
    rng = random.Random(kube_audit.seed())
    for _log in range(20):
        data = "".join(rng.choice(PIECES) for _piece in range(60)).encode("ascii")
        wanted = from_end(data, len(data), most)
        for size in (1, 7, 64, rng.randint(65, 500)):
            assert from_end(data, size, most) == wanted


@pytest.mark.parametrize("repeats", [False, True])
def test_each_word_is_found_in_lines_of_any_letters(repeats):
    rng = random.Random(kube_audit.seed())
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
        assert from_end(data, size, 999) == wanted == newest(data, 999, size)
