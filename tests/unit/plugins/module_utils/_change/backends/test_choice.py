# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend a node is meant to have."""

from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.backends.choice import choose_backend


def users(kubelet, proxy, kubelet6="none", proxy6="none"):
    return [("kubelet", "ipv4", kubelet), ("kubelet", "ipv6", kubelet6), ("kube-proxy", "ipv4", proxy),
            ("kube-proxy", "ipv6", proxy6)]


@cases
def test_auto(who, programs, has, backend, because):
    found, why = choose_backend("auto", who, programs, lambda name: name in has)
    assert found == backend and because in why
