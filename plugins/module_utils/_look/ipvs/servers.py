# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All virtual servers of this network namespace.

/proc/net/ip_vs is not exact where several network namespaces have virtual servers. In Linux 6.12 all of them are in one
table (net/netfilter/ipvs/ip_vs_ctl.c): each read() prints at most a page of memory, ip_vs_info_seq_next() counts the
servers of all namespaces, and ip_vs_info_array() finds the place to continue by counting the servers of one namespace,
so it leaves some of these out. Old kernels also print the servers of the other namespaces. So the servers are also read
over netlink, which loads nothing and is exact. The real servers come from the file, because netlink lists them for one
virtual server at a time."""

import collections

from ..._host.host import ABSENT, OK, UNPARSED

# Some 200,000 real servers, or 50,000 addresses.
PROC_LIMIT = 16 * 1024 * 1024
# The smallest page of memory: a list that is shorter was printed by one read().
_PAGE = 4096
_FORWARDS = {0: "Masq", 1: "Local", 2: "Tunnel", 3: "Route", 4: "Bypass"}
_IPV6 = 10

# `file`: the status of /proc/net/ip_vs; `status`: the status of its content; `found`: the servers, None where they are
# unknown; `whole`: False where `found` may lack servers of this namespace.
Servers = collections.namedtuple("Servers", "file status found whole")


def read_servers(host):
    """The `Servers` of this network namespace; a kernel without /proc/net/ip_vs has none."""
    text = host.read_text("/proc/net/ip_vs", PROC_LIMIT)
    if not text.ok:
        return Servers(text.status, text.status, [] if text.status == ABSENT else None, True)
    from ..._parse.proc.net_ip_vs import parse_proc_net_ip_vs
    listed, unread = parse_proc_net_ip_vs(text.text)
    if unread:
        return Servers(OK, UNPARSED, None, False)
    if host.commands and host.root == "/":
        from ..._host.netlink_ipvs import ipvs_destinations, ipvs_servers
        status, named = ipvs_servers()
        servers = joined(listed, named, ipvs_destinations) if status == OK else None
        if servers is not None:
            return Servers(OK, OK, servers, True)
    return Servers(OK, OK, listed, len(text.text) < _PAGE)


def joined(listed, named, destinations_of):
    """[VirtualServer] for each of `named`, the servers from netlink. Their real servers come from `listed`, the servers
    of the file, or from destinations_of() where the file lacks a server. None where destinations_of() fails."""
    rows = {}
    for server in listed:
        rows.setdefault(_key(server), []).append(server)
    servers = []
    for server in named:
        if rows.get(_key(server)):
            servers.append(rows[_key(server)].pop())
            continue
        status, destinations = destinations_of(server)
        if status != OK:
            return None
        servers.append(_of_netlink(server, destinations))
    return servers


def _key(server):
    return server.protocol, server.address, server.port, server.mark


def _of_netlink(server, destinations):
    from ..._parse.proc.net_ip_vs import RealServer, VirtualServer
    return VirtualServer(
        None if server.mark else "ipv6" if server.family == _IPV6 else "ipv4", server.address, server.port,
        server.protocol, server.mark, server.scheduler,
        [RealServer(real.address, real.port, _FORWARDS.get(real.forward & 7, "Masq"), real.weight)
         for real in destinations])
