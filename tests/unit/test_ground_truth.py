# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy nodes give no observation for any release, mode, backend, IP family and neighbours, and the Services that are
read from their rules are the Services that were put in. The real iptables-restore loads the rules, and the real
iptables-save prints them. The checks judge rules that real kube-proxies wrote, healthy and in failures, as support
bundles."""

import itertools
import random
import re

import bundles
import kube_audit
import kube_captures
import kube_cluster
import kube_dumps
import kube_neighbours
import kube_rules
import kube_services
import node_processes
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import services as chain_services

pytestmark = node_processes.needs_root

VERSIONS = [(1, minor) for minor in (16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 36)]
PLACES = list(itertools.product(kube_dumps.BACKENDS, kube_dumps.FAMILIES))
WAYS = {
    "masquerade all": {"masquerade_all": True}, "no pod range, as on EKS": {"detect_local": False},
    "counters of nfacct": {"nfacct": True}, "nodeport addresses": {"node_port_addresses": True},
    "no localhost nodeports": {"localhost": False}, "liberal conntrack": {"liberal": True},
    "packet counters": {"counters": True}, "no kubelet": {"with_kubelet": False},
}


def cluster_for(version, family, seed=0):
    """Every kind of Service this release knew: internalTrafficPolicy came with 1.22 and has chains of its own since
    1.24."""
    given = kube_cluster.every_kind(family, seed)
    return given if version >= (1, 24) else kube_cluster.without_policies(given, ("internal_local",))


def healthy(version, mode, backend, family, cluster=None, **ways):
    """(the dump of a node, what was restored)."""
    if ways.get("node_port_addresses"):
        ways["node_port_addresses"] = (kube_cluster.NODE_IP[family],)
    return kube_dumps.node_dump(version, mode, backend, cluster or cluster_for(version, family), **ways)


def assert_nothing_to_say(rule_sets, mode, version, kubelet=True):
    assert kube_audit.told(kube_audit.observations(rule_sets, mode, version, kubelet)) == []
    assert [rule_set.notices for rule_set in rule_sets if rule_set.notices] == []


def test_chain_names_are_those_of_kubernetes():
    """Names out of the test data of pkg/proxy/iptables/proxier_test.go."""
    service = kube_cluster.Service(namespace="ns1", name="svc1", port_name="p80")
    assert kube_services.chains_of(service).svc == "KUBE-SVC-XPGD46QRK7WJZT7O"
    assert kube_services.endpoint_chain(service,
                                        kube_cluster.Endpoint("10.180.0.1", 80, True)) == "KUBE-SEP-SXIVWICOYRO3J4NJ"
    assert kube_services.chains_of(service._replace(namespace="ns5", name="svc5")).fw == "KUBE-FW-NUKIZ6OKUXPJNT4C"


@pytest.mark.parametrize("backend, family", PLACES)
@pytest.mark.parametrize("endpoints, count, rules, chains", [(0, 0, 23, 25), (3, 1000, 11023, 4025)])
def test_as_many_rules_as_a_real_kube_proxy(backend, family, endpoints, count, rules, chains):
    """The numbers are counted on nodes with a real kube-proxy 1.30: 2 + 3E rules per Service with E endpoints. IPv6 has
    one rule less."""
    cluster = kube_cluster.plain_cluster(family, count, endpoints)
    text, restore = healthy((1, 30), "iptables", backend, family, cluster, with_kubelet=False)
    rule_set = kube_audit.read(text, family, backend)
    found = [table.rule_counts() for table in rule_set.tables.values()]
    assert sum(sum(counts.values()) for counts in found) == text.count("\n-A ") == rules - (family == "ipv6")
    assert sum(len(table.chains) for table in rule_set.tables.values()) == text.count("\n:") == chains
    for name in ("nat", "filter"):
        own = sum(number for chain, number in rule_set.tables[name].rule_counts().items() if chain.startswith("KUBE-"))
        assert own == restore.own_rules(name) == text[text.index("*" + name):].split("COMMIT")[0].count("\n-A KUBE-")
    per_service = kube_cluster.cluster_ip_rules(cluster)
    assert restore.own_rules("nat") == 5 + per_service
    assert_nothing_to_say([rule_set], "iptables", (1, 30), False)


@pytest.mark.parametrize("backend, family", PLACES)
@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("mode", ["iptables", "ipvs"])
def test_every_release(mode, version, backend, family):
    text, _restore = healthy(version, mode, backend, family)
    for known in (version, None):
        assert_nothing_to_say([kube_audit.read(text, family, backend)], mode, known)


@pytest.mark.parametrize("backend, family", PLACES)
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("mode, version", [("iptables", (1, 18)), ("iptables", (1, 23)), ("iptables", (1, 33)),
                                           ("ipvs", (1, 33))], ids=str)
def test_every_way_to_start_kube_proxy(mode, version, way, backend, family):
    text, _restore = healthy(version, mode, backend, family, **WAYS[way])
    assert_nothing_to_say([kube_audit.read(text, family, backend)], mode, version, way != "no kubelet")


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
@pytest.mark.parametrize("node, family", [
    (node, family) for node in sorted(kube_neighbours.NODES) for family in kube_dumps.FAMILIES
    if family == "ipv4" or node in kube_neighbours.BOTH_FAMILIES])
@pytest.mark.parametrize("mode, version", [("iptables", (1, 24)), ("iptables", (1, 33)), ("ipvs", (1, 30))], ids=str)
def test_every_neighbour(mode, version, node, family, backend):
    cluster = cluster_for(version, family)
    kube = kube_rules.restore_input(version, mode, family, cluster).text()
    sets = kube_neighbours.sets(node, family) + (kube_dumps.kube_ipvs.ipset_input(cluster) if mode == "ipvs" else "")
    text = kube_dumps.dump(backend, family, *kube_neighbours.restores(node, family, kube), sets=sets)
    assert_nothing_to_say([kube_audit.read(text, family, backend)], mode, version)


@pytest.mark.parametrize("backend", kube_dumps.BACKENDS)
def test_both_families_and_an_empty_other_backend(backend):
    other = [name for name in kube_dumps.BACKENDS if name != backend][0]
    read = [kube_audit.read(healthy((1, 30), "iptables", backend, family)[0], family, backend)
            for family in kube_dumps.FAMILIES]
    read += [kube_audit.read(kube_dumps.dump(other, family, "*nat\nCOMMIT\n*filter\nCOMMIT\n"), family, other)
             for family in kube_dumps.FAMILIES]
    assert_nothing_to_say(read, "iptables", (1, 30))


def test_a_node_without_ipv6_services():
    """kube-proxy of a single-stack cluster creates its IPv6 chains as well, and kubelet up to 1.26 fills some."""
    for version in ((1, 24), (1, 30)):
        read = [kube_audit.read(healthy(version, "iptables", "nft", family, cluster)[0], family, "nft")
                for family, cluster in (("ipv4", cluster_for(version, "ipv4")),
                                        ("ipv6", kube_cluster.plain_cluster("ipv6", 0, 0)))]
        assert_nothing_to_say(read, "iptables", version)


def test_kubelet_alone_while_kube_proxy_is_in_nftables_mode():
    for version in ((1, 29), (1, 33)):
        text, _restore = healthy(version, None, "nft", "ipv4")
        assert_nothing_to_say([kube_audit.read(text, "ipv4", "nft")], "nftables", version)


def services_of(text, family):
    return chain_services.list_services(kube_audit.read(text, family, "nft"))


@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_services_are_those_put_in(version, family):
    cluster = cluster_for(version, family)
    found = services_of(healthy(version, "iptables", "nft", family)[0], family)
    assert len(found) == len({row[:4] for row in found})
    assert {(row.family, row.address, row.port, row.protocol, row.has_endpoints)
            for row in found} == kube_cluster.expected_services(cluster)
    behind = {(row.address, row.port, row.protocol): set(row.endpoints) for row in found}
    for service in cluster.services:
        if not service.internal_local:
            assert behind[service.address, service.port, service.protocol] == {
                (endpoint.address, endpoint.port, service.protocol) for endpoint in service.endpoints}, service.name


def test_many_endpoints_and_no_comments():
    """Above 1000 endpoints kube-proxy writes no comments on the rules of services and endpoints."""
    cluster = kube_cluster.plain_cluster("ipv4", 400, 3)
    text, _restore = healthy((1, 30), "iptables", "nft", "ipv4", cluster)
    assert not re.search("-A KUBE-SEP-.*--comment", text) and re.search("-A KUBE-SERVICES .*--comment", text)
    assert_nothing_to_say([kube_audit.read(text, "ipv4", "nft")], "iptables", (1, 30))
    few = kube_cluster.plain_cluster("ipv4", 300, 3)
    assert re.search("-A KUBE-SEP-.*--comment", healthy((1, 30), "iptables", "nft", "ipv4", few)[0])
    assert len(services_of(text, "ipv4")) == 400


def digest_of(text, family="ipv4"):
    found = chain_services.digest(services_of(text, family))
    assert found["services"] and found["endpoints"]
    return found


def plain(family="ipv4", seed=0):
    """Services that all releases treat the same: no policies, no affinity."""
    return kube_cluster.without_policies(kube_cluster.every_kind(family, seed))


@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
def test_digest_is_the_same_whoever_wrote_and_printed_it(family):
    cluster = plain(family)
    found = [digest_of(healthy(version, "iptables", backend, family, cluster)[0], family)
             for version in VERSIONS for backend in kube_dumps.BACKENDS]
    for way in sorted(WAYS):
        found.append(digest_of(healthy((1, 33), "iptables", "nft", family, cluster, **WAYS[way])[0], family))
    assert [row for row in found if row != found[0]] == []
    assert found[0]["service_count"] == len(kube_cluster.expected_services(cluster))


def test_digest_knows_no_order_and_no_comments():
    cluster = plain()
    number = kube_audit.seed()
    mixed = list(cluster.services)
    random.Random(number).shuffle(mixed)
    text, _restore = healthy((1, 30), "iptables", "nft", "ipv4", cluster)
    bare = re.sub(r'-m comment --comment (?:"[^"]*"|\S+) ', "", text)
    assert "--comment" not in bare
    other, _restore = healthy((1, 30), "iptables", "nft", "ipv4", cluster._replace(services=tuple(mixed)))
    assert other != text
    assert digest_of(text) == digest_of(other) == digest_of(bare)


@pytest.mark.parametrize("version", [(1, 22), (1, 24), (1, 30)], ids=str)
def test_digest_is_the_same_on_every_node(version):
    """Nodes differ in their addresses and in which endpoints are local."""
    cluster = cluster_for(version, "ipv4")
    number = kube_audit.seed()
    here = digest_of(healthy(version, "iptables", "nft", "ipv4", cluster)[0])
    for node in range(3):
        elsewhere = kube_cluster.seen_from(cluster, "192.0.2.%d" % (20 + node), number + node)
        assert elsewhere != cluster
        assert digest_of(healthy(version, "iptables", "nft", "ipv4", elsewhere)[0]) == here


def changed(cluster, source):
    """(what, the cluster with one thing changed): each must change the digest."""
    index = source.choice([place for place, service in enumerate(cluster.services) if len(service.endpoints) > 1])
    service = cluster.services[index]

    def put(**fields):
        services = list(cluster.services)
        services[index] = service._replace(**fields)
        return cluster._replace(services=tuple(services))

    new = kube_cluster.Endpoint("10.244.255.254", 8080, False)
    more = (service._replace(name="new", address="10.96.200.1"),)
    yield "a Service more", cluster._replace(services=cluster.services + more), "services"
    less = cluster.services[:index] + cluster.services[index + 1:]
    yield "a Service less", cluster._replace(services=less), "services"
    yield "another address", put(address="10.96.200.2"), "services"
    yield "another port", put(port=service.port + 1), "services"
    yield "no endpoint left", put(endpoints=()), "services"
    yield "another node port", put(node_port=32100), "services"
    yield "an endpoint more", put(endpoints=service.endpoints + (new,)), "endpoints"
    yield "an endpoint less", put(endpoints=service.endpoints[1:]), "endpoints"
    yield "another endpoint", put(endpoints=(new,) + service.endpoints[1:]), "endpoints"


def test_digest_sees_every_change():
    cluster = plain()
    before = digest_of(healthy((1, 30), "iptables", "nft", "ipv4", cluster)[0])
    for what, other, which in changed(cluster, random.Random(kube_audit.seed())):
        after = digest_of(healthy((1, 30), "iptables", "nft", "ipv4", other)[0])
        assert after[which] != before[which], what
        assert which == "services" or after["services"] == before["services"], what


# dumps/ has one node (1.33, every kind of Service, Calico, in IPv4 also portmap), written and printed by the iptables
# of Debian 11, 12, 13 and sid with their own libraries. It also has two dumps written by one of these and printed by
# another.
SAMPLES = [(version, backend, family) for version in ("1.8.7", "1.8.9", "1.8.11", "1.8.13")
           for backend, family in PLACES]


@pytest.mark.parametrize("version, backend, family", SAMPLES)
def test_printed_by_every_iptables(version, backend, family):
    text = kube_audit.sample("%s-%s-%s" % (version, backend, family))
    rule_set = kube_audit.read(text, family, backend)
    assert (rule_set.version, rule_set.family, rule_set.backend) == (version, family, backend)
    assert_nothing_to_say([rule_set], "iptables", (1, 33))
    assert chain_services.digest(chain_services.list_services(rule_set)) == digest_of(
        healthy((1, 33), "iptables", "nft", family, cluster_for((1, 33), family), nfacct=True)[0], family)


@pytest.mark.parametrize("version, backend, family", SAMPLES)
def test_samples_are_what_this_machine_prints(version, backend, family):
    """The first line and blanks at line ends may differ."""
    def lines(text):
        return sorted(line.rstrip() for line in text.splitlines() if not line.startswith("#"))

    cluster = cluster_for((1, 33), family)
    node = "calico and portmap" if family == "ipv4" else "calico"
    kube = kube_rules.restore_input((1, 33), "iptables", family, cluster, nfacct=True).text()
    here = kube_dumps.dump(backend, family, *kube_neighbours.restores(node, family, kube),
                           sets=kube_neighbours.sets(node, family))
    assert lines(kube_audit.sample("%s-%s-%s" % (version, backend, family))) == lines(here)


@pytest.mark.parametrize("version, backend, family", SAMPLES)
def test_backend_and_family_from_the_text_alone(version, backend, family):
    """1.8.7 prints the same name for both backends, so its text does not show the backend."""
    rule_set = kube_audit.read(kube_audit.sample("%s-%s-%s" % (version, backend, family)), source="bundle")
    assert rule_set.family == family
    assert rule_set.backend == (None if version == "1.8.7" else backend)


def test_rules_of_a_newer_iptables_read_by_an_older_one():
    """1.8.7 prints rules of 1.8.9 without marks and ports. 1.8.9 prints rules of 1.8.13 completely."""
    lost = kube_audit.read(kube_audit.sample("written-by-1.8.9-read-by-1.8.7-nft-ipv4"), "ipv4", "nft")
    lines = kube_audit.told(kube_audit.observations([lost], "iptables", (1, 33)))
    assert any(line.startswith("lost_match filter/KUBE-FORWARD: -A KUBE-FORWARD") for line in lines)
    assert any(line.startswith("lost_match nat/KUBE-POSTROUTING: -A KUBE-POSTROUTING -j RETURN") for line in lines)
    whole = kube_audit.read(kube_audit.sample("written-by-1.8.13-read-by-1.8.9-nft-ipv4"), "ipv4", "nft")
    assert_nothing_to_say([whole], "iptables", (1, 33))


def captures():
    """{directory: {snapshot: files}} of the fixture, and of the folder of captures if it exists."""
    return dict(kube_captures.packed(),
                **(kube_captures.unpacked(kube_captures.folder()) if kube_captures.folder() else {}))


def snapshots():
    return [(directory, snapshot, files) for directory, found in sorted(captures().items())
            for snapshot, files in sorted(found.items())]


@pytest.mark.parametrize("directory, snapshot, files", snapshots(),
                         ids=lambda value: value if isinstance(value, str) else "")
def test_each_capture_is_judged(directory, snapshot, files, tmp_path):
    """The checks judge a capture as bundle.yml does: exactly the checks that expected.yml lists fail, beside the
    information on Services without endpoints, which a healthy cluster has, too. A failure has a finding of severity
    high, unless its row sets another severity."""
    row = kube_captures.expected(directory, snapshot)
    found, evidence = bundles.judged(bundles.folder(tmp_path / "bundle", files),
                                     kubernetes_version=kube_captures.version_of(directory), max_rules=100000)
    assert evidence["node_host"]["place"] == "bundle" and not bundles.told({"BUNDLE001": found["BUNDLE001"]}, "fail")
    assert bundles.told(found, "fail").keys() - {"CHAIN032"} == set(row["fails"]), row
    severities = {finding["severity"] for rows in found.values() for finding in rows if finding["status"] == "fail"}
    assert row.get("severity", "high") in severities or not row["fails"]


def test_each_failure_has_its_row():
    """The row of a failure that no check finds in the rules has the reason in `why`. Every row has a capture."""
    assert kube_captures.missing_reasons() == []
    unused = [row["capture"] for row in kube_captures.expected_rows()
              if not any(kube_captures.expected(directory, snapshot) is row
                         for directory, snapshot, _files in snapshots())]
    assert unused == []


def test_the_fixture_is_the_folder():
    if not kube_captures.folder():
        pytest.skip("no folder of captures lies beside the checkout")
    whole = kube_captures.unpacked(kube_captures.folder())
    assert [name for name, found in kube_captures.packed().items() if found != whole[name]] == []
    assert [name for name in whole if name.startswith("failures/") and name not in kube_captures.packed()] == []
