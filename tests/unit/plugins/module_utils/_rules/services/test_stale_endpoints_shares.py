# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints that were forgotten: all other rules of their Service are as they should be."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.structure import LARGE_CLUSTER

# Names as Kubernetes gives them to shop/web:http with the endpoints 10.244.1.11:8080 and .12.
SVC, GONE, LEFT = "KUBE-SVC-67NZLRHBNDSAWJRO", "KUBE-SEP-EPVTA2RHFPHQF37H", "KUBE-SEP-A4XDIGXZ2YDXHROU"
MASQUERADING = "-A %s ! -s 10.244.0.0/16 -d 10.96.0.50/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ" % SVC


def endpoint(name, address, affinity=False):
    recent = " -m recent --set --name %s --mask 255.255.255.255 --rsource" % name if affinity else ""
    return [":%s - [0:0]" % name, '-A %s -s %s/32 -m comment --comment "shop/web:http" -j KUBE-MARK-MASQ'
            % (name, address), '-A %s -p tcp -m comment --comment "shop/web:http"%s -m tcp -j DNAT --to-destination '
                               '%s:8080' % (name, recent, address)]


def node(*more, **how):
    """A node with a Service that has a rule for its second endpoint only."""
    to_service = '-A KUBE-SERVICES -d 10.96.0.50/32 -p tcp %s-m tcp --dport 80 -j %s' % (
        '-m comment --comment "shop/web:http cluster IP" ' if how.get("comment", True) else "", SVC)
    lines = [":%s - [0:0]" % SVC, MASQUERADING, "-A %s -j %s" % (SVC, LEFT)] + endpoint(LEFT, "10.244.1.12")
    return texts.adding(texts.adding(texts.healthy(), "nat", *(lines + list(more))), "nat", to_service, first=True)


def told(text, **known):
    return [(row["kind"], row["chain"], row["text"])
            for row in ask([texts.read(text), texts.read(texts.healthy("ipv6"))], texts.setting_by(**known))[0]]


FORGOTTEN = endpoint(GONE, "10.244.1.11")
SHARE = [("wrong_probability", SVC, "-A %s -j %s" % (SVC, GONE))]


def test_a_service_that_forgot_an_endpoint():
    assert told(node()) == []
    assert told(node(*FORGOTTEN)) == SHARE
    assert told(node(*FORGOTTEN), mode=None) == SHARE
    assert told(node(*FORGOTTEN), mode="ipvs") != SHARE


def test_one_whose_service_nobody_names():
    assert told(node(*FORGOTTEN, comment=False)) == [("orphan_chain", GONE, "")]
    other = endpoint("KUBE-SEP-AAAAAAAAAAAAAAAB", "10.244.1.11")
    assert told(node(*other)) == [("orphan_chain", "KUBE-SEP-AAAAAAAAAAAAAAAB", "")]


@pytest.mark.parametrize("lines", [FORGOTTEN[:1], FORGOTTEN[:2], [FORGOTTEN[0], FORGOTTEN[2]]])
def test_a_chain_without_its_rules_is_no_endpoint(lines):
    assert SHARE[0] not in told(node(*lines)) and not any(kind == "orphan_chain"
                                                          for kind, _chain, _text in told(node(*lines)))


def test_what_is_wrong_with_the_service_is_told_alone():
    chance = "-A %s -m statistic --mode random --probability 0.50000000000 -j %s" % (SVC, LEFT)
    text = texts.instead(node(*FORGOTTEN), "-A %s -j %s" % (SVC, LEFT), chance)
    assert told(text) == [("wrong_probability", SVC, "")]
    assert told(texts.without(node(*FORGOTTEN), "-A %s -j %s" % (SVC, LEFT))) == [("empty_service_chain", SVC, "")]
    of_another = "\n".join(line for line in node(*FORGOTTEN, comment=False).split("\n")
                           if not line.startswith("-A %s " % texts.SVC))
    assert told(of_another) == [("empty_service_chain", texts.SVC, "")], "whose endpoint it is nobody knows"
    gone = texts.without(node(*FORGOTTEN), ":%s - [0:0]" % SVC, MASQUERADING, "-A %s -j %s" % (SVC, LEFT))
    assert [kind for kind, _chain, _text in told(gone)] == ["dangling_jump"]


def test_in_a_large_cluster_stale_endpoints_may_wait():
    many = [line for number in range(LARGE_CLUSTER)
            for line in endpoint("KUBE-SEP-%016d" % number, "10.245.%d.%d" % (number // 250, number % 250))]
    assert told(node(*(FORGOTTEN + many))) == []


def returning(*names):
    """Client affinity to these endpoint chains; only the second endpoint gets balanced traffic."""
    lines = ["-A %s -m recent --rcheck --seconds 10800 --reap --name %s --mask 255.255.255.255 --rsource -j %s"
             % (SVC, name, name) for name in names]
    balanced = "-A %s -j %s" % (SVC, LEFT)
    noting = texts.instead(node(*endpoint(GONE, "10.244.1.11", True)), endpoint(LEFT, "10.244.1.12")[2],
                           endpoint(LEFT, "10.244.1.12", True)[2])
    return texts.instead(noting, balanced, "\n".join(lines + [balanced]))


def test_an_endpoint_that_only_returning_clients_get_to():
    assert told(returning(GONE, LEFT)) == SHARE
    assert told(returning(LEFT)) == SHARE


def local(*endpoints, **how):
    """The same Service with a chain for the endpoints of this node; it sends all external clients to `endpoints`."""
    chain = how.get("chain", SVC.replace("SVC", "SVL"))
    chances = ["-m statistic --mode random --probability %.11f " % (1.0 / left)
               for left in range(len(endpoints), 1, -1)] + [""]
    lines = [":%s - [0:0]" % chain,
             '-A KUBE-NODEPORTS -p tcp -m comment --comment "shop/web:http" -m tcp --dport 30081 -j %s' % chain]
    return lines + ["-A %s %s-j %s" % (chain, chance, name) for chance, name in zip(chances, endpoints)]


@pytest.mark.parametrize("chain, version", [("KUBE-SVL-", (1, 30)), ("KUBE-XLB-", (1, 20))])
def test_an_endpoint_that_only_clients_of_this_node_get_to(chain, version):
    chain += SVC[9:]
    text = node(*(FORGOTTEN + local(GONE, LEFT, chain=chain)))
    assert [row for row in told(text, kubernetes=version) if row[0] == "wrong_probability"] == SHARE
    assert SHARE[0] not in told(node(*(FORGOTTEN + local(LEFT, chain=chain) + ["-A %s -j %s" % (SVC, GONE)])),
                                kubernetes=version)


def test_local_endpoints_that_are_none_of_all_clients():
    # No endpoint of this node is ready any more, so terminating endpoints serve.
    assert told(node(*(FORGOTTEN + local(GONE)))) == []
    # Topology hints leave out an endpoint that is not the first.
    last = "KUBE-SEP-EIXAW3UET5NOOHSP"
    assert told(node(*(endpoint(last, "10.244.1.13") + local(LEFT, last)))) == []
