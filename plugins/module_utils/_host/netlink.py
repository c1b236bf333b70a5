# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the kernel over netlink: conntrack counters where /proc has no file of them, tables and rules of nftables.

A dump over netlink takes no lock and changes nothing. A request would load the module that answers it, so callers check
first that it is loaded (include/uapi/linux/netfilter/nfnetlink_conntrack.h, net/netfilter/nf_conntrack_netlink.c
ctnetlink_ct_stat_cpu_dump(), include/uapi/linux/netfilter/nf_tables.h). nft reads the elements of every set of a table
before it lists one chain (0.6 s with 5000 Services); over netlink the rules of one chain take a millisecond."""

import socket
import struct

from .host import DENIED, OK, TIMEOUT, UNPARSED, status_of

_NETLINK_NETFILTER, NETLINK_GENERIC = 12, 16
_STATS_OF_CPUS = (1 << 8) | 4  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_GET_STATS_CPU
# NFNL_SUBSYS_NFTABLES with NFT_MSG_GETTABLE, NFT_MSG_GETRULE and NFT_MSG_GETSET.
_TABLES, _RULES, _SETS = (10 << 8) | 1, (10 << 8) | 7, (10 << 8) | 10
_FAMILIES = {1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}
# NFTNL_UDATA_SET_KEY_TYPEOF and NFTNL_UDATA_SET_DATA_TYPEOF; EXPR_VALUE of nft in the byte order of the machine.
_TYPES_OF_A_SET, _CONSTANT = (3, 4), struct.pack("=I", 4)
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
# NLM_F_DUMP_INTR: the rules changed during the dump.
_INTERRUPTED = 0x10
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_FIRST_BYTES, _SECONDS, _BLOCK, _LIMIT = 4, 1.0, 1 << 16, 4 * 1024 * 1024
# Attribute numbers and the names that the columns of /proc/net/stat/nf_conntrack have.
_NAMES = {2: "found", 4: "invalid", 5: "ignore", 8: "insert", 9: "insert_failed", 10: "drop", 11: "early_drop",
          12: "icmp_error", 13: "search_restart", 14: "clashres", 15: "chainlength"}


def conntrack_counters():
    """(status, {counter: sum over all CPUs since boot}) of this network namespace."""
    status, answers = dump(_STATS_OF_CPUS)
    sums = {}
    for _family, attributes in answers if status == OK else ():
        for kind, value in attributes:
            if kind in _NAMES and len(value) == 4:
                sums[_NAMES[kind]] = sums.get(_NAMES[kind], 0) + struct.unpack("!I", value)[0]
    return status, sums


def nft_tables():
    """(status, [(family as nft names it, name)]) of all tables of this network namespace."""
    status, answers = dump(_TABLES)
    return status, [(_FAMILIES.get(family, str(family)), _name(dict(attributes).get(1, b"")))
                    for family, attributes in answers]


def nft_expressions(family, table, chain):
    """(status, [[(name of an expression, {attribute: bytes})]]), one list per rule of a chain, in order."""
    number = next(number for number, name in _FAMILIES.items() if name == family)
    named = packed(1, table.encode("utf-8") + b"\0") + packed(2, chain.encode("utf-8") + b"\0")
    status, answers = dump(_RULES, number, named)
    rules = []
    for _family, attributes in answers:
        elements = [dict(attributes_of(element)) for _kind, element in attributes_of(dict(attributes).get(4, b""))]
        comment = dict(_user_data(dict(attributes).get(7, b""))).get(0)
        rules.append([(_name(element.get(1, b"")), dict(attributes_of(element.get(2, b"")))) for element in elements]
                     + ([("comment", {1: comment})] if comment else []))
    return status, rules


def nft_sets_of_constants():
    """(status, [(family, table, set)]) of the sets whose type is stored as a constant, which nft does since 1.1.2 (nft
    src/mnl.c set_key_expression(), src/expression.c constant_expr_build_udata(); libnftnl udata.h)."""
    status, answers = dump(_SETS)
    found = []
    for family, pairs in answers:
        attributes = dict(pairs)
        stored = dict(_user_data(attributes.get(13, b"")))
        kinds = [dict(_user_data(stored.get(part, b""))).get(0) for part in _TYPES_OF_A_SET]
        if _CONSTANT in kinds:
            found.append((_FAMILIES.get(family, str(family)), _name(attributes.get(1, b"")),
                          _name(attributes.get(2, b""))))
    return status, found


def _user_data(data):
    """(type, value) of the user data that nft stores with a rule or a set (libnftnl udata.h); 0 is a comment."""
    data = bytearray(data)
    while len(data) >= 2 and len(data) >= 2 + data[1]:
        yield data[0], bytes(data[2:2 + data[1]])
        data = data[2 + data[1]:]


def _name(value):
    return value.rstrip(b"\0").decode("utf-8", "replace")


def packed(kind, value):
    """One attribute of a request."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + b"\0" * (-len(value) % 4)


def dump(kind, first=0, body=b"", protocol=_NETLINK_NETFILTER, limit=_LIMIT):
    """(status, [(first, [(attribute, value)])]) of the kernel's reply. Each message begins with four bytes, whose first
    one is the family of nftables and conntrack (struct nfgenmsg), or the command of generic netlink (struct
    genlmsghdr)."""
    try:
        channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    except OSError as error:
        return status_of(error), []
    try:
        channel.settimeout(_SECONDS)
        size = _HEADER.size + _FIRST_BYTES + len(body)
        channel.sendall(_HEADER.pack(size, kind, _REQUEST_DUMP, 1, 0) + struct.pack("=BBH", first, 0, 0) + body)
        return _answers(channel, limit)
    except socket.timeout:
        return TIMEOUT, []
    except OSError as error:
        return status_of(error), []
    finally:
        channel.close()


def _answers(channel, limit):
    answers, size = [], 0
    while size < limit:
        data = channel.recv(_BLOCK)
        size += len(data)
        if not data:
            return UNPARSED, []
        while len(data) >= _HEADER.size:
            length, kind, flags = _HEADER.unpack_from(data)[:3]
            if flags & _INTERRUPTED:
                return UNPARSED, []
            if kind == _DONE:
                return OK, answers
            if kind == _ERROR or length < _HEADER.size:
                return DENIED, []
            if length >= _HEADER.size + _FIRST_BYTES:
                answers.append((bytearray(data)[_HEADER.size],
                                list(attributes_of(data[_HEADER.size + _FIRST_BYTES:length]))))
            data = data[_aligned(length):]
    return UNPARSED, []


def attributes_of(data):
    """A generator of (number, value) of each attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        # NLA_F_NESTED and NLA_F_NET_BYTEORDER are flags in the number.
        yield kind & 0x3fff, data[_ATTRIBUTE.size:length]
        data = data[_aligned(length):]


def _aligned(length):
    return (length + 3) & ~3
