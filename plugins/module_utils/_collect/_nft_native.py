# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of a live node that iptables-save does not print and that are not kube-proxy's. PRIVATE to the collection.

Their names come over netlink within a millisecond, where C(nft list tables) reads every rule of every table; nft is run for each table
that may be judged, and for none on most nodes.
"""

import re

from .. import _host
from .._chains.observation import observe
from .._parse.proc_net_fib_trie import parse_proc_net_fib_trie
from .._parse.proc_net_if_inet6 import parse_proc_net_if_inet6
from .._parse.ruleset import RuleSet

LIST_SECONDS = 20.0
LIST_LIMIT = 8 * 1024 * 1024
ADDRESSES_LIMIT = 4 * 1024 * 1024
TABLES_LIMIT = 16
TEXTS_LIMIT, TEXT_LENGTH = 500, 2000
_FAMILIES = {"ip": "ipv4", "ip6": "ipv6", "inet": None}
_OF_IPTABLES = ("filter", "mangle", "nat", "raw", "security")
# Network plugins, policy engines and managers of other networks: their drops are what they are for, and rest on marks and sets that
# change with each pod (projectcalico/calico, cilium, cloudnativelabs/kube-router, kubevirt, flannel, kindnet, antrea, ovn-kubernetes,
# containernetworking/plugins, docker 29, libvirt, podman, lxd, incus).
_OWNED = re.compile(r"(?:kube-proxy|calico|cali-|cilium|kube-router|kubevirt|flannel|kindnet|kube-network-polic|antrea|ovn|cni_|cni-|docker|libvirt|netavark"
                    r"|podman|lxd|incus)")


def native_rows(host, rules, services):
    """[observation] of these tables; C(services()) gives [Service] or None."""
    if rules.source != "live" or rules.nf_tables != _host.OK or not host.commands or host.root != "/":
        return []
    from .._host_netlink import nft_tables
    status, names = nft_tables()
    if status != _host.OK:
        rules.miss("nftables", None, "the kernel did not list the native nft tables: %s" % status, "native tables")
        return []
    wanted = sorted(name for name in set(names) if _may_be_judged(*name))
    found = []
    for family, name in wanted[:TABLES_LIMIT]:
        found += _judged(host, family, name, services)
    return found + [_unjudged(family, name, "more than %d native tables" % TABLES_LIMIT) for family, name in wanted[TABLES_LIMIT:]]


def _may_be_judged(family, name):
    return family in _FAMILIES and not (family != "inet" and name in _OF_IPTABLES) and not _OWNED.match(name.lower())


def _judged(host, family, name, services):
    # Only here is it worth to compile what takes such rules apart.
    from .._chains.nft_native import judge_table
    from .._parse.nft_listing import ListingReader
    reader = ListingReader(texts=(TEXTS_LIMIT, TEXT_LENGTH))
    done = host.stream(["nft", "list", "table", family, name], reader.feed, LIST_SECONDS, LIST_LIMIT)
    table = reader.close().get((family, name))
    if done.status == _host.OK and done.rc and "No such file or directory" in done.err:
        return []
    if done.status != _host.OK or done.rc or table is None or not table.complete:
        return [_unjudged(family, name, "nft did not list this table: %s" % (done.status if done.status != _host.OK else "status %s" % done.rc))]
    if not any(chain.is_base for chain in table.chains.values()) or "dormant" in table.flags:
        return []
    listed = services()
    rows, doubt = judge_table(table, listed or [], _own_addresses(host))
    if listed is None:
        doubt = doubt or "the Services of this node are not known"
    place = RuleSet("live", _FAMILIES[family], "nft")
    found = [observe(kind, place, "%s %s" % (family, name), chain, text, 1, detail) for kind, chain, text, detail in rows]
    return found + ([_unjudged(family, name, doubt)] if doubt else [])


def _own_addresses(host):
    four, six = (host.read_text(path, ADDRESSES_LIMIT).text for path in ("/proc/net/fib_trie", "/proc/net/if_inet6"))
    return parse_proc_net_fib_trie(four)[0] | set(parse_proc_net_if_inet6(six))


def _unjudged(family, name, why):
    return observe("unjudged_table", RuleSet("live", _FAMILIES[family], "nft"), "%s %s" % (family, name), "", "", 1, why)
