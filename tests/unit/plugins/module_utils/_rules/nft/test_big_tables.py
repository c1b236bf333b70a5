# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules inside the chains of Services are judged in tables of more than 3000 chains too, without deep; rules that
are not judged are reported."""

import copy
import re

import pytest

import kube_cluster
import kube_nft
from nft_audit import setting, shown
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import read_kube_tables
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.kube_tables import ask_nftables
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.observation import merged

CHAINS = 3000
LAYOUTS = ("1.30", "1.36")


@pytest.fixture(scope="module", params=LAYOUTS)
def healthy(request):
    """Every kind of Service among many plain ones, in a table of more than CHAINS chains."""
    plain = kube_cluster.plain_cluster("ipv4", CHAINS if request.param == "1.36" else CHAINS // 3, 2).services
    made = kube_nft.table(kube_cluster.cluster("ipv4", list(kube_cluster.every_kind("ipv4").services) + list(plain)),
                          request.param)
    assert len(made.chains) > CHAINS
    return made


@pytest.fixture
def made(healthy):
    return copy.deepcopy(healthy)


def told(*made, **bounds):
    found = read_kube_tables(kube_nft.answers(*made), **bounds)
    return [(row["kind"], row["chain"]) for row in merged(ask_nftables(found, setting(mode=None)))]


def rule_with(made, words):
    """(name of the first chain of a Service with such a rule, its rules, where it stands)."""
    return next((name, rules, index) for name, (_properties, rules) in made.chains.items() if "/" in name
                for index, rule in enumerate(rules) if re.search(words, rule))


def short_map(made):
    name, rules, index = rule_with(made, "numgen random mod 2 ")
    rules[index] = re.sub("0 : [^,]+, ", "", rules[index], count=1)
    return "wrong_probability", name


def other_address(made):
    name = next(name for name in made.chains if name.startswith("endpoint-"))
    made.chains[name][1][-1] = "meta l4proto tcp dnat to 203.0.113.99:8080"
    return "unsound_endpoint", name


def lost_affinity(made):
    name, rules, _index = rule_with(made, "saddr @affinity-")
    rules[:] = [rule for rule in rules if "@affinity-" not in rule]
    return "emptied_chain", name


def unreached_source_ranges(made):
    elements = made.sets["firewall-ips"][2]
    name = elements[0].partition("goto ")[2]
    elements[:] = [element for element in elements if not element.endswith("goto " + name)]
    return "emptied_chain", name


@pytest.mark.parametrize("damage", [short_map, other_address, lost_affinity, unreached_source_ranges])
def test_a_damaged_service_among_thousands(damage, made):
    kind, name = damage(made)
    assert (kind, shown(name)) in told(made)


def test_nothing_is_told_of_a_big_table_that_is_whole(healthy):
    assert told(healthy) == [] and told(healthy, kube_nft.table(kube_cluster.cluster("ipv6", []))) == []


def test_what_is_not_judged_is_told_once(healthy):
    found = read_kube_tables(kube_nft.answers(healthy), False, CHAINS)
    row, = ask_nftables(found, setting(mode=None))
    assert (row["kind"], row["family"], row["table"], row["chain"],
            row["count"]) == ("unjudged_table", "ipv4", "ip kube-proxy", "", 1)
    assert row["detail"].startswith("the rules inside the chains of Services are not judged: the table has %d chains, "
                                    % len(healthy.chains))


def test_a_chain_that_came_while_the_table_was_listed_is_not_empty(healthy):
    """`nft list chains` runs a second time, and does not print the rules of the chains that it lists."""
    found = read_kube_tables(kube_nft.answers(healthy))
    name = next(name for name in healthy.chains if name.startswith("service-"))
    found.tables["ipv4"].chains[name].rules = None
    assert not [row for row in ask_nftables(found, setting(mode=None)) if row["kind"] == "empty_service_chain"]
