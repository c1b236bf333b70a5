# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Native nft tables of a dump that shows no Service. The tables of test_nft_native.py are made by the real nft."""

import time

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.nft.listing import ListingReader
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.nft.native import (judge_forwarding,
                                                                                           judge_table)
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.services import Service

BASE = ["type filter hook forward priority 0; policy drop;"]


WEB = Service("ipv4", "10.96.0.2", 80, "tcp", "shop/web:http",
              frozenset([("10.244.1.2", 8080, "tcp"), ("10.244.2.2", 8080, "tcp")]), True, True)


def table(**chains):
    """A table with these chains, each a list of its lines."""
    reader = ListingReader(texts=(500, 2000))
    blocks = ["chain %s {\n%s\n}" % (name, "\n".join(lines)) for name, lines in chains.items()]
    reader.feed(("table inet guard {\n%s\n}\n" % "\n".join(blocks)).encode())
    return reader.close()["inet", "guard"]


def kinds(**chains):
    """The kinds of the observations on a table."""
    return [row[0] for row in judge_forwarding(table(**chains))]


@pytest.mark.parametrize("interface, routed, rows, doubts", [
    ("lxcbr0", (), 0, False), ("lxc12ab", (), 1, False), ("wg0", (), 0, True), ("wg0", ("wg0",), 1, False),
    ("tailscale0", ("wg0",), 0, True)])
def test_whose_interface_a_rule_names(interface, routed, rows, doubts):
    """LXC's bridge carries no pods, Cilium's interfaces do; a tunnel may be the network of the nodes."""
    chain = ["type filter hook forward priority -5; policy accept;", 'iifname "%s" drop' % interface]
    found, doubt = judge_table(table(base=chain), [WEB], (), lambda: routed)
    assert (len(found), bool(doubt)) == (rows, doubts)


@pytest.mark.parametrize("rules, zone, expected", [
    ([], [], ["unexpected_drop"]), (["accept"], [], []), (["jump zone"], ["accept"], []),
    (["jump zone"], ['iifname "eth0" return'], ["unexpected_drop"]),
    (["jump zone"], ["jump zone"], [])])
def test_what_drops_all_forwarded_traffic(rules, zone, expected):
    assert kinds(base=BASE + rules, zone=zone) == expected


@pytest.mark.parametrize("condition, last", [
    ("", "return"), ("", 'iifname "eth7" drop'), ('iifname "eth7" ', 'iifname "eth7" drop')])
def test_chains_that_jump_to_each_other_many_times(condition, last):
    chains = {"c%d" % number: [condition + "jump c%d" % (number + 1)] * 40 for number in range(15)}
    begun = time.process_time()
    found = kinds(base=BASE + ["jump c0"], c15=[last], **chains)
    assert time.process_time() - begun < 5 and set(found) <= {"unexpected_drop", "unjudged_table"}
