# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks of Services and endpoints: every address counted once, few rows whatever there is."""

import ipaddress
import random

import kube_audit
from hypothesis import given, strategies as st

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import (
    NETWORKS_LIMIT, NODE_PORT, Service, networks_of,
)


def service(address, *endpoints, **fields):
    name = fields.get("name", "shop/web:http")
    return Service("ipv6" if ":" in address else "ipv4", address, 80, "tcp", name,
                   tuple((each, 8080, "tcp") for each in endpoints), True, True)


def row(network, addresses, name="shop/web:http"):
    return {"family": "ipv6" if ":" in network else "ipv4", "network": network, "addresses": addresses, "name": name}


def test_both_families_and_every_address_once():
    told = networks_of([service("10.96.0.10", "10.244.1.2", "10.244.1.3", name="kube-system/kube-dns:dns"),
                        service("10.96.0.10", "10.244.1.2", "10.244.2.9"), service(NODE_PORT, "10.244.1.2"),
                        service("fd00:96::a", "fd00:10:244:1::5", "fd00:10:244:1:ab::6", "fd00:10:244:2::1")])
    assert told == {
        "services": [row("10.96.0.0/24", 1), row("fd00:96::/64", 1)], "services_left_out": 0,
        "endpoints": [row("10.244.1.0/24", 2, "kube-system/kube-dns:dns"), row("fd00:10:244:1::/64", 2),
                      row("10.244.2.0/24", 1), row("fd00:10:244:2::/64", 1)], "endpoints_left_out": 0}


def test_api_servers_are_no_pods():
    assert networks_of([service("10.96.0.1", "172.16.0.4", name="default/kubernetes:https")])["endpoints"] == []


def test_many_networks_are_told_as_one():
    pods = [service("10.96.0.1", *["10.244.%d.%d" % (node, pod) for node in range(200) for pod in range(1, 4)]),
            service("10.96.0.2", "192.0.2.9")]
    assert networks_of(pods)["endpoints"] == [row("10.244.0.0/16", 600), row("192.0.2.0/24", 1)]
    scattered = networks_of([service("10.96.0.1", *["10.%d.1.1" % number for number in range(40)])])
    assert (len(scattered["endpoints"]), scattered["endpoints_left_out"]) == (NETWORKS_LIMIT, 40 - NETWORKS_LIMIT)


def test_what_is_not_known():
    nothing = {"services": None, "services_left_out": 0, "endpoints": None, "endpoints_left_out": 0}
    assert networks_of(None) == nothing
    assert networks_of([]) == dict(nothing, services=[], endpoints=[])
    deep = networks_of([service("10.96.0.1", "10.244.1.1"), service("10.96.0.2")._replace(endpoints=None)])
    assert (deep["services"], deep["endpoints"]) == ([row("10.96.0.0/24", 2)], None)


def test_against_the_addresses_themselves():
    chance = random.Random(kube_audit.seed())
    for _round in range(20):
        kind, wide, narrow = chance.choice([(ipaddress.IPv4Network, "10.0.0.0/12", 24),
                                            (ipaddress.IPv6Network, "fd00::/42", 64)])
        first, step = int(kind(wide).network_address), 1 << (kind(wide).max_prefixlen - narrow)
        networks = [kind((first + chance.randrange(40) * step, narrow)) for _each in range(12)]
        addresses = [str(network[chance.randrange(200)]) for network in networks
                     for _each in range(chance.randrange(1, 9))]
        told = networks_of([service("10.96.0.1", *addresses)])
        assert sum(each["addresses"] for each in told["endpoints"]) == len(set(addresses))
        assert not told["endpoints_left_out"]
        for each in told["endpoints"]:
            network = ipaddress.ip_network(each["network"])
            inside = [address for address in set(addresses) if ipaddress.ip_address(address) in network]
            assert len(inside) == each["addresses"]


@given(st.lists(st.one_of(st.text("0123456789abcdef.:/ ", max_size=12), st.ip_addresses().map(str)), max_size=40))
def test_whatever_stands_there(texts):
    told = networks_of([service("10.96.0.1", *texts)])["endpoints"]
    assert len(told) <= NETWORKS_LIMIT and all(ipaddress.ip_network(each["network"]) for each in told)
