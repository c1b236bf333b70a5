# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend a node is meant to have."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.backends.choice import choose_backend


def users(kubelet, proxy, kubelet6="none", proxy6="none"):
    return [("kubelet", "ipv4", kubelet), ("kubelet", "ipv6", kubelet6), ("kube-proxy", "ipv4", proxy),
            ("kube-proxy", "ipv6", proxy6)]


@pytest.mark.parametrize(
    "who, programs, has, backend, because", [
        (users("legacy", "legacy"), "nft", ("nft", "legacy"), "legacy",
         "kubelet (ipv4) and kube-proxy (ipv4) have chains in it"),
        (users("both", "nft"), "legacy", ("nft",), "nft", "kube-proxy (ipv4) has chains in it"),
        (users("nft", "legacy"), "nft", ("nft",), None,
         "kubelet (ipv4) in the nft backend and kube-proxy (ipv4) in the legacy backend; give backend: nft or backend: "
         "legacy"),
        (users("nft", "nft", "legacy"), "nft", ("nft",), None, "give backend: nft or backend: legacy"),
        (users("both", "both"), "nft", ("nft",), None, "have chains in both backends"),
        (users(None, None), "nft", ("nft",), None, "could not be read"),
        (users("none", "none"), "legacy", ("nft", "legacy"), "legacy", "the node's iptables programs use it"),
        (users("none", "none"), "mixed", ("nft", "legacy"), "nft", "differ"),
        ([], "mixed", ("legacy",), "legacy", "differ"), ([], "mixed", (), None, "neither"),
        ([], "nft", (), "nft", "the node's iptables programs"),
    ])
def test_auto(who, programs, has, backend, because):
    found, why = choose_backend("auto", who, programs, lambda name: name in has)
    assert found == backend and because in why


def test_what_was_asked_for_counts():
    assert choose_backend("legacy", users("nft", "nft"), "nft", None) == ("legacy", "the option backend names it")
