# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Service's name beside each hash."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.observation import observe
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.service_names import with_names

SEP = texts.SVC.replace("SVC", "SEP")


def named(text, chain, rule="", table="nat"):
    read = [texts.read(text), texts.read(texts.healthy("ipv6"))]
    return with_names([observe("orphan_chain", read[0], table, chain, rule, 1, "why")], read)[0]["detail"]


@pytest.mark.parametrize("chain", [texts.SVC, texts.EXT, SEP, texts.SVC.replace("SVC", "SVL"),
                                   texts.SVC.replace("SVC", "FW"), texts.SVC.replace("SVC", "XLB")])
def test_each_chain_of_a_service(chain):
    assert named(texts.healthy(), chain) == "shop/web1:http: why"
    assert named(texts.healthy(), "PREROUTING", "-A PREROUTING -d 192.0.2.1/32 -j %s" % chain) == "shop/web1:http: why"


def test_a_chain_that_nothing_leads_to_has_the_name_of_its_own_rules():
    portals = [line for line in texts.healthy().split("\n")
               if line.startswith(("-A KUBE-SERVICES -d", "-A KUBE-NODEPORTS"))]
    text = texts.without(texts.healthy(), *portals)
    assert named(text, texts.SVC) == named(text, SEP) == "shop/web1:http: why"
    bare = text.replace('-m comment --comment "shop/web1:http -> 10.244.1.1:8080" ', "")
    assert named(bare, texts.SVC) == "why", "above 1000 endpoints there is no comment"


def test_other_chains_have_no_name():
    for chain, table in (("KUBE-SERVICES", "nat"), ("KUBE-SVC-SHORT", "nat"), ("KUBE-SVC-QQQQQQQQQQQQQQQQ", "nat"),
                         (texts.SVC, "filter")):
        assert named(texts.healthy(), chain, table=table) == "why"
