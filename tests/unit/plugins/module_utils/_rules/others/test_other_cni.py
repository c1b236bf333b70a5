# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network plugins beside each other: what was left behind, and who works together."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.other_cni import ask_other_cni

CHAINS = {"calico": "cali-FORWARD", "flannel": "FLANNEL-FWD", "weave": "WEAVE-NPC", "cilium": "CILIUM_FORWARD",
          "kube_router": "KUBE-NWPLCY-ABCDEFGH", "aws": "AWS-SNAT-CHAIN-0", "portmap": "CNI-HOSTPORT-DNAT"}


def ask(*plugins):
    lines = ["*filter", ":FORWARD ACCEPT [0:0]"] + [":%s - [0:0]" % CHAINS[name] for name in plugins]
    lines += ["-A %s -j ACCEPT" % CHAINS[name] for name in plugins for _number in range(1 + sorted(CHAINS).index(name))]
    return [(row["kind"], row["chain"]) for row in ask_other_cni([texts.read("\n".join(lines + ["COMMIT", ""]))])]


@pytest.mark.parametrize("one, other, told",
                         [
                             ("calico", "weave", "cali-FORWARD"), ("flannel", "weave", "FLANNEL-FWD"),
                             ("cilium", "weave", "CILIUM_FORWARD"), ("calico", "cilium", "cali-FORWARD"),
                             ("cilium", "flannel", "CILIUM_FORWARD"), ("calico", "kube_router", "cali-FORWARD")])
def test_a_plugin_that_was_left_behind(one, other, told):
    assert ask(one, other) == ask(other, one) == [("other_cni", told)]


@pytest.mark.parametrize("plugins", [("calico",), ("calico", "flannel"), ("flannel", "kube_router"), ("aws", "calico"),
                                     ("aws", "cilium"), ("calico", "portmap"), ()])
def test_plugins_that_work_together(plugins):
    assert ask(*plugins) == []


def test_empty_chains_refuse_nobody():
    text = "*filter\n:FORWARD ACCEPT [0:0]\n:cali-FORWARD - [0:0]\n:WEAVE-NPC - [0:0]\n-A WEAVE-NPC -j DROP\nCOMMIT\n"
    assert list(ask_other_cni([texts.read(text)])) == []
