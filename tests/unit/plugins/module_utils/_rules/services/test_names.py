# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of chains and of Services: hashes, destinations that contradict them, and client affinity."""

import re

import chain_texts as texts
import kube_audit
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.observation import observe
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.questions import ask
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services import chain_names
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.services.chain_names import (
    chain_hash, endpoint_text, port_of_hash, with_names,
)

# The port that the name of an endpoint's chain was made of, found again among all ports.

SERVICE, PROTOCOL = "ns1/service-\udc80:web", "tcp"


@pytest.mark.parametrize("address", ["10.244.0.7", "fd00:10:244::7"])
@pytest.mark.parametrize("port", [1, 9, 80, 8080, 65535])
def test_the_port_is_found(address, port):
    ending = chain_hash(SERVICE, PROTOCOL, endpoint_text((address, port)))
    assert port_of_hash(ending, SERVICE, PROTOCOL, address) == port


@pytest.mark.parametrize("ending", [
    chain_hash(SERVICE, "udp", "10.244.0.7:80"), chain_hash(SERVICE, PROTOCOL, "10.244.0.8:80"),
    chain_hash(SERVICE, PROTOCOL, "10.244.0.7:0"), chain_hash(SERVICE, PROTOCOL, "10.244.0.7:65536"),
    chain_hash(SERVICE, PROTOCOL, "10.244.0.7:080"), chain_hash(SERVICE, PROTOCOL, "10.244.0.7:80")[:8],
    "ABCDEFGHIJKLMNO1", "abcdefghijklmnop", "\xe4", ""])
def test_there_is_none(ending):
    assert port_of_hash(ending, SERVICE, PROTOCOL, "10.244.0.7") is None


# Rules of real nodes whose destinations contradict the names of their chains.

SAMPLES = ["kube-proxy-%s-%s" % (kind, family) for kind in ("1.36.3-nft", "1.30.5-legacy")
           for family in ("ipv4", "ipv6")]
CART, LOGIN = (re.compile(r'-A KUBE-SERVICES -d (\S+)/\d+ .*"shop/%s:http cluster IP" .*-j (KUBE-SVC-\S+)' % name)
               for name in ("cart", "login"))


def found(text):
    rule_set = texts.read(text)
    return [(row["kind"], row["chain"], row["detail"])
            for row in with_names(ask([rule_set], texts.setting_by(kubelet=False))[0], [rule_set])]


def unfolded(text):
    """The same text with every rule in a form that kube-proxy does not write, so that it is kept as a rule."""
    return re.sub(r"(-A KUBE-S(?:EP|VC|VL)-\S+ )", r"\1-m comment --comment read-as-a-rule ", text)


def endpoints(text, service):
    """The KUBE-SEP chains that a Service is balanced to."""
    return re.findall(r"-A %s .*-j (KUBE-SEP-\S+)" % service, text)


def changed(text, chain, old, new, where="-j DNAT"):
    """The text with something changed in the rules of a chain."""
    lines = [line.replace(old, new) if line.startswith("-A %s " % chain) and where in line else line
             for line in text.split("\n")]
    assert "\n".join(lines) != text
    return "\n".join(lines)


@pytest.fixture(params=SAMPLES)
def node(request):
    """(rules, chain of shop/cart:http, chain of shop/login:http, chain of the first endpoint of the first)."""
    text = kube_audit.sample(request.param)
    cart, login = CART.search(text).group(2), LOGIN.search(text).group(2)
    return text, cart, login, endpoints(text, cart)[0]


@pytest.mark.parametrize("form", [str, unfolded])
def test_a_dnat_to_another_port(node, form):
    text, _cart, _login, endpoint = node
    assert found(form(text)) == []
    address = re.search(r"-A %s .*--to-destination \[?([^\]\n]+?)\]?:8080" % endpoint, text).group(1)
    told = found(form(changed(text, endpoint, ":8080", ":8081")))
    assert [row[:2] for row in told] == [("unsound_endpoint", endpoint)]
    assert told[0][2].endswith("translates to port 8081 of %s, but its name belongs to port 8080" % address)


def test_a_dnat_of_another_protocol(node):
    text, _cart, _login, endpoint = node
    assert ("unsound_endpoint", endpoint, "shop/cart:http: it translates udp, but its Service is tcp") in found(
        changed(changed(text, endpoint, "-p tcp", "-p udp"), endpoint, "-m tcp", "-m udp"))


