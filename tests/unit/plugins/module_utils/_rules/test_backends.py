# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend holds which rules, and whether two backends conflict."""

import pytest

import backend_rules as texts
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.backends import backend_evidence
from parsed_texts import parse_save

DROPPING, FOREIGN, KUBELET, POLICY, PROXY = texts.DROPPING, texts.FOREIGN, texts.KUBELET, texts.POLICY, texts.PROXY
# These are named in rows.
CALICO, EMPTY, FLUSHED, HINT, IPVS = texts.CALICO, texts.EMPTY, texts.FLUSHED, texts.HINT, texts.IPVS
KUBE_ROUTER = texts.KUBE_ROUTER
INCOMPATIBLE = "# Table `nat' is incompatible, use 'nft' tool.\n"


def evidence(nft="", legacy="", unread=(), family="ipv4"):
    sets = [parse_save(text, "live", family, backend) for backend, text in (("nft", nft), ("legacy", legacy)) if text]
    return backend_evidence(sets, unread)


def verdict(*args, **kwargs):
    return evidence(*args, **kwargs)["mixing"]["verdict"]


def test_rows_and_their_order():
    sets = [parse_save(KUBELET + PROXY, "live", family, "nft") for family in ("ipv6", "ipv4")]
    found = backend_evidence(sets + [parse_save(FOREIGN, "live", "ipv4", "legacy")])
    assert found["sets"][0] == {"backend": "nft", "family": "ipv4", "readable": True, "rules": 5, "kube_rules": 3,
                                "drops": 1, "hint": True, "kubelet_canary": True, "proxy_canary": True}
    order = [(row["backend"], row["family"]) for row in found["sets"]]
    assert order == [("nft", "ipv4"), ("nft", "ipv6"), ("legacy", "ipv4")]
    assert found["kubelet_backend"] == found["kube_proxy_backend"] == {"ipv4": "nft", "ipv6": "nft"}


@cases
def test_mixing(nft, legacy, word):
    found = evidence(nft, legacy)["mixing"]
    assert found["verdict"] == word and found["because"]


@pytest.mark.parametrize("ipv4, ipv6", [(KUBELET + PROXY, KUBELET + PROXY), (DROPPING, POLICY)])
def test_rules_of_two_families_do_not_meet(ipv4, ipv6):
    sets = [parse_save(ipv4, "live", "ipv4", "nft"), parse_save(ipv6, "live", "ipv6", "legacy")]
    assert backend_evidence(sets)["mixing"]["verdict"] == "suspicious"


@cases
def test_who_uses_which(nft, legacy, kubelet, proxy):
    found = evidence(nft, legacy)
    assert (found["kubelet_backend"]["ipv4"], found["kube_proxy_backend"]["ipv4"]) == (kubelet, proxy)


def test_old_kubelets_have_a_canary_and_no_hint():
    assert evidence(KUBELET.replace(":KUBE-IPTABLES-HINT - [0:0]\n", ""))["kubelet_backend"]["ipv4"] == "nft"


def test_an_incompatible_table_is_not_empty():
    found = evidence(KUBELET + INCOMPATIBLE)
    row = found["sets"][0]
    assert row["readable"] is False and row["hint"] is True and row["proxy_canary"] is None
    assert (found["kubelet_backend"]["ipv4"], found["kube_proxy_backend"]["ipv4"]) == ("nft", None)
    assert found["mixing"]["verdict"] == "unknown" and "incompatible" in found["mixing"]["because"]
    # The rules that are readable in spite of it count.
    assert verdict(KUBELET + INCOMPATIBLE, PROXY) == "conflicting"


@pytest.mark.parametrize("cut", [len(KUBELET) - 3, len(KUBELET) // 2])
def test_a_dump_that_breaks_off(cut):
    found = evidence(KUBELET[:cut])
    assert (found["sets"][0]["readable"], found["mixing"]["verdict"]) == (False, "unknown")
    assert found["kube_proxy_backend"]["ipv4"] is None


def test_a_backend_that_could_not_be_read():
    found = evidence(KUBELET + PROXY, unread=[("legacy", "ipv4", "iptables-legacy-save did not end within 60 seconds")])
    because = "not all rules could be read: iptables-legacy-save did not end within 60 seconds"
    assert found["mixing"] == {"verdict": "unknown", "because": because}
    unknown = dict.fromkeys(("rules", "kube_rules", "drops", "hint", "kubelet_canary", "proxy_canary"))
    assert found["sets"][1] == dict(unknown, backend="legacy", family="ipv4", readable=False)
    assert found["kubelet_backend"] == {"ipv4": "nft", "ipv6": "none"}
    assert evidence(FOREIGN, unread=[("legacy", "ipv4", "why")])["kubelet_backend"]["ipv4"] is None
    # One unread table of a backend whose other tables were read.
    assert evidence(FOREIGN, unread=[("nft", "ipv4", "why")])["sets"][0]["readable"] is False


def test_dumps_of_nobody_knows_what_are_left_alone():
    assert backend_evidence([parse_save(KUBELET, "file", None, None)])["sets"] == []
