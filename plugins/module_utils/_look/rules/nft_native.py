# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables that iptables-save does not print and that are not kube-proxy's, of a live node and of dumps.

Of a live node their names come over netlink within a millisecond, where `nft list tables` reads every rule of every
table; nft is run for each table that may be judged, and for none on most nodes. Dumps hold them where they hold what
`nft list ruleset` printed.

The tunnel of the network plugin between nodes.
"""

import bisect
import collections
import functools
import re

from ... import _names
from ..._host.host import OK
from ..._names import BUNDLE_POD_NETWORKS, BUNDLE_SOME_ADDRESSES
from ..._parse.iptables.ruleset import RuleSet
from ..._parse.proc.network_files import (
    parse_proc_net_fib_trie, parse_proc_net_if_inet6, parse_proc_net_ipv6_route, parse_proc_net_route,
)
from ..._rules.model.rule import is_tunnel
from ..._rules.observation import observe
from ..._rules.rules import number_of, range_of

_LINKS, _ROUTES, _ROUTES_IPV6 = "/sys/class/net", "/proc/net/route", "/proc/net/ipv6_route"
_LIMIT = 4 << 20
_OF_ALL = "fe80:", "ff"


def tunnel_between_nodes(host, rules):
    """`Setting.tunnel()`; a firewall that refuses packets to the node asks for it."""
    if rules.source != "live" and not rules.of_tree:
        return None
    from ..._rules.others.node_packets import tunnel_of
    listed = host.read_text("/proc/net/dev").text
    names = {line.partition(":")[0].strip() for line in listed.splitlines() if ":" in line}
    routed = {interface for _network, interface in _routes(host)} | _routed_ipv6(host)
    if rules.of_tree:
        # People show single interfaces, or routes.
        names.update(routed, host.list_dir(_LINKS)[1])
    return tunnel_of(names, routed)


def networks_behind(host, tunnel):
    """The networks of pods that a tunnel leads to."""
    return [network for network, interface in _routes(host) if network and interface == tunnel[0]]


def single_routes(host):
    """`Setting.single_routes()`."""
    return sorted({interface for network, interface in _routes(host) if network and network.endswith("/32")})


def _routes(host):
    """[(network, interface)]; people may show some of all routes."""
    return [tuple(route) for path in _paths(host, _ROUTES)
            for route in parse_proc_net_route(host.read_text(path, _LIMIT).text, gateways=True)]


def _routed_ipv6(host):
    """The names of interfaces with routes of IPv6, other than the link-local and multicast ones that the kernel gives
    every interface (net/ipv6/addrconf.c)."""
    return {interface for path in _paths(host, _ROUTES_IPV6)
            for network, interface in parse_proc_net_ipv6_route(host.read_text(path, _LIMIT).text, gateways=True)
            if network and not network.startswith(_OF_ALL)}


def _paths(host, path):
    return [path] + ([_names.BUNDLE_SOME_ROUTES + path[len("/proc/net"):]] if host.root != "/" else [])


CALICO = "calico"
LIST_SECONDS, LIST_LIMIT, ADDRESSES_LIMIT, TABLES_LIMIT = 20.0, 8 * 1024 * 1024, 4 * 1024 * 1024, 16
TEXTS_LIMIT, TEXT_LENGTH = 500, 2000
_FAMILIES = {"ip": "ipv4", "ip6": "ipv6", "inet": None}
_FLAGS = frozenset(("dormant", "owner", "persist"))
_REFUSED = re.compile(r"counter packets [1-9]\d* bytes \d+ (?:log .*)?(?:drop|reject)(?= |\Z)")
_OF_IPTABLES = ("filter", "mangle", "nat", "raw", "security")
# Network plugins, policy engines and managers of other networks: their drops are intended, and depend on marks and sets
# that change with each pod (projectcalico/calico, cilium, cloudnativelabs/kube-router, kubevirt, flannel, kindnet,
# antrea, ovn-kubernetes, containernetworking/plugins, docker 29, libvirt, podman, lxd, incus).
_OWNED = re.compile(r"(?:kube-proxy|calico|cali-|cilium|kube-router|kubevirt|flannel|kindnet|kube-network-polic|antrea|"
                    r"ovn|cni_|cni-|docker|libvirt|netavark"
                    r"|podman|lxd|incus)")


# own(): its addresses, None where they are not known. routed(): its tunnels that routes to endpoints lead over.
# tunnel(): see Setting.tunnel(). behind(): the networks of pods that it leads to.
# pods(): the networks of pods of single nodes, which kubectl printed.
_Node = collections.namedtuple("_Node", "own routed tunnel behind pods")
_Node.__new__.__defaults__ = (tuple,)


def native_rows(host, rules, services, tunnel=lambda: None):
    """[observation] of these tables; `services()` gives ([Service], whether these are all), `tunnel()` what
    Setting.tunnel() does."""
    services = functools.lru_cache(maxsize=1)(services)
    if rules.source == "files":
        return _of_dumps(host, rules, services, tunnel) if rules.native else []
    if rules.source != "live" or rules.nf_tables != OK or not host.commands or host.root != "/":
        return []
    from ..._host.netlink import nft_tables
    status, names = nft_tables()
    if status != OK:
        rules.miss("nftables", None, "the kernel did not list the native nft tables: %s" % status, "native tables")
        return []
    wanted = [name for name in set(names) if may_be_judged(*name)]
    node = _Node(functools.lru_cache(maxsize=1)(lambda: own_addresses(host)), _routed(host, services), tunnel,
                 lambda: networks_behind(host, tunnel()))
    return _within_bounds(wanted, lambda family, name: _judged(host, family, name, services, node))


def _within_bounds(names, judge):
    """The rows that `judge(family, name)` returns for the first TABLES_LIMIT tables, and a row for each further one."""
    wanted, found = sorted(names), []
    for family, name in wanted[:TABLES_LIMIT]:
        found += judge(family, name)
    return found + [_unjudged(family, name, "more than %d native tables" % TABLES_LIMIT)
                    for family, name in wanted[TABLES_LIMIT:]]


def _of_dumps(host, rules, services, tunnel):
    known = rules.nftables.tables.values() if rules.nftables else ()
    own = functools.lru_cache(maxsize=1)(lambda: (own_addresses(host) if rules.of_tree else set()) | _own_of(known)
                                         or None)
    node = _Node(own, _routed(host, services) if rules.of_tree else tuple, tunnel,
                 lambda: networks_behind(host, tunnel()),
                 lambda: host.read_text(BUNDLE_POD_NETWORKS, ADDRESSES_LIMIT).text.split() if rules.of_tree else ())
    return _within_bounds(rules.native,
                          lambda family, name: _judged_text(family, name, rules.native[family, name], services, node))


def _judged_text(family, name, texts, services, node):
    """`texts`: the listings of this table, of which the first complete one counts."""
    dropped = None
    for text in texts:
        if len(text) > LIST_LIMIT:
            continue
        reader = _reader()
        reader.feed(text.encode("utf-8", "backslashreplace"))
        table = reader.close().get((family, name))
        if table is not None and table.complete and name == CALICO:
            return _of_calico(table)
        if table is not None and table.complete:
            return _rows(table, services, node) + _forwarding(table, services, node)
        dropped = dropped or (_dropped(table) if table is not None and "dormant" not in table.flags else None)
    why = ("this table is too large" if all(len(text) > LIST_LIMIT for text in texts)
           else "the end of this table is missing in its listing")
    return [_unjudged(family, name, why, *dropped or ())]


def _of_calico(table):
    """After nft flush ruleset Calico writes its chains again, and not the jumps that it appends to its base chains
    (projectcalico/calico felix/nftables)."""
    chain, base = table.chains.get("nat-cali-POSTROUTING"), table.chains.get("nat-POSTROUTING")
    if (chain is None or base is None or not chain.rules or not base.is_base
            or any(chain.name in other.targets for other in table.chains.values())):
        return []
    return [_observed(table, ("masquerade_missing", base.name, "", "no rule of it jumps to %s" % chain.name))]


def _dropped(table):
    """(chain, its rules that dropped or rejected packets, by their counters) of the part of a table that was read."""
    for chain in table.chains.values():
        texts = [text for text in chain.texts if _REFUSED.search(text)] if chain.is_base else ()
        if texts:
            return chain, texts
    return None


def may_be_judged(family, name):
    """Whether a table belongs neither to iptables or kube-proxy nor to a program whose drops are intended."""
    return family in _FAMILIES and not (family != "inet" and name in _OF_IPTABLES) and not _OWNED.match(name.lower())


def _reader():
    # Only this case needs the parser of such rules, so it is compiled here.
    from ..._parse.nft.listing import ListingReader
    return ListingReader(texts=(TEXTS_LIMIT, TEXT_LENGTH))


def _judged(host, family, name, services, node):
    reader = _reader()
    done = host.stream(["nft", "list", "table", family, name], reader.feed, LIST_SECONDS, LIST_LIMIT)
    table = reader.close().get((family, name))
    if done.status == OK and done.rc and "No such file or directory" in done.err:
        return []
    if done.status != OK or done.rc or table is None or not table.complete:
        return [_unjudged(family, name, "nft did not list this table: %s"
                          % (done.status if done.status != OK else "status %s" % done.rc))]
    return _rows(table, services, node)


def _rows(table, services, node):
    if not any(chain.is_base for chain in table.chains.values()) or "dormant" in table.flags:
        return []
    if set(table.flags) - _FLAGS:
        # nft 1.0.6 in JSON: the family or the name of a table in place of its flags (nftables src/json.c).
        return [_unjudged(table.family, table.name, "the flags of this table are not known, so it may be dormant")]
    from ..._rules.nft.native import judge_table
    listed, all_listed = services()
    rows, doubt = judge_table(table, listed, node.own(), node.routed)
    if not all_listed:
        doubt = doubt or "the Services of this node are not known"
    if node.tunnel() and any(chain.hook == "input" for chain in table.chains.values()):
        from ..._rules.nft.native import judge_tunnel
        seen = {row[:3] for row in rows}
        rows += [row for row in judge_tunnel(table, node.tunnel(), node.behind(), node.own() or ())
                 if row[:3] not in seen]
    return [_observed(table, row) for row in rows] + ([_unjudged(table.family, table.name, doubt)] if doubt else [])


def _forwarding(table, services, node):
    """What refuses all traffic between pods, for a dump from which no Service is known."""
    from ..._rules.nft.native import judge_forwarding
    if "dormant" in table.flags or set(table.flags) - _FLAGS or services()[0]:
        return []
    return [_observed(table, row) for row in judge_forwarding(table, node.pods())]


def _observed(table, row):
    kind, chain, text, detail = row
    return observe(kind, RuleSet("live", _FAMILIES[table.family], "nft"), "%s %s" % (table.family, table.name), chain,
                   text, 1, detail)


def own_addresses(host):
    four, six = (host.read_text(path, ADDRESSES_LIMIT).text for path in ("/proc/net/fib_trie", "/proc/net/if_inet6"))
    some = host.read_text(BUNDLE_SOME_ADDRESSES, ADDRESSES_LIMIT).text if host.root != "/" else ""
    return parse_proc_net_fib_trie(four)[0] | set(parse_proc_net_if_inet6(six)) | set(some.split())


def _routed(host, services):
    """A function that returns these tunnels, and reads the routes at its first call only."""
    def read():
        found = set()
        for version, path, parse in ((4, "/proc/net/route", parse_proc_net_route),
                                     (6, "/proc/net/ipv6_route", parse_proc_net_ipv6_route)):
            routes = [route for route in parse(host.read_text(path, ADDRESSES_LIMIT).text, gateways=True)
                      if route.network and is_tunnel(route.interface)]
            ends = sorted({number_of(end[0]) or 0 for service in services()[0] for end in service.endpoints or ()
                           if (":" in end[0]) == (version == 6)}) if routes else []
            for route in routes:
                first, last = range_of(route.network)
                if bisect.bisect_left(ends, first) < bisect.bisect_right(ends, last):
                    found.add(route.interface)
        return found
    return functools.lru_cache(maxsize=1)(read)


def _own_of(tables):
    """Addresses that kube-proxy's nftables mode takes NodePorts at: the node's own (kubernetes
    pkg/proxy/nftables/proxier.go nodeport-ips)."""
    held = [table.sets["nodeport-ips"] for table in tables if "nodeport-ips" in table.sets]
    return {element.key[0] for found in held for element in found.elements}


def _unjudged(family, name, why, chain=None, dropped=()):
    """`dropped`: rules of `chain` that dropped packets, whatever the rest of the table has."""
    if chain:
        why = "%s; chain %s (hook %s) has dropped packets: %s" % (why, chain.name, chain.hook, "; ".join(dropped[:3]))
    return observe("unjudged_table", RuleSet("live", _FAMILIES[family], "nft"), "%s %s" % (family, name),
                   chain.name if chain else "", dropped[0] if dropped else "", 1, why)