def test_an_endpoint_that_was_moved_with_its_mark(node):
    text, _cart, _login, endpoint = node
    four = "10.129.0.7" in text
    moved = changed(text, endpoint, "10.129.0.7" if four else "fd02:a:0:1::7",
                    "10.129.0.98" if four else "fd02:a:0:1::98", "-A")
    # The EndpointSlice may write an IPv6 address differently, so its hash proves nothing.
    detail = "shop/cart:http: translates to 10.129.0.98:8080, but its name belongs to another endpoint"
    assert found(moved) == ([("unsound_endpoint", endpoint, detail)] if four else [])


@pytest.mark.parametrize("form", [str, unfolded])
def test_a_service_that_leads_to_the_endpoint_of_another(node, form):
    text, cart, login, endpoint = node
    foreign = endpoints(text, login)[-1]
    told = found(form(changed(text, cart, "-j " + endpoint, "-j " + foreign, "-j KUBE-SEP-")))
    assert [row[:2] for row in told] == [("unsound_endpoint", cart)]
    assert re.match(r"shop/cart:http: jumps to the endpoint \S+:8080 of shop/login:http$", told[0][2])


def test_an_address_that_leads_to_another_service(node):
    text, cart, login, _endpoint = node
    address = CART.search(text).group(1)
    told = found(changed(text, "KUBE-SERVICES", "-j " + cart, "-j " + login, "shop/cart:http cluster"))
    detail = ("shop/cart:http: its rule in KUBE-SERVICES for %s port 80/tcp jumps to %s, the chain of shop/login:http"
              % (address, login))
    assert told == [("anchor_missing", cart, detail)]


def test_names_that_are_not_of_this_form_prove_nothing(node):
    text, cart, login, endpoint = node
    renamed = text.replace(cart, "KUBE-SVC-" + 16 * "A").replace(endpoint, "KUBE-SEP-" + 16 * "B")
    assert found(renamed) == []
    nameless = re.sub(r"-m comment --comment (\"[^\"]*\"|\S+) ", "", text)
    told = found(changed(nameless, endpoint, ":8080", ":8081"))
    assert not any(row[0] == "unsound_endpoint" for row in told) and "of another" not in str(told)


def test_of_very_many_endpoints_those_that_stand_out_are_looked_at(node, monkeypatch):
    text, cart, login, endpoint = node
    monkeypatch.setattr(chain_names, "_LIMIT", 50)
    assert found(text) == []
    assert [row[:2] for row in found(changed(text, endpoint, ":8080", ":8081"))] == [("unsound_endpoint", endpoint)]
    foreign = changed(text, cart, "-j " + endpoint, "-j " + endpoints(text, login)[-1], "-j KUBE-SEP-")
    assert ("unsound_endpoint", cart) in [row[:2] for row in found(foreign)]


# The Service's name beside each hash.

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


# Services with sessionAffinity that send no client back to its endpoint, on real nodes and folded or not.

RETURNING = re.compile(r"-A (KUBE-SV[CL]-\S+) .*--rcheck .*")


def found_affinity(text):
    """[(chain, detail)] of the only kind of observations."""
    rows = ask([texts.read(text)], texts.setting_by(kubelet=False))[0]
    assert {row["kind"] for row in rows} == {"emptied_chain"}
    return sorted((row["chain"], row["detail"].partition("sessionAffinity: ")[2]) for row in rows)


@pytest.mark.parametrize("form", [str, unfolded])
def test_rules_of_affinity_that_are_gone(node, form):
    text = form(node[0])
    rules = [line for line in text.split("\n") if RETURNING.match(line)]
    chain = RETURNING.match(rules[0]).group(1)
    mine = [rule for rule in rules if " %s " % chain in rule]
    detail = "no rule sends returning clients to %d of its %d endpoints"
    for gone in (mine, mine[:1]):
        assert found_affinity(texts.without(text, *gone)) == [(chain, detail % (len(gone), len(mine)))]


@pytest.mark.parametrize("form", [str, unfolded])
def test_endpoints_that_no_longer_note_their_clients(node, form):
    text, noting = node[0], r"-m recent --set --name \S+ --mask \S+ --rsource "
    mine = [RETURNING.match(line).group(1) for line in text.split("\n") if RETURNING.match(line)]
    detail = "%d of the %d endpoints of returning clients do not record clients"
    all_gone = [(chain, detail % (mine.count(chain), mine.count(chain))) for chain in sorted(set(mine))]
    assert found_affinity(form(re.sub(noting, "", text))) == all_gone
    endpoint = re.search(r"-A %s .*--rcheck .*-j (\S+)" % mine[0], text).group(1)
    one_gone = re.sub(r"(-A %s .*)%s" % (endpoint, noting), r"\1", text)
    assert found_affinity(form(one_gone)) == [(mine[0], detail % (1, mine.count(mine[0])))]
