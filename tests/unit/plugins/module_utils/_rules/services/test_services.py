# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services read from kube-proxy's chains: which Services exist, what they mean, and which are broken."""

import hashlib
import random
import re

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
NO_FILTER = "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"


def read(text, folding=True, source="live"):
    reader = SaveReader(source, "ipv4", "nft", folding=folding)
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


def meaning(services):
    return {(row.family, row.address, row.port, row.protocol, row.has_endpoints) for row in services}


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
    # Internal traffic policies are newer than 1.20.
    return (cluster if version > (1, 20) else kube_cluster.without_policies(cluster, ("internal_local",)),
            kube_dumps.node_dump(
                version, "iptables", backend, cluster)[0])


def parsed(text):
    reader = SaveReader("live")
    reader.feed(text.encode())
    return reader.close()[0]


def test_every_kind_of_service_is_listed(node):
    cluster, text = node
    services = list_services(parsed(text))
    assert meaning(services) == kube_cluster.expected_services(cluster)
    assert len(services) == len(meaning(services))
    names = {(row.address, row.port, row.name) for row in services if row.address != "nodeport"}
    for service in cluster.services:
        assert (service.address, service.port, kube_cluster.title(service)) in names


def test_endpoints_of_cluster_policies_are_those_of_the_cluster(node):
    cluster, text = node
    rows = {(row.address, row.port, row.protocol): row for row in list_services(parsed(text))}
    for service in cluster.services:
        row = rows[service.address, service.port, service.protocol]
        assert not service.endpoints or row.cluster == (not service.internal_local)
        wanted = {(endpoint.address, endpoint.port, service.protocol) for endpoint in service.endpoints
                  if endpoint.local or not service.internal_local}
        assert len(row.endpoints) == len(wanted) and set(row.endpoints) == wanted
        if service.node_port and service.endpoints:
            assert rows["nodeport", service.node_port, service.protocol].cluster == (not service.external_local)


def test_a_healthy_node_has_nothing_wrong(node):
    assert ask_services(parsed(node[1]), setting()) == []


@pytest.mark.parametrize("family", kube_dumps.FAMILIES)
def test_all_nodes_and_versions_have_one_digest(family):
    cluster = kube_cluster.every_kind(family)
    # 1.20 has no internal policy, and sends external IPs to all endpoints with any policy.
    plain = kube_cluster.without_policies(cluster, ("internal_local",))
    plain = plain._replace(services=tuple(service._replace(external_local=service.external_local
                                                           and not service.external_ips) for service in plain.services))
    seen = set()
    for version in VERSIONS:
        for backend in kube_dumps.BACKENDS:
            for number in range(2):
                address = ("192.0.2.%d" if family == "ipv4" else "2001:db8::%d") % (50 + number)
                other = kube_cluster.seen_from(plain, address, number)
                text = kube_dumps.node_dump(version, "iptables", backend, other, counters=bool(number))[0]
                seen.add(str(sorted(digest(list_services(parsed(text))).items())))
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


def test_the_digest_is_of_the_lines_the_documentation_names():
    rows = [Service("ipv6", "fd01::1", 53, "udp", "", frozenset([("fd00::5", 53, "udp")]), True, True),
            Service("ipv4", "nodeport", 30000, "tcp", "", frozenset(), False, False)]
    assert digest(rows) == {
        "services": hashlib.sha256(b"ipv4 nodeport 30000 tcp no\nipv6 fd01::1 53 udp yes\n").hexdigest(),
        "endpoints": hashlib.sha256(b"ipv6 fd01::1 53 udp [fd00::5]:53\n").hexdigest(), "service_count": 2,
        "endpoint_count": 1}


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
    told = digest(services)
    assert [told["services"], told["endpoints"], told["service_count"],
            told["endpoint_count"]] == wanted + [len(meant), len(behind)]


def test_what_is_not_known_has_no_digest():
    assert digest(None) == {"services": None, "endpoints": None, "service_count": None, "endpoint_count": None}


