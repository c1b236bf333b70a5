# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a program of this node over its loopback interface, and never anybody else. PRIVATE to the collection.

A rule may send what goes to 127.0.0.1 elsewhere (a hostPort does); so the socket is bound to the interface lo, which no
packet of it leaves (man 7 socket, SO_BINDTODEVICE). http.client takes longer to compile than the whole question takes;
HTTP/1.0 needs three lines, and answers to it are neither in chunks nor kept open (RFC 1945).
"""

import re
import socket
import time

from .host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED, status_of

_LOOPBACK = re.compile(r"127(\.[0-9]{1,3}){3}\Z|::1\Z")
_OK = re.compile(br"HTTP/1\.[01] 200 ")
_BLOCK = 64 * 1024
# A match may stand across two blocks.
_OVERLAP = 4096


def find_local(address, port, path, pattern, seconds, limit):
    """(status, match or None) of the first place that fits `pattern` (of bytes) in what `GET path` answers within
    `seconds`.

    `address` is an IP address of the loopback interface; any other is `denied`. Reading stops at the match, or after
    `limit` bytes, which is `unparsed`, as is an answer without a match.
    """
    if not _LOOPBACK.match(address):
        return DENIED, None
    deadline = time.monotonic() + seconds
    channel = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        channel.settimeout(seconds)
        channel.connect((address, port))
        channel.sendall(("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" % path).encode("ascii"))
        return _search(channel, pattern, deadline, limit)
    except socket.timeout:
        return TIMEOUT, None
    except ConnectionRefusedError:
        return ABSENT, None
    except OSError as error:
        return status_of(error), None
    finally:
        channel.close()


def _search(channel, pattern, deadline, limit):
    data = b""
    while len(data) <= limit:
        left = deadline - time.monotonic()
        if left <= 0:
            return TIMEOUT, None
        channel.settimeout(left)
        chunk = channel.recv(_BLOCK)
        data += chunk
        if len(data) > 16 and not _OK.match(data):
            return UNPARSED, None
        found = pattern.search(data, max(0, len(data) - len(chunk) - _OVERLAP))
        # A match that ends with what has come may go on.
        if found and (not chunk or found.end() < len(data)):
            return OK, found
        if not chunk:
            return UNPARSED, None
    return UNPARSED, None
