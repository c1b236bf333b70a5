# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of logs as klog, runtimes, the journal and syslog carry them."""

import json

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.entries import MOST_LINES, parse_entries

KLOG = "E1122 06:37:30.714024   19736 proxier.go:1406] "


@cases
def test_forms(line, time, text, count):
    assert [tuple(entry) for entry in parse_entries([line])] == [(text, time, count)]


@pytest.mark.parametrize("layer", ["[pod/a] ", "2026-11-22T06:37:30Z stdout F ", '{"log": "'])
def test_a_line_of_many_carriers_ends(layer):
    entry, = parse_entries([layer * 1000])
    assert entry.text


VALUE = [KLOG + '"Failed" err=<', "\texit status 4: busy", "\tline 63", ' > ipFamily="IPv4"', KLOG + "next"]


@cases
def test_a_value_of_several_lines_is_one_entry(carrier):
    entries = list(parse_entries([carrier % line for line in VALUE]))
    assert [entry.text for entry in entries] == ["\n".join(VALUE[:4]), KLOG + "next"]


def test_a_value_whose_indent_is_lost_ends_with_its_end_or_the_next_message():
    lost = [line.lstrip("\t") for line in VALUE]
    assert [entry.text for entry in parse_entries(lost)] == ["\n".join(lost[:4]), KLOG + "next"]
    assert [entry.text for entry in parse_entries(lost[:3] + lost[4:])] == ["\n".join(lost[:3]), KLOG + "next"]


def test_lines_of_two_programs_stay_apart():
    carriers = ("Nov 22 06:37:30 a kubelet[1]: %s", "Nov 22 06:37:30 a kube-proxy[2]: %s")
    lines = [carrier % line for line in VALUE[:4] for carrier in carriers]
    assert [entry.text for entry in parse_entries(lines)] == ["\n".join(VALUE[:4])] * 2


def test_a_heading_ends_an_entry_and_a_comment_of_a_program_does_not():
    assert [entry.text for entry in parse_entries([KLOG + "a", "", "# events of the node", "no space left"])] == [
        KLOG + "a", "# events of the node", "no space left"]
    assert [entry.text for entry in parse_entries([KLOG + "a", "# Warning: iptables-legacy tables present"])] == [
        KLOG + "a\n# Warning: iptables-legacy tables present"]


def test_parts_of_a_long_line_are_joined_and_a_cut_value_ends():
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
