# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of units, their files and drop-ins, their command lines, and the unit of a process."""

import random

import kube_audit
import pytest
import unit_trees
from case_rows import cases
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.cgroup import parse_cgroup_unit
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd import (
    name as systemd_name, unit as systemd_unit,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.unit import (
    Value, merge_assignments, parse_unit,
)

V1 = "12:memory:/kubepods\n1:name=systemd:%s\n0::%s\n"


@cases
def test_unit(text, unit):
    assert parse_cgroup_unit(text) == unit


@given(st.text())
def test_any_text(text):
    for whole in (text, "0::" + text, "1:name=systemd:/" + text + ".service"):
        unit = parse_cgroup_unit(whole)
        assert unit is None or (unit.endswith(".service") and "/" not in unit and not unit.startswith("user@"))


@cases
def test_a_name_has_its_parts(name, parts):
    found = systemd_name.parse_unit_name(name)
    assert (found.prefix, found.instance, found.kind) == parts


@pytest.mark.parametrize("name",
                         ["", "iptables", ".service", "@x.service", "a b.service", "a/b.service", "a.conf",
                          "a.service.d", "a.service\n", "a%i.service", "\u00e4.service", "x" * 248 + ".service"])
def test_what_is_no_name(name):
    assert systemd_name.parse_unit_name(name) is None


def test_an_instance_is_made_from_its_template():
    assert systemd_name.parse_unit_name("getty@tty1.service").template == "getty@.service"
    assert systemd_name.parse_unit_name("getty@.service").template is None
    assert systemd_name.filled_in("getty@.service", "tty2") == "getty@tty2.service"
    assert systemd_name.filled_in("getty@tty1.service", "tty2") == "getty@tty1.service"
    assert systemd_name.filled_in("ssh.service", "tty2") == "ssh.service"


def parsed(data):
    return [tuple(assignment) for assignment in parse_unit(data).assignments]


@cases
def test_what_a_file_says(text, expected):
    assert parsed(text.encode("utf-8")) == expected
    assert parse_unit(text.encode("utf-8")).broken is None


@pytest.mark.parametrize("data, line",
                         [(b"[Unit]\nA=1\n[Service\nB=2\n", 3), (b"[Unit]\nA=1\nB=\xff\nC=3\n", 3),
                          (b"[Unit]\nA=1\n[Ser\"vice]\nB=2\n", 3), ("[Unit]\nA=1\nB=\ufffe\n".encode("utf-8"), 3)])
def test_where_a_file_is_given_up(data, line):
    """What stands before counts (systemd src/shared/conf-parser.c)."""
    assert (parse_unit(data).broken, parsed(data)) == (line, [("Unit", "A", "1", 2)])


def test_any_bytes_are_read_in_order():
    number = kube_audit.seed()
    for each in range(300):
        source = random.Random("%s %s" % (number, each))
        data = bytearray(unit_trees.content(source, "service", True))
        for _place in range(source.randrange(6)):
            data.insert(source.randrange(len(data) + 1), source.choice(b"\0\r\n\\[]=#;\"\xff\xc3 \t"))
        found = parse_unit(bytes(data))
        lines = [assignment.line for assignment in found.assignments]
        assert lines == sorted(lines), "KUBENODE_SEED=%s, round %s" % (number, each)
        assert all(assignment.key and "\n" not in assignment.text for assignment in found.assignments)


@pytest.mark.parametrize("data", [b"\\\n" * 500000, b"[Service]\n" + b"A=\\\n#\n" * 200000, b"[" * 1000000,
                                  b"[S]\n" + b"=" * 1000000, b"\0\r\n" * 400000])
def test_a_huge_file_is_read_in_linear_time(data):
    assert isinstance(parse_unit(data).assignments, list)


def merged(*texts):
    found = merge_assignments([("/%d" % number, parse_unit(text.encode()).assignments)
                               for number, text in enumerate(texts)])
    return {key: [value.text for value in values] for (_section, key), values in found.items()}


@cases
def test_what_is_taken_back(texts, expected):
    assert merged(*texts) == expected


def test_every_value_tells_where_it_stands_behind_a_binary_comment():
    assignments = parse_unit(b"[Service]\n# \xff\xfe\nExecStop=/b").assignments
    values = merge_assignments([("/a", assignments)])["Service", "ExecStop"]
    assert [tuple(value) for value in values] == [("/b", "/a", 3)]


def test_many_keys_that_are_taken_back_again_and_again():
    text = "".join("ConditionX%d=1\nKey%d=2\nConditionY=\n" % (number, number) for number in range(60000))
    assert len(merged("[Unit]\n" + text)) == 60000


# Command lines of units: prefixes, words as systemd divides them, specifiers. test_units_against_systemd.py holds
# them against the real one.
def lines(text, unit="foo-bar@a\\x2db.service"):
    return systemd_unit.parse_exec("ExecStart", Value(text, "/etc/x.service", 7), unit)


@cases
def test_one_value_may_hold_commands(text, commands):
    assert [(line.prefixes, line.text) for line in lines(text)] == commands
    assert all((line.key, line.path, line.line) == ("ExecStart", "/etc/x.service", 7) for line in lines(text))


@cases
def test_words(text, words):
    assert lines(text)[0].argv() == words


def test_a_colon_keeps_the_dollars():
    assert lines(":/bin/a $$t")[0].argv() == ["/bin/a", "$$t"]


@pytest.mark.parametrize("text", ["'" * 300001, "\"" * 300001, "\\" * 300001, "a'" * 200000, "; " * 200000,
                                  "\"a" * 200001, "%" * 300001])
def test_a_huge_value_is_read_in_linear_time(text):
    # Quadratic work would take minutes.
    assert isinstance([line.argv() for line in lines(text)], list)
