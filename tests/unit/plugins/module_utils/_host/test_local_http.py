# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests on the loopback interface: found, refused, slow, flooded; no request goes to any other address."""

import errno
import re
import socket
import time

import pytest

import loopback
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import local_http

PATTERN = re.compile(br'^kubernetes_build_info\{[^}\n]*git_version="v(\d+\.\d+\.\d+)', re.M)


def find(port, address="127.0.0.1", seconds=1.0, limit=4 << 20):
    answer = local_http.fetch_local(address, port, "/metrics", seconds, limit)
    match = PATTERN.search(answer.body)
    return answer.status, match and match.group(1).decode()


def test_slow_pieces_are_joined_and_a_flood_ends():
    text = loopback.metrics("1.33.21")
    at = text.index("1.33.21") + 4
    with loopback.serving(text[:at], text[at:at + 2], text[at + 2:], pause=0.05) as server:
        assert find(server.port) == ("ok", "1.33.21")
    with loopback.serving("HTTP/1.0 200 OK\r\n\r\n" + "x" * 100, *["x" * 65536] * 64) as server:
        assert find(server.port, limit=1 << 20) == ("unparsed", None)


def test_over_ipv6():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with loopback.serving(loopback.metrics("1.30.5"), address="::1") as server:
        assert find(server.port, "::1") == ("ok", "1.30.5")


@pytest.mark.parametrize("answer", ["", "SSH-2.0-OpenSSH_9.2p1 and more of it\r\n" + loopback.METRICS % ("", "1.30.5"),
                                    "\x15\x03\x01", "HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\ncut off",
                                    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nlonger",
                                    "HTTP/2 200\r\n\r\nok", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n"])
def test_what_is_no_answer(answer):
    with loopback.serving(answer) as server:
        assert local_http.fetch_local("127.0.0.1", server.port, "/", 1.0, 1000) == ("unparsed", None, b"")


@pytest.mark.parametrize("answer, code, body", [
    ("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 3\r\n\r\nbad", 503, b"bad"),
    ("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n", 302, b""), ("HTTP/1.0 200 OK\r\n\r\n", 200, b""),
])
def test_an_answer_of_any_code_is_one_and_a_redirect_is_not_followed(answer, code, body):
    with loopback.serving(answer) as server:
        assert local_http.fetch_local("127.0.0.1", server.port, "/", 1.0, 1000) == ("ok", code, body)
    assert len(server.asked) == 1


def test_nobody_listens():
    assert find(loopback.free_port()) == ("absent", None)


@pytest.mark.parametrize("number", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_nobody_listens_on_an_address_of_a_kernel_without_ipv6(number, monkeypatch):
    """ipv6.disable=1 allows no IPv6 socket; disable_ipv6 of lo leaves no address (seen in a network without ::1)."""
    class Channel(socket.socket):
        def __init__(self, *arguments):
            if number == errno.EAFNOSUPPORT:
                raise OSError(number, "")
            super().__init__(*arguments)

        def connect(self, place):
            raise OSError(number, "")

    monkeypatch.setattr(local_http.socket, "socket", Channel)
    assert find(10249, "::1") == ("absent", None)


@pytest.mark.parametrize("pieces, pause", [(("HTTP/1.0 200 OK\r\n\r\n",), 1.0),
                                           (("HTTP/1.0 200 OK\r\n\r\n",) + ("x",) * 1000, 0.05), (("",), 1.0)])
def test_a_slow_one_is_left(pieces, pause):
    with loopback.serving(*pieces, pause=pause) as server:
        begun = time.monotonic()
        assert find(server.port, seconds=0.3) == ("timeout", None)
        assert time.monotonic() - begun < 10


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
    assert bound == [b"lo"] and server.asked == ["GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n"]
