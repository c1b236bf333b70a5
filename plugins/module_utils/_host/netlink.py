# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the kernel over netlink: conntrack counters where /proc has no file of them, tables and rules of nftables.

A dump over netlink takes no lock and changes nothing. A request would load the module that answers it, so callers check
first that it is loaded (include/uapi/linux/netfilter/nfnetlink_conntrack.h, net/netfilter/nf_conntrack_netlink.c
ctnetlink_ct_stat_cpu_dump(), include/uapi/linux/netfilter/nf_tables.h). nft reads the elements of every set of a table
before it lists one chain (0.6 s with 5000 Services); over netlink the rules of one chain take a millisecond.

Reads the virtual servers of IPVS over generic netlink, as ipvsadm does.

A dump has all servers of this network namespace and of no other (net/netfilter/ipvs/ip_vs_ctl.c
ip_vs_genl_dump_services()). No module is loaded: a dump of the families lists the existing families, while a request
for one family would load its module (net/netlink/genetlink.c ctrl_dumpfamily(), ctrl_getfamily()). The kernel answers
only with CAP_NET_ADMIN. Numbers of commands and attributes: include/uapi/linux/ip_vs.h, include/uapi/linux/genetlink.h.
"""

import collections
import ipaddress
import socket
import struct

from .host import ABSENT, DENIED, OK, TIMEOUT, UNPARSED, status_of

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
    """(type, value) of the user data that nft stores with a rule or a set (libnftnl udata.h). Type 0 of a
    rule is its comment, of a set the kind of its keys."""
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


# `address`: None for a server that is identified by its firewall mark. `family`: an address family number of socket(2).
Server = collections.namedtuple("Server", "family protocol address port mark scheduler")
Destination = collections.namedtuple("Destination", "address port forward weight")

_CONTROLLER, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_GET_SERVICE, _GET_DEST, _SERVICE, _DEST = 4, 8, 1, 2
_AF, _PROTOCOL, _ADDRESS, _PORT, _MARK, _SCHEDULER = range(1, 7)
_DEST_ADDRESS, _DEST_PORT, _DEST_FORWARD, _DEST_WEIGHT, _DEST_AF = 1, 2, 3, 4, 11
_SHORT, _LONG, _SIGNED, _NETWORK_SHORT = (struct.Struct(form) for form in ("=H", "=I", "=i", "!H"))
_PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
# Some 100,000 servers: the kernel adds counters to each.
_IPVS_LIMIT = 48 * 1024 * 1024


def ipvs_servers():
    """(status, [Server]) of this network namespace; absent where the kernel has no IPVS."""
    status, family = _family()
    if status != OK:
        return status, []
    status, answers = dump(family, _GET_SERVICE, protocol=NETLINK_GENERIC, limit=_IPVS_LIMIT)
    servers = [_server(dict(attributes_of(dict(attributes).get(_SERVICE, b"")))) for _command, attributes in answers]
    placed = all(server.mark or server.protocol in _PROTOCOLS.values() and None not in (server.address, server.port)
                 for server in servers)
    return (status, servers) if placed else (UNPARSED, [])


def ipvs_destinations(server):
    """(status, [Destination]) of a `Server`."""
    status, family = _family()
    if status != OK:
        return status, []
    status, answers = dump(family, _GET_DEST, _named(server), NETLINK_GENERIC, _IPVS_LIMIT)
    found = [_destination(dict(attributes_of(dict(attributes).get(_DEST, b""))), server)
             for _command, attributes in answers]
    return (UNPARSED, []) if any(None in row for row in found) else (status, found)


def _family():
    """(status, number) of the family IPVS."""
    status, answers = dump(_CONTROLLER, _GET_FAMILY, protocol=NETLINK_GENERIC)
    for _command, attributes in answers:
        found = dict(attributes)
        if found.get(_FAMILY_NAME) == b"IPVS\0":
            return status, _number(found, _FAMILY_ID, _SHORT)
    return ABSENT if status == OK else status, None


def _server(found):
    family, mark = _number(found, _AF, _SHORT), _number(found, _MARK, _LONG)
    protocol = None if mark else _number(found, _PROTOCOL, _SHORT)
    return Server(family, _PROTOCOLS.get(protocol, protocol), None if mark else _address(found.get(_ADDRESS), family),
                  None if mark else _number(found, _PORT, _NETWORK_SHORT), mark,
                  found.get(_SCHEDULER, b"").rstrip(b"\0").decode("utf-8", "replace"))


def _destination(found, server):
    family = _number(found, _DEST_AF, _SHORT) or server.family
    return Destination(_address(found.get(_DEST_ADDRESS), family), _number(found, _DEST_PORT, _NETWORK_SHORT),
                       _number(found, _DEST_FORWARD, _LONG), _number(found, _DEST_WEIGHT, _SIGNED))


def _number(found, kind, form):
    """The number at the beginning of an attribute; None without the attribute, or where it is too short."""
    value = found.get(kind, b"")
    return form.unpack_from(value)[0] if len(value) >= form.size else None


def _address(value, family):
    """The address as text: the kernel returns 16 bytes, of which IPv4 fills the first four (union nf_inet_addr)."""
    size = 16 if family == socket.AF_INET6 else 4
    return str(ipaddress.ip_address(value[:size])) if value and len(value) >= size else None


def _named(server):
    """The attributes that name a server in a request."""
    rows = [(_AF, _SHORT.pack(server.family))]
    if server.mark:
        rows.append((_MARK, _LONG.pack(server.mark)))
    else:
        number = next(number for number, name in _PROTOCOLS.items() if name == server.protocol)
        rows += [(_PROTOCOL, _SHORT.pack(number)), (_ADDRESS, ipaddress.ip_address(server.address).packed),
                 (_PORT, _NETWORK_SHORT.pack(server.port))]
    return packed(_SERVICE, b"".join(packed(kind, value) for kind, value in rows))
