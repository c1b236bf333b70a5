# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of Services in nftables mode: what balances wrongly, and what leads to a wrong place."""

import random
import re

import pytest

import kube_audit
import kube_cluster
import kube_nft
from nft_audit import FAMILIES, ask, rows, services, shown, tables


LOOPBACK = {"ipv4": "127.0.0.1", "ipv6": "[::1]"}


def rewritten(made, begin, old, new):
    """The name of the first chain of a Service in one of whose rules this is replaced."""
    for name, (_properties, rules) in made.chains.items():
        for index, rule in enumerate(rules):
            if "/" in name and name.startswith(begin) and re.search(old, rule):
                rules[index] = re.sub(old, new, rule)
                return name
    raise AssertionError("no such rule")


def service_rows(made):
    return [(row["kind"], row["chain"], row["detail"]) for row in rows([made], mode=None)
            if row["kind"] != "orphan_chain"]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("begin, old, new, kind, words", [
    ("", "(mod 3 .*)0 : [^,]+, 1 :", r"\g<1>1 :", "wrong_probability", "has 2 of 3 elements: 33 % of the connections"),
    ("", " dnat to .*", " dnat to LOOPBACK:80", "unsound_endpoint", "LOOPBACK"),
    ("endpoint-", r"(dnat to .*):\d+$", r"\g<1>:65000", "unsound_endpoint", ":65000, not to the address in its name")])
def test_a_rule_of_a_service_that_was_changed(begin, old, new, kind, words, family, layout):
    made = tables(layout, [family])[0]
    name = rewritten(made, begin, old, new.replace("LOOPBACK", LOOPBACK[family]))
    row, = service_rows(made)
    assert row[:2] == (kind, shown(name)) and words.replace("LOOPBACK", LOOPBACK[family]) in row[2]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_a_service_that_leads_to_endpoints_of_another(layout):
    made = tables(layout, ["ipv4"])[0]
    endpoints = services(made, "endpoint-")
    name = rewritten(made, "", "goto endpoint-[^, ]+", "goto " + endpoints[-1])
    row, = service_rows(made)
    assert row[:2] == ("unsound_endpoint", shown(name)) and "a chain of another Service" in row[2]
    assert "(%s port %s)" % re.search(r"__([0-9.]+)/([0-9]+)$", endpoints[-1]).groups() in row[2]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("name", ["service-nodeports", "service-ips"])
def test_a_map_that_was_flushed_is_one_finding(name, layout):
    made = tables(layout, ["ipv4"])[0]
    del made.sets[name][2][:]
    row, = rows([made])
    assert (row["kind"], row["text"]) == ("anchor_missing", "map " + name) and "works; " in row["detail"]


def test_a_cluster_without_node_ports_has_an_empty_map():
    made = kube_nft.table(kube_cluster.plain_cluster("ipv4", 5, 2))
    assert made.sets["service-nodeports"][2] == [] and rows([made]) == []


def test_lost_cluster_ips_are_named():
    made = tables("1.36", ["ipv4"])[0]
    lost = made.sets["cluster-ips"][2][:2]
    for name in ("service-ips", "no-endpoint-services"):
        elements = made.sets[name][2]
        elements[:] = [element for element in elements if element.split(" ")[0] not in lost]
    detail, = [row["detail"] for row in rows([made]) if row["kind"] == "half_repaired"]
    assert "2 ClusterIPs" in detail and all(address in detail for address in lost)
    assert ask([made], deep=False) == [("half_repaired", "ipv4", lost[0])]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS[1:])
@pytest.mark.parametrize("name", ["service-ips", "service-nodeports"])
def test_a_service_whose_element_is_gone_is_named(name, layout):
    seed = kube_audit.seed()
    for number in range(12):
        made = tables(layout, ["ipv4"], seed=number)[0]
        elements = made.sets[name][2]
        element = random.Random("%s %s" % (seed, number)).choice(elements)
        target = element.rpartition(" ")[2]
        elements.remove(element)
        found = [(row["kind"], row["chain"]) for row in rows([made], mode=None) if row["kind"] != "half_repaired"]
        # Of a ClusterIP whose policy is Local the chain of all endpoints is named, where there is one.
        chains = target, target.replace("local-", "service-", 1)
        wanted = [[("anchor_missing", shown(chain))] for chain in chains]
        # The chain of external traffic that another address leads to does not say that it had one more.
        others = made.sets["service-ips"][2] + made.sets["service-nodeports"][2]
        if target.startswith("external-") and any(other.endswith(" " + target) for other in others):
            wanted = [[]]
        assert found in wanted, "seed %s, number %d" % (seed, number)


def test_a_cluster_ip_that_is_refused_is_not_gone():
    """internalTrafficPolicy Local without an endpoint on this node: the chain of the Service is there for external
    traffic."""
    made = tables("1.36", ["ipv4"])[0]
    target = next(target for target in services(made, "service-") if "external-" + target[8:] in made.chains)
    element = next(element for element in made.sets["service-ips"][2] if element.endswith(" " + target))
    made.sets["service-ips"][2].remove(element)
    namespace, name, _protocol, port = target.split("-", 2)[2].split("/")
    title = "%s/%s%s" % (namespace, name, ":" + port if port else "")
    made.sets["no-endpoint-services"][2].append('%s comment "%s" : drop' % (element.partition(" : ")[0], title))
    assert rows([made], mode=None) == []


def test_a_node_port_that_is_gone_says_what_is_dead():
    made = tables("1.36", ["ipv4"])[0]
    targets = [element.rpartition(" ")[2] for element in made.sets["service-ips"][2]]
    element = next(element for element in made.sets["service-nodeports"][2]
                   if element.rpartition(" ")[2] not in targets)
    made.sets["service-nodeports"][2].remove(element)
    row = rows([made], mode=None)[0]
    service = "/".join(element.rpartition(" ")[2].split("-", 2)[2].split("/")[:2])
    assert row["kind"] == "anchor_missing" and "NodePort" in row["detail"] and service in row["detail"]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
def test_external_traffic_that_leads_nowhere_or_is_not_marked(layout):
    for index, kind in ((-1, "empty_service_chain"), (0, "emptied_chain")):
        made = tables(layout, ["ipv4"])[0]
        name = next(name for name in services(made, "external-") if len(made.chains[name][1]) == 2)
        del made.chains[name][1][index]
        assert [row[:2] for row in service_rows(made)] == [(kind, shown(name))]


@pytest.mark.parametrize("layout", kube_nft.LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_clients_that_are_not_led_back(layout, family):
    for which, begin in (("service-", "%s saddr @affinity-" % kube_nft.NFT_FAMILY[family]),
                         ("endpoint-", "update @affinity-")):
        made = tables(layout, [family])[0]
        name = next(name for name in services(made, which)
                    if any(rule.startswith(begin) for rule in made.chains[name][1]))
        made.chains[name][1][:] = [rule for rule in made.chains[name][1] if not rule.startswith(begin)]
        found = [row for row in service_rows(made) if row[0] != "anchor_missing"]
        assert {row[0] for row in found} == {"emptied_chain"} and all("sessionAffinity of " in row[2] for row in found)
        assert which == "endpoint-" or [row[1] for row in found] == [shown(name)]
