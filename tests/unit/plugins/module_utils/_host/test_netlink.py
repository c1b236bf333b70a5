# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters over netlink: what the kernel answers, answers that are none, and who may ask. That they are right is proved
with a full table."""

import socket
import struct

import pytest

from node_processes import as_nobody, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import netlink

HEADER = struct.Struct("=IHHII")


def message(kind, payload):
    return HEADER.pack(HEADER.size + len(payload), kind, 2, 1, 0) + payload + b"\0" * (-len(payload) % 4)


def cpu(number, **values):
    numbers = {name: kind for kind, name in netlink._NAMES.items()}
    attributes = b"".join(struct.pack("=HH", 8, numbers[name]) + struct.pack("!I", values[name])
                          for name in sorted(values))
    return message((1 << 8) | 4, b"\0\0" + struct.pack("!H", number) + attributes)


DONE = message(3, b"\0\0\0\0")


@pytest.fixture
def answers(monkeypatch):
    """Lets the kernel answer with the blocks that are given; `None` ends the connection."""
    def give(*blocks):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for block in blocks:
            theirs.send(block)
        monkeypatch.setattr(netlink.socket, "socket", lambda *_arguments: ours)
        monkeypatch.setattr(netlink, "_SECONDS", 0.2)
        answer = netlink.conntrack_counters()
        asked = theirs.recv(100)
        theirs.close()
        assert HEADER.unpack_from(asked)[:3] == (20, (1 << 8) | 4, 0x301) and len(asked) == 20
        return answer
    return give


def test_counters_of_all_processors_are_added(answers):
    assert answers(cpu(0, drop=5, early_drop=1, clashres=2) + cpu(1, drop=6, insert_failed=3), cpu(2, drop=1),
                   DONE) == (
                       "ok", {"drop": 12, "early_drop": 1, "clashres": 2, "insert_failed": 3})


@pytest.mark.parametrize(
    "blocks, answer", [
        ([message(2, struct.pack("=i", -1) + b"\0" * 16)], ("denied", {})),
        ([HEADER.pack(4, (1 << 8) | 4, 0, 1, 0)], ("denied", {})), ([cpu(0, drop=1)], ("timeout", {})),
        ([message((1 << 8) | 4, b"\0" * 4 + struct.pack("=HH", 2, 10)) + DONE], ("ok", {})),
        ([message((1 << 8) | 4, b"\0" * 4 + struct.pack("=HHH", 6, 10, 1)), DONE], ("ok", {})),
        ([b"\0" * 3, DONE], ("ok", {}))])
def test_answers_that_are_none(blocks, answer, answers):
    assert answers(*blocks) == answer


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def stored(kind, value):
    return bytes(bytearray([kind, len(value)])) + value


def nft_set(name, *parts):
    """A set as the kernel lists it, with these parts of user data."""
    return message((10 << 8) | 9, b"\2\0\0\0" + attribute(1, b"t\0") + attribute(2, name + b"\0")
                   + (attribute(13, b"".join(parts)) if parts else b""))


def typeof(part, expression):
    return stored(part, stored(0, struct.pack("=I", expression)) + stored(1, b"\0\4\7\0\0\0"))


# Seen with sets that nft 1.0.6 crashes on (4) and does not crash on (7, 9), in the key (3) and in the data (4).
@pytest.mark.parametrize("parts, found", [
    ((typeof(3, 4),), True), ((stored(0, b"\0\0\0\1"), typeof(3, 9), typeof(4, 4)), True), ((typeof(3, 7),), False),
    ((), False), ((stored(3, b""),), False), ((b"\3\x20",), False)])
def test_sets_whose_type_is_a_constant(parts, found, monkeypatch):
    monkeypatch.setattr(netlink, "dump", lambda kind: ("ok", netlink._answers(Block(nft_set(b"s", *parts) + DONE),
                                                                              1000)[1]))
    assert netlink.nft_sets_of_constants() == ("ok", [("ip", "t", "s")] if found else [])


class Block:
    """A channel with one block."""

    def __init__(self, data):
        self._data = data

    def recv(self, _size):
        return self._data


@needs_root
def test_only_root_is_told():
    assert as_nobody(netlink.conntrack_counters) == ["denied", {}]