@pytest.mark.parametrize(
    "change", [
        lambda text: text.replace("COMMIT\n", "", 1), lambda text: text[:text.index("*filter") + 12],
        lambda text: text.replace("*nat\n", ""), lambda text: text.replace("COMMIT", "garbage\nCOMMIT", 1),
        lambda text: text.replace(":INPUT", "garbage\n:INPUT"),
        lambda text: "# Table `nat' is incompatible, use 'nft' tool.\n" + NO_FILTER,
        lambda text: "# Table `filter' is incompatible, use 'nft' tool.\n" + text.replace(NO_FILTER, ""),
    ])
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
    rules = parsed(kube_dumps.node_dump((1, 30), "iptables", "nft", cluster)[0])
    assert rules_per_service([rules], list_services(rules)) == 11.0
    assert rules_per_service([rules], []) is None and rules_per_service([rules], None) is None


def test_a_small_dump_is_sound():
    assert asked(small()) == []


@cases
def test_wrong_probabilities(chances):
    assert asked(small(svc=balancing(chances))) == [("wrong_probability", SVC)]


@pytest.mark.parametrize(
    "rules", [
        balancing()[:2], balancing()[:1] + balancing()[2:], balancing()[::-1], balancing()[:1] + balancing(),
        [balancing()[0], balancing()[1].replace("random --probability 0.50000000000", "nth --every 2 --packet 0"),
         balancing()[2]], [balancing()[0].replace("0.33333333349", "a"), balancing()[1], balancing()[2]],
    ])
def test_balancing_rules_lost_or_out_of_order(rules):
    assert asked(small(svc=rules)) == [("wrong_probability", SVC)]


def test_what_does_not_change_the_balance():
    # Without its first rule the chain equals that of a Service with one endpoint less.
    assert asked(small(svc=balancing()[1:])) == []
    recent = ["-A %s -m recent --rcheck --seconds 10800 --reap --name %s --mask 255.255.255.255 --rsource -j %s"
              % (SVC, name, name) for name in (SEP, OTHER, THIRD)]
    masquerade = ["-A %s ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC,
                  "-A %s -j KUBE-MARK-MASQ" % SVC]
    assert asked(small(svc=masquerade + recent + balancing())) == []
    # It is reported as a duplicate, and has no effect.
    assert asked(small(svc=balancing() + balancing()[2:])) == []
    odd = balancing()[1].replace("-m statistic", '-m comment --comment "odd \\"name\\"" -m statistic')
    assert asked(small(svc=[balancing()[0], odd, balancing()[2]])) == []
    one_less = masquerade[:1] + recent[:1] + [odd] + balancing()[:1] + balancing()[2:]
    assert asked(small(svc=one_less)) == [("wrong_probability", SVC)]


