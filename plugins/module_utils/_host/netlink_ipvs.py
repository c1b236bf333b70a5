# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the virtual servers of IPVS over generic netlink, as ipvsadm does.

A dump has all servers of this network namespace and of no other (net/netfilter/ipvs/ip_vs_ctl.c
ip_vs_genl_dump_services()). No module is loaded: a dump of the families lists the existing families, while a request
for one family would load its module (net/netlink/genetlink.c ctrl_dumpfamily(), ctrl_getfamily()). The kernel answers
only with CAP_NET_ADMIN. Numbers of commands and attributes: include/uapi/linux/ip_vs.h, include/uapi/linux/genetlink.h.
"""

import collections
import ipaddress
import socket
import struct

from .host import ABSENT, OK, UNPARSED
from .netlink import NETLINK_GENERIC, attributes_of, dump, packed

# `address`: None for a server that is identified by its firewall mark. `family`: an address family number of socket(2).
Server = collections.namedtuple("Server", "family protocol address port mark scheduler flags")
Destination = collections.namedtuple("Destination", "address port forward weight")

_CONTROLLER, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_GET_SERVICE, _GET_DEST, _SERVICE, _DEST = 4, 8, 1, 2
_AF, _PROTOCOL, _ADDRESS, _PORT, _MARK, _SCHEDULER, _FLAGS = range(1, 8)
_DEST_ADDRESS, _DEST_PORT, _DEST_FORWARD, _DEST_WEIGHT, _DEST_AF = 1, 2, 3, 4, 11
_SHORT, _LONG, _SIGNED, _NETWORK_SHORT = (struct.Struct(form) for form in ("=H", "=I", "=i", "!H"))
_PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
# Some 100,000 servers: the kernel adds counters to each.
_LIMIT = 48 * 1024 * 1024


def ipvs_servers():
    """(status, [Server]) of this network namespace; absent where the kernel has no IPVS."""
    status, family = _family()
    if status != OK:
        return status, []
    status, answers = dump(family, _GET_SERVICE, protocol=NETLINK_GENERIC, limit=_LIMIT)
    servers = [_server(dict(attributes_of(dict(attributes).get(_SERVICE, b"")))) for _command, attributes in answers]
    placed = all(server.mark or server.protocol in _PROTOCOLS.values() and None not in (server.address, server.port)
                 for server in servers)
    return (status, servers) if placed else (UNPARSED, [])


def ipvs_destinations(server):
    """(status, [Destination]) of a `Server`."""
    status, family = _family()
    if status != OK:
        return status, []
    status, answers = dump(family, _GET_DEST, _named(server), NETLINK_GENERIC, _LIMIT)
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
                  found.get(_SCHEDULER, b"").rstrip(b"\0").decode("utf-8", "replace"), _number(found, _FLAGS, _LONG))


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
