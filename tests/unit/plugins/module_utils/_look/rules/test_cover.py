# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dumps do not show: backends, tables and families."""

import types

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.cover import (
    backend_doubt, take_name, uncovered)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import Rules
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.ruleset import RuleSet
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.kube_tables import KubeTables


@pytest.mark.parametrize("name, before, after, misnamed", [
    ("iptables-nft-save.txt", None, "nft", False), ("ip6tables_legacy.txt", None, "legacy", False),
    ("iptables-legacy-save.txt", "nft", None, True), ("iptables.txt", "nft", "nft", False),
    ("draft.txt", None, None, False), ("iptables-legacy-and-nft.txt", "nft", "nft", False),
    ("iptables-legacy-and-nft.txt", None, None, False)])
def test_the_backend_in_the_name_of_a_file(name, before, after, misnamed):
    rules, found = Rules("files"), RuleSet(name, "ipv4", before)
    take_name(rules, name, [found])
    assert (found.backend, bool(rules.misnamed)) == (after, misnamed)


@pytest.mark.parametrize("sets, doubt", [
    ([("ipv4", "nft"), ("ipv4", "legacy")], None), ([("ipv4", "nft"), (None, "legacy")], None),
    ([("ipv4", "nft"), ("ipv4", "legacy"), ("ipv6", "nft")], None), ([("ipv4", "nft")], "of the nft backend only"),
    ([("ipv4", "nft"), ("ipv6", "legacy")], "no family has dumps of both"), ([("ipv4", None)], "is not known"),
    ([], "no dump shows rules of iptables")])
def test_dumps_of_both_backends(sets, doubt):
    rules = Rules("files")
    rules.rule_sets = [RuleSet("a.txt", family, backend) for family, backend in sets]
    assert doubt in backend_doubt(rules) if doubt else backend_doubt(rules) is None


@pytest.mark.parametrize("ipv6, subjects", [(None, ["table ip6 kube-proxy"]), (False, ["table ip6 kube-proxy"]),
                                            (True, [])])
def test_the_table_of_the_other_family(ipv6, subjects):
    rules = Rules("files")
    rules.nftables = KubeTables()
    rules.nftables.tables, rules.nftables.ipv6 = {"ipv4": None}, ipv6
    found = uncovered(rules, types.SimpleNamespace(mode="nftables"))
    assert [row["subject"] for row in found if row["table"] == "family"] == subjects