def test_service_chains_that_lead_nowhere():
    masquerade = ["-A %s ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC]
    assert asked(small(svc=[])) == asked(small(svc=masquerade)) == [("empty_service_chain", SVC)]
    local = SVC.replace("SVC", "SVL")
    assert asked(small(svc=[]).replace(SVC, local)) == [("empty_service_chain", local)]
    # Up to 1.24 a Local policy without local endpoints refuses.
    assert asked(small(svc=["-A %s -j KUBE-MARK-DROP" % SVC])) == []


@pytest.mark.parametrize(
    "change", [
        lambda rules: [], lambda rules: rules[:1], lambda rules: rules[1:], lambda rules: rules[::-1], lambda rules: [
            rules[0]] + [rules[1] + "1"] * 0, lambda rules: [rules[0].replace("10.244.0.", "10.244.1."), rules[1]],
        lambda rules: [re.sub(" -s [^ ]+", "", rules[0]), rules[1]], lambda rules: [
            rules[0].replace("-s", "! -s"), rules[1]], lambda rules: [rules[0].replace("/32", "/24"), rules[1]],
        lambda rules: [rules[0], rules[1].replace(":8080", "")],
        lambda rules: [rules[0], rules[1].replace(" -p tcp -m tcp", "")],
        lambda rules: [rules[1].replace("DNAT --to-destination 10.244.0.", "DNAT --to-destination 10.9.0.")] + rules,
        lambda rules: [rules[0].split(" -s")[0] + " -j DROP"] + rules,
        lambda rules: [rules[0], rules[0].split(" -s")[0] + " -j RETURN", rules[1]],
        lambda rules: [rules[0], rules[1].replace("DNAT --to-destination", "REDIRECT --to-ports")],
    ])
def test_unsound_endpoints(change):
    assert asked(small(sep=lambda name, number: change(pair(name, number))
                       if number == 2 else pair(name, number))) == [("unsound_endpoint", OTHER)]


@pytest.mark.parametrize(
    "change", [
        lambda rules: rules + rules, lambda rules: [rules[0]] + rules, lambda rules: rules
        + [rules[0].split(" -s")[0] + " -j DROP"], lambda rules: [rules[0].split(" -s")[0] + " -i eth0 -j RETURN"]
        + rules, lambda rules: [rules[0].split(" -s")[0]] + rules, lambda rules: [rules[0], rules[1] + " --random"],
        lambda rules: [rules[0], rules[1].replace("-m tcp", "-m recent --set --name x --rsource -m tcp")],
    ])
def test_endpoints_that_are_sound(change):
    text = small(sep=lambda name, number: change(pair(name, number)) if number == 2 else pair(name, number))
    assert asked(text) == []
    assert [len(row.endpoints) for row in list_services(read(text))] == [3]


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("COMMIT\n", "", 1), lambda text: text.replace("*nat\n", ""),
               lambda text: text.replace("COMMIT", "garbage\nCOMMIT", 1), lambda text: text.replace("*nat", "*mangle")])
def test_of_a_nat_that_is_not_whole_nothing_is_claimed(change):
    broken = small(svc=[], sep=lambda name, number: [])
    assert asked(broken) == [("empty_service_chain", "KUBE-SVC-AAAAAAAAAAAAAAAA")]
    assert asked(change(broken)) == []


def test_leftovers_of_another_mode_are_another_question():
    broken = small(svc=[])
    assert asked(broken, None) == [("empty_service_chain", SVC)]
    assert asked(broken, "ipvs") == asked(broken, "nftables") == []


def test_a_broken_rule_at_a_random_place_is_told_and_nothing_else():
    source = random.Random(kube_audit.seed())
    text = kube_dumps.node_dump((1, 30), "iptables", source.choice(kube_dumps.BACKENDS),
                                kube_cluster.plain_cluster("ipv4", 40, 3))[0]
    rows = text.split("\n")
    for _try in range(40):
        place = source.choice([index for index, row in enumerate(rows)
                               if row.startswith(("-A KUBE-SEP-", "-A KUBE-SVC-")) and " ! -s " not in row])
        chain = rows[place].split(" ")[1]
        wanted = "unsound_endpoint" if "SEP" in chain else "wrong_probability"
        first = " --probability 0.333" in rows[place]
        assert asked("\n".join(rows[:place] + rows[place + 1:])) == ([(wanted, chain)] if not first else [])
        if " -m statistic " in rows[place]:
            bare = re.sub(" -m statistic --mode random --probability [0-9.]+", "", rows[place])
            assert asked("\n".join(rows[:place] + [bare] + rows[place + 1:])) == [("wrong_probability", chain)]
        gone = [row for row in rows if not row.startswith("-A %s " % chain)]
        assert asked("\n".join(gone)) == [("unsound_endpoint" if "SEP" in chain else "empty_service_chain", chain)]


@pytest.mark.parametrize(
    "rules, effect", [(balancing()[:2], "33 % of connections find no endpoint"),
                      (balancing()[:1], "67 % of connections find no endpoint"),
                      (balancing()[:1] + balancing()[2:], "one endpoint gets 67 % of connections"), ([], None)])
def test_a_lost_balancing_rule_says_what_becomes_of_the_connections(rules, effect):
    rows = ask_services(read(small(svc=rules)), setting())
    assert [row["detail"].rpartition(effect or "no rule of the chain jumps to an endpoint")[2] for row in rows] == [""]
