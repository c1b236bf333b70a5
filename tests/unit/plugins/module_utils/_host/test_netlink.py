# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters, sets and virtual servers over netlink: what the kernel answers, answers that are none, who may ask. That
the counters are right is proved with a full table; real kernels have servers in `make kube-proxy`."""

import ipaddress
import pathlib
import socket
import struct

import pytest
from node_processes import as_nobody, needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils._host import netlink
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.netlink import Destination, Server

HEADER = struct.Struct("=IHHII")
FAMILY, CONTROLLER, GET_FAMILY, GET_SERVICE, GET_DEST, COUNTERS = 33, 16, 3, 4, 8, (1 << 8) | 4
SERVERS = [Server(socket.AF_INET, "tcp", "10.96.0.1", 443, None, "rr"),
           Server(socket.AF_INET6, "udp", "fd00::a", 53, None, "wlc"),
           Server(socket.AF_INET, None, None, None, 7, "sh")]


def message(kind, payload):
    return HEADER.pack(HEADER.size + len(payload), kind, 2, 1, 0) + payload + b"\0" * (-len(payload) % 4)


DONE, DENIED = message(3, b"\0\0\0\0"), message(2, struct.pack("=i", -1) + b"\0" * 16)


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


@pytest.fixture
def kernel(monkeypatch):
    """Lets the kernel answer each request with a list of blocks; returns what was asked: [(family, command, rest)]."""
    def give(work, *answers):
        ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _answer in answers]
        for (_ours, theirs), blocks in zip(ends, answers):
            for block in blocks:
                theirs.send(block)
        left = [ours for ours, _theirs in ends]
        monkeypatch.setattr(netlink.socket, "socket", lambda *_arguments: left.pop(0))
        monkeypatch.setattr(netlink, "_SECONDS", 0.2)
        answer, asked = work(), []
        for _ours, theirs in ends[:len(ends) - len(left)]:
            data = theirs.recv(200)
            assert HEADER.unpack_from(data)[0::2][:2] == (len(data), 0x301)
            asked.append((HEADER.unpack_from(data)[1], data[HEADER.size], data[HEADER.size + 4:]))
        for end in sum(ends, ()):
            end.close()
        return answer, asked
    return give


def cpu(number, **values):
    numbers = {name: kind for kind, name in netlink._NAMES.items()}
    attributes = b"".join(attribute(numbers[name], struct.pack("!I", values[name])) for name in sorted(values))
    return message(COUNTERS, b"\0\0" + struct.pack("!H", number) + attributes)


@pytest.mark.parametrize("blocks, answer", [
    ([cpu(0, drop=5, early_drop=1, clashres=2) + cpu(1, drop=6, insert_failed=3), cpu(2, drop=1), DONE],
     ("ok", {"drop": 12, "early_drop": 1, "clashres": 2, "insert_failed": 3})), ([DENIED], ("denied", {})),
    ([HEADER.pack(4, COUNTERS, 0, 1, 0)], ("denied", {})), ([cpu(0, drop=1)], ("timeout", {})),
    ([message(COUNTERS, b"\0" * 4 + struct.pack("=HH", 2, 10)) + DONE], ("ok", {})),
    ([message(COUNTERS, b"\0" * 4 + struct.pack("=HHH", 6, 10, 1)), DONE], ("ok", {})),
    ([b"\0" * 3, DONE], ("ok", {}))])
def test_counters_of_all_processors_are_added_and_answers_that_are_none(blocks, answer, kernel):
    assert kernel(netlink.conntrack_counters, blocks) == (answer, [(COUNTERS, 0, b"")])


@needs_root
def test_this_kernel_gives_nothing_without_rights_and_loads_nothing():
    assert as_nobody(netlink.conntrack_counters) == ["denied", {}]
    listed = pathlib.Path("/proc/modules")
    before = listed.exists() and {line.split()[0] for line in listed.read_text("utf-8").splitlines()}
    # absent where this kernel has no ip_vs; any user may ask for that.
    assert as_nobody(netlink.ipvs_servers) in (["absent", []], ["denied", []])
    assert before == (listed.exists() and {line.split()[0] for line in listed.read_text("utf-8").splitlines()})


def stored(kind, value):
    return bytes(bytearray([kind, len(value)])) + value


def typeof(part, expression):
    return stored(part, stored(0, struct.pack("=I", expression)) + stored(1, b"\0\4\7\0\0\0"))


# Seen with sets that nft 1.0.6 crashes on (4) and does not crash on (7, 9), in the key (3) and in the data (4).
@pytest.mark.parametrize("parts, found", [
    ((typeof(3, 4),), True), ((stored(0, b"\0\0\0\1"), typeof(3, 9), typeof(4, 4)), True), ((typeof(3, 7),), False),
    ((), False), ((stored(3, b""),), False), ((b"\3\x20",), False)])
def test_sets_whose_type_is_a_constant(parts, found, kernel):
    listed = message((10 << 8) | 9, b"\2\0\0\0" + attribute(1, b"t\0") + attribute(2, b"s\0")
                     + (attribute(13, b"".join(parts)) if parts else b""))
    assert kernel(netlink.nft_sets_of_constants, [listed, DONE])[0] == ("ok", [("ip", "t", "s")] if found else [])


def generic(kind, command, *attributes):
    return message(kind, struct.pack("=BBH", command, 1, 0) + b"".join(attributes))


def family(name, number):
    return generic(CONTROLLER, 1, attribute(2, name + b"\0"), attribute(1, struct.pack("=H", number)))


FAMILIES = [family(b"nlctrl", 16) + family(b"IPVS", FAMILY), DONE]


def short(kind, number, form="=H"):
    return attribute(kind, struct.pack(form, number))


def address(kind, text):
    return attribute(kind, ipaddress.ip_address(text).packed.ljust(16, b"\0"))


def server(*attributes):
    # NLA_F_NESTED, as kernels since 5.2 set it.
    return generic(FAMILY, 1, attribute(1 | 0x8000, b"".join(attributes)))


TCP = server(short(1, socket.AF_INET), short(2, 6), address(3, "10.96.0.1"), short(4, 443, "!H"), attribute(6, b"rr\0"),
             attribute(7, struct.pack("=II", 1, 0xffffffff)), attribute(10, b"\0" * 64))
UDP = server(short(1, socket.AF_INET6), short(2, 17), address(3, "fd00::a"), short(4, 53, "!H"), attribute(6, b"wlc\0"),
             attribute(7, struct.pack("=II", 4, 0xffffffff)))
MARK = server(short(1, socket.AF_INET), short(5, 7, "=I"), attribute(6, b"sh\0"),
              attribute(7, struct.pack("=II", 0, 0xffffffff)))


def test_servers_of_both_families_and_of_a_mark(kernel):
    answer, asked = kernel(netlink.ipvs_servers, FAMILIES, [TCP + UDP, MARK, DONE])
    assert answer == ("ok", SERVERS)
    assert asked == [(CONTROLLER, GET_FAMILY, b""), (FAMILY, GET_SERVICE, b"")]


@pytest.mark.parametrize("which, named", [(0, short(1, socket.AF_INET) + short(2, 6) + attribute(3, b"\x0a\x60\x00\x01")
                                           + short(4, 443, "!H")), (2, short(1, socket.AF_INET) + short(5, 7, "=I"))])
def test_real_servers_of_one(kernel, which, named):
    def row(*attributes):
        return generic(FAMILY, 5, attribute(2, b"".join(attributes)))
    answer, asked = kernel(lambda: netlink.ipvs_destinations(SERVERS[which]), FAMILIES, [
        row(address(1, "10.244.0.7"), short(2, 8443, "!H"), short(3, 0x100, "=I"), short(4, 1, "=I"))
        + row(address(1, "fd00::7"), short(2, 80, "!H"), short(3, 2, "=I"), short(4, 0, "=I"),
              short(11, socket.AF_INET6)), DONE])
    assert answer == ("ok", [Destination("10.244.0.7", 8443, 0x100, 1), Destination("fd00::7", 80, 2, 0)])
    assert asked[1] == (FAMILY, GET_DEST, attribute(1, named))


@pytest.mark.parametrize("answers, status", [
    ([[family(b"nlctrl", 16), DONE]], "absent"), ([[DENIED]], "denied"), ([FAMILIES, [DENIED]], "denied"),
    ([FAMILIES, [TCP]], "timeout"), ([[]], "timeout")])
def test_answers_without_servers(kernel, answers, status):
    answer, asked = kernel(netlink.ipvs_servers, *answers)
    assert answer[0] == status and len(asked) == len(answers)


@pytest.mark.parametrize("attributes", [(short(2, 6), attribute(3, b"\x0a\x60"), short(4, 80, "!H")),
                                        (short(2, 6), address(3, "10.96.0.1"), attribute(4, b"\1")),
                                        (short(2, 47), address(3, "10.96.0.1"), short(4, 80, "!H")), ()])
def test_a_server_that_is_not_named_makes_the_list_unparsed(kernel, attributes):
    blocks = [TCP + server(short(1, socket.AF_INET), *attributes), DONE]
    assert kernel(netlink.ipvs_servers, FAMILIES, blocks)[0] == ("unparsed", [])


def test_a_real_server_without_a_weight_makes_the_list_unparsed(kernel):
    row = generic(FAMILY, 5, attribute(2, address(1, "10.244.0.7") + short(2, 80, "!H") + short(3, 0, "=I")))
    assert kernel(lambda: netlink.ipvs_destinations(SERVERS[0]), FAMILIES, [row, DONE])[0] == ("unparsed", [])
