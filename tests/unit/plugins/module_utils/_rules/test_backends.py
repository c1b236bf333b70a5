# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend holds which rules, and whether two backends conflict."""

import itertools

import pytest

import backend_rules as texts
import kube_cluster
import kube_dumps
from node_processes import needs_root
from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.backends import backend_evidence
from parsed_texts import parse_save

DROPPING, FOREIGN, KUBELET, POLICY, PROXY = texts.DROPPING, texts.FOREIGN, texts.KUBELET, texts.POLICY, texts.PROXY
# These are named in rows.
CALICO, EMPTY, FLUSHED, HINT = texts.CALICO, texts.EMPTY, texts.FLUSHED, texts.HINT
IPVS, KUBE_ROUTER = texts.IPVS, texts.KUBE_ROUTER
INCOMPATIBLE = "# Table `nat' is incompatible, use 'nft' tool.\n"


def evidence(nft="", legacy="", unread=(), family="ipv4"):
    sets = [parse_save(text, "live", family, backend) for backend, text in (("nft", nft), ("legacy", legacy)) if text]
    return backend_evidence(sets, unread)


def verdict(*args, **kwargs):
    return evidence(*args, **kwargs)["mixing"]["verdict"]


def test_rows_and_their_order():
    sets = [parse_save(KUBELET + PROXY, "live", family, "nft")
            for family in ("ipv6", "ipv4")] + [parse_save(FOREIGN, "live", "ipv4", "legacy")]
    found = backend_evidence(sets)
    assert found["sets"][0] == {"backend": "nft", "family": "ipv4", "readable": True, "rules": 5, "kube_rules": 3,
                                "drops": 1, "hint": True, "kubelet_canary": True, "proxy_canary": True}
    assert [(row["backend"], row["family"])
            for row in found["sets"]] == [("nft", "ipv4"), ("nft", "ipv6"), ("legacy", "ipv4")]
    assert found["kubelet_backend"] == found["kube_proxy_backend"] == {"ipv4": "nft", "ipv6": "nft"}


@cases
def test_mixing(nft, legacy, word):
    found = evidence(nft, legacy)["mixing"]
    assert found["verdict"] == word and found["because"]


def test_kubernetes_in_another_backend_for_each_family():
    sets = [parse_save(KUBELET + PROXY, "live", "ipv4", "nft"), parse_save(KUBELET + PROXY, "live", "ipv6", "legacy")]
    assert backend_evidence(sets)["mixing"]["verdict"] == "suspicious"


def test_drops_of_two_families_do_not_meet():
    sets = [parse_save(DROPPING, "live", "ipv4", "nft"), parse_save(POLICY, "live", "ipv6", "legacy")]
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
    assert (found["sets"][0]["readable"] is False and found["mixing"]["verdict"] == "unknown"
            and found["kube_proxy_backend"]["ipv4"] is None)


def test_a_backend_that_could_not_be_read():
    found = evidence(KUBELET + PROXY, unread=[("legacy", "ipv4", "iptables-legacy-save did not end within 60 seconds")])
    assert found["mixing"] == {"verdict": "unknown", "because": "not all rules could be read: iptables-legacy-save did "
                                                                "not end within 60 seconds"}
    assert found["sets"][1] == {"backend": "legacy", "family": "ipv4", "readable": False, "rules": None,
                                "kube_rules": None, "drops": None, "hint": None, "kubelet_canary": None,
                                "proxy_canary": None}
    assert found["kubelet_backend"] == {"ipv4": "nft", "ipv6": "none"}
    assert evidence(FOREIGN, unread=[("legacy", "ipv4", "why")])["kubelet_backend"]["ipv4"] is None
    # One unread table of a backend whose other tables were read.
    assert evidence(FOREIGN, unread=[("nft", "ipv4", "why")])["sets"][0]["readable"] is False


def test_dumps_of_nobody_knows_what_are_left_alone():
    assert backend_evidence([parse_save(KUBELET, "file", None, None)])["sets"] == []


@needs_root
@pytest.mark.parametrize("version, mode, backend",
                         list(itertools.product([(1, 24), (1, 30)], ["iptables", "ipvs"], ["nft", "legacy"])))
def test_healthy_nodes(version, mode, backend):
    dumps = {family: kube_dumps.node_dump(version, mode, backend, kube_cluster.every_kind(family))[0]
             for family in ("ipv4", "ipv6")}
    found = backend_evidence([parse_save(dumps[family], "live", family, backend) for family in sorted(dumps)])
    assert found["mixing"]["verdict"] == "none" and all(row["readable"] for row in found["sets"])
    assert found["kubelet_backend"] == found["kube_proxy_backend"] == {"ipv4": backend, "ipv6": backend}
    for row in found["sets"]:
        lines = dumps[row["family"]].splitlines()
        assert row["rules"] == len([line for line in lines if line.startswith("-A ")])
        # The rules that kube-proxy counts for its metric sync_proxy_rules_iptables_total.
        assert row["kube_rules"] == len([line for line in lines if line.startswith("-A KUBE-")])
