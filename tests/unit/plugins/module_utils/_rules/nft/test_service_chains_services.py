# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of nftables mode: the same, word for word, as those of iptables mode."""

import kube_cluster
import kube_dumps
import kube_nft
import pytest
from node_processes import needs_root
from parsed_texts import parse_save

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import (
    KubeTables, read_kube_tables,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.service_chains import (
    digest_nft_services, list_nft_services,
)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import services

FAMILIES = ("ipv4", "ipv6")


def seen(clusters, layout="1.36", deep=True, **options):
    made = [kube_nft.table(cluster, layout, **options) for cluster in clusters]
    return list_nft_services(read_kube_tables(kube_nft.answers(*made), deep, 0))


def clusters(seed=0):
    return [kube_cluster.every_kind(family, seed) for family in FAMILIES]


def rows(found):
    return sorted((service.family, service.address, service.port, service.protocol, service.name,
                   sorted(service.endpoints), service.has_endpoints, service.cluster) for service in found)


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("deep", [False, True])
def test_the_services_of_the_cluster(layout, deep):
    given = clusters()
    found = seen(given, layout, deep)
    expected = kube_cluster.expected_services(given[0]) | kube_cluster.expected_services(given[1])
    assert {service[:4] + (service.has_endpoints,) for service in found} == expected
    assert len(found) == len({service[:4] for service in found})
    for service in found:
        unread = not deep and service.has_endpoints and service.endpoints != frozenset()
        assert (service.endpoints is None) is unread


@needs_root
@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_equal_to_iptables_mode(layout, backend):
    """Addresses, names, endpoints and policies: everything a digest or a list of services is made of."""
    given = clusters()
    saved = [services.list_services(parse_save(kube_dumps.node_dump((1, 30), "iptables", backend, cluster)[0]))
             for cluster in given]
    assert rows(seen(given, layout)) == rows(saved[0] + saved[1])
    assert digest_nft_services(seen(given, layout)) == services.digest(saved[0] + saved[1])
    shallow = digest_nft_services(seen(given, layout, deep=False))
    assert shallow["services"] == services.digest(saved[0] + saved[1])["services"]
    assert shallow["endpoints"] is None and shallow["endpoint_count"] is None


def test_every_node_of_a_cluster_has_the_same_digest():
    given = clusters()
    other = [kube_cluster.seen_from(cluster, {"ipv4": "192.0.2.12", "ipv6": "2001:db8::12"}[cluster.family], seed=5)
             for cluster in given]
    digests = [digest_nft_services(seen(each, layout, all_addresses=all_addresses))
               for each in (given, other) for layout in kube_nft.LAYOUTS for all_addresses in (False, True)]
    assert all(digest == digests[0] for digest in digests) and digests[0]["endpoint_count"] > 0


def test_what_could_not_be_read_is_not_known():
    assert list_nft_services(KubeTables()) is None
    assert digest_nft_services(None) == {"services": None, "endpoints": None, "service_count": None,
                                         "endpoint_count": None}
    found = read_kube_tables(kube_nft.answers(kube_nft.table(kube_cluster.every_kind("ipv4"))))
    found.unread["ipv4", "service-nodeports"] = "timeout"
    assert list_nft_services(found) is None


def test_numbers_for_protocols_and_elements_that_are_none():
    made = kube_nft.table(kube_cluster.cluster("ipv4", []), "1.36")
    made.sets["service-ips"][2].extend([
        "10.96.0.1 . 6 . 443 : goto service-ABCDEFGH-default/kubernetes/tcp/https",
        "10.96.0.2 . tcp . http : goto service-ABCDEFGH-a/b/tcp/c", "10.96.0.5 . tcp . 80 : goto strange",
        "10.96.0.3 . tcp . 99999999 : goto service-ABCDEFGH-a/b/tcp/c", "10.96.0.4 : goto service-ABCDEFGH-a/b/tcp/c"])
    made.sets["no-endpoint-services"][2].append("10.96.0.6 . 132 . 80 : goto reject-chain")
    found = list_nft_services(read_kube_tables(kube_nft.answers(made)))
    assert sorted(service[1:5] for service in found) == [
        ("10.96.0.1", 443, "tcp", "default/kubernetes:https"), ("10.96.0.5", 80, "tcp", ""),
        ("10.96.0.6", 80, "sctp", "")]
