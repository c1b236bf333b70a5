# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services read from kube-proxy's chains: which Services exist, what they mean, and which are broken."""

import hashlib
import itertools
import random

import kube_audit
import kube_cluster
import kube_dumps
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.save import SaveReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import (
    Service, ask_services, digest, list_services, rules_per_service)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.setting import Setting

VERSIONS = ((1, 20), (1, 24), (1, 30), (1, 34))
SVC = "KUBE-SVC-AAAAAAAAAAAAAAAA"
SEP, OTHER, THIRD = ("KUBE-SEP-" + 16 * letter for letter in "ABC")
MASQUERADING = ["-A %s ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC]
NO_FILTER = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"


def read(text, folding=True, source="live"):
    reader = SaveReader(source, folding=folding)
    reader.feed(text.encode())
    return reader.close()[0]


def setting(mode="iptables"):
    return Setting("ipv4", "nft", mode, (1, 30), True, {})


def asked(text, mode="iptables", source="live"):
    """{(kind, chain)} of a dump, which must be the same with and without folding."""
    folded, plain = [sorted((row["kind"], row["chain"], row["text"], row["detail"], row["count"])
                            for row in ask_services(read(text, folding, source), setting(mode)))
                     for folding in (True, False)]
    assert folded == plain
    return [row[:2] for row in folded]


def small(*rules, **chains):
    """A nat table with one Service of three endpoints; `svc` and `sep` replace the rules of its chains."""
    lines = ["*nat", ":KUBE-SERVICES - [0:0]", ":KUBE-MARK-MASQ - [0:0]", ":%s - [0:0]" % SVC]
    lines += [":%s - [0:0]" % name for name in (SEP, OTHER, THIRD)]
    lines += list(rules) or ["-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment \"ns/name:port cluster IP\" "
                             "-m tcp --dport 80 -j %s" % SVC]
    for name, number in ((SEP, 1), (OTHER, 2), (THIRD, 3)):
        lines += chains.get("sep", pair)(name, number)
    lines += chains.get("svc", balancing())
    return "\n".join(lines + ["COMMIT", ""]) + NO_FILTER


def pair(name, number):
    return ["-A %s -s 10.244.0.%d/32 -j KUBE-MARK-MASQ" % (name, number),
            "-A %s -p tcp -m tcp -j DNAT --to-destination 10.244.0.%d:8080" % (name, number)]


def balancing(chances=("0.33333333349", "0.50000000000", None), names=(SEP, OTHER, THIRD)):
    return ["-A %s %s-j %s" % (SVC, "-m statistic --mode random --probability %s " % chance if chance else "", name)
            for chance, name in zip(chances, names)]


@pytest.fixture(scope="module", params=[(version, backend, family) for version in VERSIONS
                                        for backend in kube_dumps.BACKENDS for family in kube_dumps.FAMILIES], ids=str)
def node(request):
    version, backend, family = request.param
    cluster = kube_cluster.every_kind(family)
    text = kube_dumps.node_dump(version, "iptables", backend, cluster)[0]
    # Internal traffic policies are newer than 1.20.
    return cluster if version > (1, 20) else kube_cluster.without_policies(cluster, ("internal_local",)), text


def test_every_kind_of_service_is_listed(node):
    cluster, text = node
    services = list_services(read(text))
    listed = [(row.family, row.address, row.port, row.protocol, row.has_endpoints) for row in services]
    assert set(listed) == kube_cluster.expected_services(cluster) and len(listed) == len(set(listed))
    names = {(row.address, row.port, row.name) for row in services if row.address != "nodeport"}
    for service in cluster.services:
        assert (service.address, service.port, kube_cluster.title(service)) in names


def test_endpoints_of_cluster_policies_are_those_of_the_cluster(node):
    cluster, text = node
    rows = {(row.address, row.port, row.protocol): row for row in list_services(read(text))}
    for service in cluster.services:
        row = rows[service.address, service.port, service.protocol]
        assert not service.endpoints or row.cluster == (not service.internal_local)
        wanted = {(endpoint.address, endpoint.port, service.protocol) for endpoint in service.endpoints
                  if endpoint.local or not service.internal_local}
        assert len(row.endpoints) == len(wanted) and set(row.endpoints) == wanted
        if service.node_port and service.endpoints:
            assert rows["nodeport", service.node_port, service.protocol].cluster == (not service.external_local)


def test_a_healthy_node_has_nothing_wrong(node):
    assert ask_services(read(node[1]), setting()) == []


@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
def test_all_nodes_and_versions_have_one_digest(family):
    cluster = kube_cluster.every_kind(family)
    # 1.20 has no internal policy, and sends external IPs to all endpoints with any policy.
    plain = kube_cluster.without_policies(cluster, ("internal_local",))
    plain = plain._replace(services=tuple(each._replace(external_local=each.external_local and not each.external_ips)
                                          for each in plain.services))
    seen = set()
    for version, backend, number in itertools.product(VERSIONS, kube_dumps.BACKENDS, range(2)):
        address = ("192.0.2.%d" if family == "ipv4" else "2001:db8::%d") % (50 + number)
        other = kube_cluster.seen_from(plain, address, number)
        text = kube_dumps.node_dump(version, "iptables", backend, other, counters=bool(number))[0]
        seen.add(str(sorted(digest(list_services(read(text))).items())))
    assert len(seen) == 1


def test_a_digest_tells_every_difference():
    one = Service("ipv4", "10.96.0.1", 80, "tcp", "ns/name", frozenset([("10.244.0.1", 8080, "tcp")]), True, True)
    others = [one._replace(family="ipv6"), one._replace(address="10.96.0.2"), one._replace(port=81),
              one._replace(protocol="udp"), one._replace(has_endpoints=False, endpoints=frozenset())]
    assert len({digest([row])["services"] for row in [one] + others}) == 6
    moved = [one._replace(endpoints=frozenset([("10.244.0.2", 8080, "tcp")])),
             one._replace(endpoints=frozenset([("10.244.0.1", 8081, "tcp")])), one._replace(cluster=False)]
    assert {digest([row])["services"] for row in moved} == {digest([one])["services"]}
    assert len({digest([row])["endpoints"] for row in [one] + moved}) == 4
    assert digest([one._replace(name="other")]) == digest([one])
    assert digest([one, others[0]]) == digest([others[0], one])
    assert digest([one])["service_count"] == 1 and digest([one])["endpoint_count"] == 1


def test_the_lines_of_a_digest_are_sorted_as_a_whole():
    """Addresses, ports and protocols that are prefixes of others: Services are sorted, then the endpoints of each."""
    source = random.Random(kube_audit.seed())
    keys = [(family, address, port, protocol) for family in ("ipv4", "ipv6", None)
            for address in ("10.0.0.1", "10.0.0.10", "10.0.0.1a", "nodeport", "fd00::1") for port in (8, 80, 8080)
            for protocol in ("tcp", "udp", "sctp")]
    reached = [(address, port, "tcp") for address in ("10.1.0.1", "10.1.0.11", "fd00::5", "fd00::50")
               for port in (1, 10, 100)]
    services = [Service(*(key + ("", tuple(source.sample(reached, source.randrange(6))), source.random() < 0.5,
                                 source.random() < 0.7))) for key in source.sample(keys, 60)]
    heads = {service: "%s %s %d %s " % service[:4] for service in services}
    meant = sorted(heads[service] + ("yes" if service.has_endpoints else "no") for service in services)
    behind = sorted(heads[service] + ("[%s]:%d" if ":" in address else "%s:%d") % (address, port)
                    for service in services if service.cluster for address, port, _protocol in service.endpoints)
    wanted = [hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest() for lines in (meant, behind)]
    assert digest(services) == {"services": wanted[0], "endpoints": wanted[1], "service_count": len(meant),
                                "endpoint_count": len(behind)}


def test_what_is_not_known_has_no_digest():
    assert digest(None) == {"services": None, "endpoints": None, "service_count": None, "endpoint_count": None}


@pytest.mark.parametrize("change", [
    lambda text: text.replace("COMMIT\n", "", 1), lambda text: text[:text.index("*filter") + 12],
    lambda text: text.replace("*nat\n", ""), lambda text: text.replace("COMMIT", "garbage\nCOMMIT", 1),
    lambda text: text.replace(":INPUT", "garbage\n:INPUT"),
    lambda text: "# Table `nat' is incompatible, use 'nft' tool.\n" + NO_FILTER,
    lambda text: "# Table `filter' is incompatible, use 'nft' tool.\n" + text.replace(NO_FILTER, "")])
def test_of_a_dump_that_is_not_whole_nothing_is_listed(change):
    assert list_services(read(small())) and list_services(read(change(small()))) is None


def test_a_file_may_lack_a_table_that_a_live_kernel_does_not_have():
    text = small().replace(NO_FILTER, "")
    assert len(list_services(read(text))) == 1 and list_services(read(text, source="nat.txt")) is None
    assert list_services(read(NO_FILTER)) == [] and list_services(read(NO_FILTER, source="some.txt")) is None


@cases
def test_a_rule_for_no_single_address_and_port_is_no_service(rule):
    assert list_services(read(small(rule % SVC))) == []


def test_a_service_whose_chain_is_gone_or_empty_has_no_endpoints():
    for text in (small(svc=[]), small().replace(":%s - [0:0]\n" % SVC, "").replace("\n".join(balancing()) + "\n", "")):
        assert [(row.address, row.has_endpoints) for row in list_services(read(text))] == [("10.96.0.1", False)]


def test_a_hostile_name_is_data_and_cut():
    rule = '-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "%s cluster IP" -m tcp --dport 80 -j ' + SVC
    assert [len(row.name) for row in list_services(read(small(rule % ("x" * 250))))] == [143]
    assert [row.name for row in list_services(read(small(rule % "<b>\x1b[2J")))] == ["<b>\x1b[2J"]


def test_rules_per_service():
    cluster = kube_cluster.plain_cluster("ipv4", 20, 3)
    rules = read(kube_dumps.node_dump((1, 30), "iptables", "nft", cluster)[0])
    assert rules_per_service([rules], list_services(rules)) == 11.0
    assert rules_per_service([rules], []) is None and rules_per_service([rules], None) is None


def test_a_small_dump_is_sound():
    assert asked(small()) == []


@cases
def test_wrong_probabilities(chances):
    assert asked(small(svc=balancing(chances))) == [("wrong_probability", SVC)]


@pytest.mark.parametrize("rules", [
    balancing()[::-1], balancing()[:1] + balancing(),
    [balancing()[0], balancing()[1].replace("random --probability 0.50000000000", "nth --every 2 --packet 0"),
     balancing()[2]], [balancing()[0].replace("0.33333333349", "a"), balancing()[1], balancing()[2]]])
def test_balancing_rules_out_of_order(rules):
    assert asked(small(svc=rules)) == [("wrong_probability", SVC)]


def test_what_does_not_change_the_balance():
    # Without its first rule the chain equals that of a Service with one endpoint less.
    assert asked(small(svc=balancing()[1:])) == []
    recent = ["-A %s -m recent --rcheck --seconds 10800 --reap --name %s --mask 255.255.255.255 --rsource -j %s"
              % (SVC, name, name) for name in (SEP, OTHER, THIRD)]
    assert asked(small(svc=MASQUERADING + ["-A %s -j KUBE-MARK-MASQ" % SVC] + recent + balancing())) == []
    # It is reported as a duplicate, and has no effect.
    assert asked(small(svc=balancing() + balancing()[2:])) == []
    odd = balancing()[1].replace("-m statistic", '-m comment --comment "odd \\"name\\"" -m statistic')
    assert asked(small(svc=[balancing()[0], odd, balancing()[2]])) == []
    one_less = MASQUERADING + recent[:1] + [odd] + balancing()[:1] + balancing()[2:]
    assert asked(small(svc=one_less)) == [("wrong_probability", SVC)]


def test_service_chains_that_lead_nowhere():
    assert asked(small(svc=[])) == asked(small(svc=MASQUERADING)) == [("empty_service_chain", SVC)]
    local = SVC.replace("SVC", "SVL")
    assert asked(small(svc=[]).replace(SVC, local)) == [("empty_service_chain", local)]
    # Up to 1.24 a Local policy without local endpoints refuses.
    assert asked(small(svc=["-A %s -j KUBE-MARK-DROP" % SVC])) == []


MASQUERADE, TRANSLATE = pair(OTHER, 2)
IN_CHAIN = "-A " + OTHER


def with_second(rules):
    """The table with these rules in the chain of the second endpoint."""
    return small(sep=lambda name, number: rules if number == 2 else pair(name, number))


@pytest.mark.parametrize("rules", [
    [], [MASQUERADE], [TRANSLATE], [TRANSLATE, MASQUERADE], [MASQUERADE.replace("10.244.0.", "10.244.1."), TRANSLATE],
    [MASQUERADE.replace(" -s 10.244.0.2/32", ""), TRANSLATE], [MASQUERADE.replace("-s", "! -s"), TRANSLATE],
    [MASQUERADE.replace("/32", "/24"), TRANSLATE], [MASQUERADE, TRANSLATE.replace(":8080", "")],
    [MASQUERADE, TRANSLATE.replace(" -p tcp -m tcp", "")],
    [TRANSLATE.replace("10.244.0.", "10.9.0."), MASQUERADE, TRANSLATE],
    [IN_CHAIN + " -j DROP", MASQUERADE, TRANSLATE], [MASQUERADE, IN_CHAIN + " -j RETURN", TRANSLATE],
    [MASQUERADE, TRANSLATE.replace("DNAT --to-destination", "REDIRECT --to-ports")]])
def test_unsound_endpoints(rules):
    assert asked(with_second(rules)) == [("unsound_endpoint", OTHER)]


@pytest.mark.parametrize("rules", [
    2 * [MASQUERADE, TRANSLATE], [MASQUERADE, MASQUERADE, TRANSLATE], [MASQUERADE, TRANSLATE, IN_CHAIN + " -j DROP"],
    [IN_CHAIN + " -i eth0 -j RETURN", MASQUERADE, TRANSLATE], [IN_CHAIN, MASQUERADE, TRANSLATE],
    [MASQUERADE, TRANSLATE + " --random"],
    [MASQUERADE, TRANSLATE.replace("-m tcp", "-m recent --set --name x --rsource -m tcp")]])
def test_endpoints_that_are_sound(rules):
    text = with_second(rules)
    assert asked(text) == []
    assert [len(row.endpoints) for row in list_services(read(text))] == [3]


@pytest.mark.parametrize("old, new", [("COMMIT\n", ""), ("*nat\n", ""), ("COMMIT", "garbage\nCOMMIT"),
                                      ("*nat", "*mangle")])
def test_of_a_nat_that_is_not_whole_nothing_is_claimed(old, new):
    broken = small(svc=[], sep=lambda name, number: [])
    assert asked(broken) == [("empty_service_chain", SVC)] and asked(broken.replace(old, new, 1)) == []


def test_leftovers_of_another_mode_are_another_question():
    broken = small(svc=[])
    assert asked(broken, None) == [("empty_service_chain", SVC)]
    assert asked(broken, "ipvs") == asked(broken, "nftables") == []


@pytest.mark.parametrize("rules, kind, effect", [
    (balancing()[:2], "wrong_probability", "33 % of connections find no endpoint"),
    (balancing()[:1], "wrong_probability", "67 % of connections find no endpoint"),
    (balancing()[:1] + balancing()[2:], "wrong_probability", "one endpoint gets 67 % of connections"),
    ([], "empty_service_chain", "no rule of the chain jumps to an endpoint")])
def test_a_lost_balancing_rule_says_what_becomes_of_the_connections(rules, kind, effect):
    text = small(svc=rules)
    assert asked(text) == [(kind, SVC)] and ask_services(read(text), setting())[0]["detail"].endswith(effect)
