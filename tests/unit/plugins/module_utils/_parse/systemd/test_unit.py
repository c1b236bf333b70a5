# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit files: sections, continued lines, comments between them, and files that systemd gives up at."""

import random

import pytest

import kube_audit
import unit_trees
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.systemd.unit import parse_unit


def parsed(data):
    return [tuple(assignment) for assignment in parse_unit(data).assignments]


@pytest.mark.parametrize(
    "data, expected", [
        (b"[Unit]\nAfter = a.service  \n", [("Unit", "After", "a.service", 2)]),
        (b"\xef\xbb\xbf[Unit]\nA=1", [("Unit", "A", "1", 2)]),
        (b"[Service]\n  ExecStart=/a \\\n  b\\\n\tc\n[Unit]\nA=1",
         [("Service", "ExecStart", "/a    b \tc", 2), ("Unit", "A", "1", 6)]),
        (b"[Service]\nExecStart=/a \\\n# not this \\\n; nor this\n  b\nA=1",
         [("Service", "ExecStart", "/a    b", 2), ("Service", "A", "1", 6)]),
        (b"[Service]\n# a comment is not continued \\\nA=1", [("Service", "A", "1", 3)]),
        (b"[Service]\nA=b\\\\\nB=c", [("Service", "A", "b\\\\", 2), ("Service", "B", "c", 3)]),
        (b"[Service]\nA=b\\", [("Service", "A", "b", 2)]),
        (b"[Service]\r\nA=1\r\nB=2", [("Service", "A", "1", 2), ("Service", "B", "2", 3)]),
        (b"[Service]\rA=1\rB=2\0C=3", [("Service", "A", "1", 2), ("Service", "B", "2", 3), ("Service", "C", "3", 4)]),
        (b"A=outside\n[Service]\nno sign\n=no key\nA=b=c\nB=", [("Service", "A", "b=c", 5), ("Service", "B", "", 6)]),
        (b"[X-Mine]\nA=1", [("X-Mine", "A", "1", 2)]),
        ("[Unit]\nDescription=\u00e4\ufffd".encode("utf-8"), [("Unit", "Description", "\u00e4\ufffd", 2)]),
        (b"", []),
    ])
def test_what_a_file_says(data, expected):
    assert parsed(data) == expected
    assert parse_unit(data).broken is None


@pytest.mark.parametrize("data, line", [
    (b"[Unit]\nA=1\n[Service\nB=2\n", 3),
    (b"[Unit]\nA=1\nB=\xff\nC=3\n", 3),
    (b"[Unit]\nA=1\n[Ser\"vice]\nB=2\n", 3),
    ("[Unit]\nA=1\nB=\ufffe\n".encode("utf-8"), 3),
])
def test_where_a_file_is_given_up(data, line):
    """What stands before counts (systemd src/shared/conf-parser.c)."""
    found = parse_unit(data)
    assert found.broken == line
    assert parsed(data) == [("Unit", "A", "1", 2)]


def test_a_comment_may_be_binary():
    assert parsed(b"[Unit]\n# \xff\xfe\nA=1") == [("Unit", "A", "1", 3)]


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
    # Quadratic work would take minutes.
    assert isinstance(parse_unit(data).assignments, list)
