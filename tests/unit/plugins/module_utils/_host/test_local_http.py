# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking on the loopback interface: found, refused, slow, flooded, and never anybody else."""

import re
import socket
import time

import pytest

import loopback
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import local_http

PATTERN = re.compile(br'^kubernetes_build_info\{[^}\n]*git_version="v(\d+\.\d+\.\d+)', re.M)


def find(port, address="127.0.0.1", seconds=1.0, limit=4 << 20):
    status, match = local_http.find_local(address, port, "/metrics", PATTERN, seconds, limit)
    return status, match and match.group(1).decode()


def test_it_is_found():
    with loopback.serving(loopback.metrics("1.33.2")) as server:
        assert find(server.port) == ("ok", "1.33.2")
    assert server.asked == ["GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n"]


def test_behind_a_megabyte():
    with loopback.serving(loopback.metrics("1.33.2", loopback.BUCKETS)) as server:
        assert find(server.port) == ("ok", "1.33.2")


def test_in_the_slowest_of_pieces():
    text = loopback.metrics("1.33.21")
    at = text.index("1.33.21") + 4
    with loopback.serving(text[:at], text[at:at + 2], text[at + 2:], pause=0.05) as server:
        assert find(server.port) == ("ok", "1.33.21")


def test_over_ipv6():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with loopback.serving(loopback.metrics("1.30.5"), address="::1") as server:
        assert find(server.port, "::1") == ("ok", "1.30.5")


@pytest.mark.parametrize("answer, status",
                         [
                             ("", "unparsed"), ("HTTP/1.0 200 OK\r\n\r\nnothing of it", "unparsed"),
                             ("HTTP/1.1 403 Forbidden\r\n\r\n" + loopback.metrics("1.30.5"), "unparsed"),
                             ("SSH-2.0-OpenSSH_9.2p1 and more of it\r\n" + loopback.METRICS % ("", "1.30.5"),
                              "unparsed"), ("\x15\x03\x01", "unparsed"),
                         ])
def test_what_is_no_answer(answer, status):
    with loopback.serving(answer) as server:
        assert find(server.port) == (status, None)


def test_nobody_listens():
    assert find(loopback.free_port()) == ("absent", None)


@pytest.mark.parametrize("pieces, pause", [(("HTTP/1.0 200 OK\r\n\r\n",), 1.0),
                                           (("HTTP/1.0 200 OK\r\n\r\n",) + ("x",) * 1000, 0.05), (("",), 1.0)])
def test_a_slow_one_is_left(pieces, pause):
    with loopback.serving(*pieces, pause=pause) as server:
        begun = time.monotonic()
        assert find(server.port, seconds=0.3) == ("timeout", None)
        assert time.monotonic() - begun < 10


def test_a_flood_ends():
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n" + "x" * 100, *["x" * 65536] * 64) as server:
        assert find(server.port, limit=1 << 20) == ("unparsed", None)


@pytest.mark.parametrize("address", ["192.0.2.1", "0.0.0.0", "10.0.0.1", "localhost", "", "::", "fe80::1", "128.0.0.1",
                                     "1270.0.0.1", "127.0.0.1 x", "::ffff:10.0.0.1"])
def test_nobody_else_is_asked(address, monkeypatch):
    monkeypatch.setattr(local_http.socket, "socket", None)
    assert find(80, address) == ("denied", None)


def test_the_socket_does_not_leave_the_interface_lo(monkeypatch):
    bound = []

    class Watched(socket.socket):
        def connect(self, address):
            bound.append(self.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0"))
            return super().connect(address)

    monkeypatch.setattr(local_http.socket, "socket", Watched)
    with loopback.serving(loopback.metrics("1.33.2")) as server:
        assert find(server.port) == ("ok", "1.33.2")
    assert bound == [b"lo"]
