# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sketch of the Services of a node. Two sketches are enough to list the Services that differ. PRIVATE to the
collection.

It is an invertible Bloom lookup table (Goodrich and Mitzenmacher 2011): each Service is added to one cell of each
third, and the Services that two nodes have in common cancel out. A cell that is left with one Service holds its
address, port and protocol. So a node with 5000 Services sends as little as one with five, and some 20 differences can
be listed.
"""

import base64
import hashlib
import ipaddress
import struct

CELLS = 48
_THIRDS = 3
_OF_THIRD = CELLS // _THIRDS
# Kind, protocol, port, address, whether it has endpoints, digest of these; then the check of the cell.
_ITEM = struct.Struct(">BBH16sB4s")
_CHECK = 3
_CELL = struct.Struct(">H%ds" % (_ITEM.size + _CHECK))
# A text of the evidence has at most 300 characters (_look/bounds.py).
_CELLS_OF_TEXT = 6
_WITH_ENDPOINTS, _WITHOUT = "e", "s"
# IANA numbers of the protocols that a Service may have (Kubernetes API).
_PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
_FAMILIES = {"ipv4": (ipaddress.IPv4Address, 4), "ipv6": (ipaddress.IPv6Address, 6)}
_NODE_PORT = 16


class Sketch:
    """A sketch of the Services that are added to it, each once."""

    def __init__(self):
        self._sums = [0] * CELLS
        self._counts = [0] * CELLS

    def add(self, service, behind):
        """`behind` is the text of its endpoints, empty where it has no endpoints to compare."""
        item = _packed(service, behind)
        places, number = _placed(item)
        for place in places:
            self._sums[place] ^= number
            self._counts[place] += 1

    def texts(self, endpoints_known=True):
        """The sketch as a list of short texts, the same for the same Services."""
        cells = [_CELL.pack(count & 0xffff, number.to_bytes(_CELL.size - 2, "big"))
                 for count, number in zip(self._counts, self._sums)]
        parts = [b"".join(cells[at:at + _CELLS_OF_TEXT]) for at in range(0, CELLS, _CELLS_OF_TEXT)]
        return [_WITH_ENDPOINTS if endpoints_known else _WITHOUT] + [
            base64.b64encode(part).decode("ascii") for part in parts]


def without_endpoints(texts):
    """The sketch of the same Services, with endpoints that are not known."""
    return texts and [_WITHOUT] + texts[1:]


def differences(one, other):
    """`{"missing", "extra", "served", "endpoints", "complete"}` of two sketches, each with its texts joined to one;
    None where one is not a sketch, or they cannot be compared.

    `missing`: the Services that only `other` has. `extra`: the Services that only `one` has. `served`: the Services
    that have endpoints in only one of the two. `endpoints`: the Services with different endpoints. `complete` is False
    where there are too many to list.
    """
    cells = [_cells(text) for text in (one, other)]
    if None in cells or one[:1] != other[:1]:
        return None
    left = [((a[0] - b[0]) & 0xffff, a[1] ^ b[1]) for a, b in zip(*cells)]
    found, complete = _peeled(left)
    here, there = ({item[:20]: item[20:] for item, sign in found if sign == wanted} for wanted in (1, 0xffff))
    both = set(here) & set(there)
    others = [key for key in both if here[key][:1] == there[key][:1]] if one[0] == _WITH_ENDPOINTS else []
    return {
        "missing": _named(set(there) - both), "extra": _named(set(here) - both),
        "served": _named(key for key in both if here[key][:1] != there[key][:1]),
        "endpoints": _named(others), "complete": complete}


def _packed(service, behind):
    family, number = _FAMILIES.get(service.family, (None, 0))
    address = b"\0" * 16
    if service.address == "nodeport":
        number += _NODE_PORT
    else:
        try:
            address = family(service.address).packed.rjust(16, b"\0")
        except (TypeError, ValueError):
            # The kernel prints no address in this form; the digest is still the same on each node.
            number, address = 0, _digest(service.address)[:16]
    return _ITEM.pack(number, _PROTOCOLS.get(service.protocol, 0), service.port & 0xffff, address,
                      bool(service.has_endpoints), _digest(behind)[:4] if behind else b"\0" * 4)


def _digest(text):
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


def _placed(item):
    """(its cell in each third, the number that is added there)."""
    mixed = hashlib.sha256(item).digest()
    places = [third * _OF_THIRD + mixed[third] % _OF_THIRD for third in range(_THIRDS)]
    return places, int.from_bytes(item + mixed[_THIRDS:_THIRDS + _CHECK], "big")


def _cells(text):
    """[(count, sum)] of a sketch whose texts are joined to one, or None."""
    try:
        data = base64.b64decode(text[1:].encode("ascii"), validate=True)
    except ValueError:
        return None
    if text[:1] not in (_WITH_ENDPOINTS, _WITHOUT) or len(data) != CELLS * _CELL.size:
        return None
    return [(count, int.from_bytes(number, "big")) for count, number in _CELL.iter_unpack(data)]


def _peeled(cells):
    """([(item, 1 or 65535)], whether these are all). An item that is alone in a cell is removed from its other cells,
    which leaves other items alone there. Each item is removed only once, so invalid sums of a node cannot cause an
    endless loop."""
    found, waiting = {}, list(range(CELLS))
    while waiting:
        count, number = cells[waiting.pop()]
        item = number.to_bytes(_CELL.size - 2, "big")[:_ITEM.size]
        if count not in (1, 0xffff) or (item, count) in found:
            continue
        places, whole = _placed(item)
        if whole != number:
            continue
        found[item, count] = None
        for place in places:
            cells[place] = ((cells[place][0] - count) & 0xffff, cells[place][1] ^ whole)
        waiting += places
        if len(found) > CELLS:
            break
    return list(found), not any(count or number for count, number in cells)


def _named(keys):
    return sorted(_name(key) for key in keys)


def _name(key):
    number, protocol, port, address, _served, _behind = _ITEM.unpack(key + b"\0" * 5)
    word = next((word for word, each in _PROTOCOLS.items() if each == protocol), "protocol %d" % protocol)
    if number in (4 + _NODE_PORT, 6 + _NODE_PORT):
        return "%s nodePort %d (IPv%d)" % (word, port, number - _NODE_PORT)
    if number == 4:
        return "%s %s:%d" % (word, ipaddress.IPv4Address(address[12:]), port)
    if number == 6:
        return "%s [%s]:%d" % (word, ipaddress.IPv6Address(address), port)
    return "%s port %d of an unknown address" % (word, port)
