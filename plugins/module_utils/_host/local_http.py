# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP requests to programs of this node, never to another machine.

A NAT rule may redirect packets to 127.0.0.1 (a hostPort does); so the socket is bound to the interface lo, which its
packets do not leave (man 7 socket, SO_BINDTODEVICE). http.client takes longer to compile than the request takes;
HTTP/1.0 needs three lines, and its responses are neither chunked nor kept open (RFC 1945). No proxy is used, and
redirects are not followed."""

import collections
import errno
import re
import socket
import time

from .host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED, status_of

# `status` of the request, `code` and `body` (bytes) of the response; None and empty unless the status is ok.
Answer = collections.namedtuple("Answer", "status code body")

_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){3}\Z|::1\Z")
_HEAD = re.compile(br"HTTP/1\.[01] ([0-9]{3})[ \r\n]")
_LENGTH = re.compile(br"^content-length:[ \t]*([0-9]{1,12})[ \t]*\r?$", re.I | re.M)
_BLOCK = 64 * 1024
# Without IPv6 (ipv6.disable=1, disable_ipv6 of lo) the socket or its address does not exist.
_NOT_LISTENING = (errno.ECONNREFUSED, errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


def fetch_local(address, port, path, seconds, limit, own=()):
    """The `Answer` to `GET path` within `seconds`. `address` is an IP address of the loopback interface, or one of
    `own`, on which a process of this node listens; any other is `denied`. A response of more than `limit` bytes is
    `unparsed`, as is one that is truncated or not HTTP."""
    if not _LOOPBACK.match(address) and address not in own:
        return Answer(DENIED, None, b"")
    deadline = time.monotonic() + seconds
    try:
        channel = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        return Answer(_status_of(error), None, b"")
    try:
        if _LOOPBACK.match(address):
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        else:
            # From an address of the node to itself: the kernel delivers that locally (table local).
            channel.bind((address, 0))
        channel.settimeout(seconds)
        channel.connect((address, port))
        channel.sendall(("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" % path).encode("ascii"))
        return _answer(_read(channel, deadline, limit), limit)
    except socket.timeout:
        return Answer(TIMEOUT, None, b"")
    except OSError as error:
        return Answer(_status_of(error), None, b"")
    finally:
        channel.close()


def _status_of(error):
    return ABSENT if error.errno in _NOT_LISTENING else status_of(error)


def _read(channel, deadline, limit):
    """The whole response, or slightly more than `limit` bytes of it; raises socket.timeout."""
    chunks, size = [], 0
    while size <= limit:
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        channel.settimeout(left)
        chunk = channel.recv(_BLOCK)
        if not chunk:
            break
        size += len(chunk)
        chunks.append(chunk)
        if size > 16 and len(chunks) == 1 and not _HEAD.match(chunk):
            break
    return b"".join(chunks)


def _answer(data, limit):
    found = _HEAD.match(data)
    head, blank, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not found or not blank or len(data) > limit or length and int(length.group(1)) != len(body):
        return Answer(UNPARSED, None, b"")
    return Answer(OK, int(found.group(1)), body)


def packed_ipv6(address):
    """The 16 bytes of an IPv6 address; None for other texts."""
    try:
        return socket.inet_pton(socket.AF_INET6, address)
    except (OSError, ValueError):
        return None
