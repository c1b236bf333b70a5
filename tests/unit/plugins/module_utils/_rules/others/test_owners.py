# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose chain is whose, and what each owner holds."""

import chain_texts as texts
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._rules.others.owners import count_owners, owner_of


@pytest.mark.parametrize(
    "owner, chains", [
        ("kube_proxy", "KUBE-SERVICES KUBE-SVC-AAAAAAAAAAAAAAAA KUBE-MARK-MASQ KUBE-POSTROUTING KUBE-PROXY-CANARY "
                       "KUBE-FORWARD KUBE-IPVS-FILTER KUBE-NODE-PORT"),
        ("kubelet",
         "KUBE-IPTABLES-HINT KUBE-KUBELET-CANARY KUBE-MARK-DROP KUBE-FIREWALL KUBE-HOSTPORTS KUBE-HP-AAAAAAAAAAAAAAAA"),
        ("kube_router", "KUBE-ROUTER-INPUT KUBE-ROUTER-SERVICES KUBE-POD-FW-AAAAAAAAAAAAAAAA KUBE-NWPLCY-DEFAULT "
                        "KUBE-NWPLCY-AAAAAAAAAAAAAAAA"), ("calico", "cali-INPUT cali-tw-cali12ac34ef5 cali-pi-_abc"),
        ("flannel", "FLANNEL-FWD FLANNEL-POSTRTG"), ("cilium", "CILIUM_INPUT OLD_CILIUM_POST_nat"),
        ("weave", "WEAVE WEAVE-NPC-EGRESS WEAVE-CANARY"), ("aws", "AWS-SNAT-CHAIN-0 AWS-CONNMARK-CHAIN-1"),
        ("azure_npm", "AZURE-NPM AZURE-NPM-INRGESS-DROPS"),
        ("portmap", "CNI-HOSTPORT-DNAT CNI-HOSTPORT-SETMARK CNI-DN-4b4398da9cebdf54f85fe CNI-SN-4b4398da9cebdf54f85fe"),
        ("cni", "CNI-FORWARD CNI-ADMIN CNI-ISOLATION-STAGE-1 CNI-da496b9a098ae9e1e87cd049"),
        ("docker", "DOCKER DOCKER-USER DOCKER-ISOLATION-STAGE-1 DOCKER-FORWARD DOCKER_OUTPUT"),
        ("ufw", "ufw-before-input ufw6-user-forward"),
        ("firewalld", "INPUT_direct INPUT_ZONES_SOURCE IN_public_allow FWDI_public FORWARD_IN_ZONES FWD_docker_log "
                      "POST_trusted POSTROUTING_ZONES"),
        ("other", "INPUT FORWARD MYCHAIN f2b-sshd LIBVIRT_INP WEAVER kube-services DOCKERISH CALI-X ACCEPT"),
    ])
def test_a_name_tells_its_owner(owner, chains):
    assert [(chain, owner_of(chain)) for chain in chains.split()] == [(chain, owner) for chain in chains.split()]


def test_kube_firewall_of_nat_is_not_kubelets():
    assert [owner_of("KUBE-FIREWALL", table) for table in ("nat", "filter")] == ["kube_proxy", "kubelet"]


@pytest.mark.parametrize("family, localnet", [("ipv4", 1), ("ipv6", 0)])
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_what_each_holds(family, localnet, backend):
    text = texts.adding(texts.healthy(family, backend), "filter", ":DOCKER-USER - [0:0]", "-A FORWARD -j DOCKER-USER",
                        "-A DOCKER-USER -j RETURN", "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT")
    # kube-proxy: 9 jumps and 3 rules of filter, 3 jumps, 4 rules and 3 Services of 5 rules, a node port and its chain
    # of nat.
    assert count_owners(texts.read(text)) == [
        {"owner": "docker", "family": family, "backend": backend, "rules": 2, "chains": 1},
        {"owner": "kube_proxy", "family": family, "backend": backend, "rules": 9 + 3 + 3 + 4 + 15 + 4,
         "chains": 1 + 6 + 5 + 7},
        {"owner": "kubelet", "family": family, "backend": backend, "rules": 2 + localnet, "chains": 2 + 2 + 1},
        {"owner": "other", "family": family, "backend": backend, "rules": 1, "chains": 0},
    ]


def test_of_a_table_that_was_cut_off_counts_what_was_read():
    text = texts.healthy()
    assert count_owners(texts.read(text[:text.index("-A FORWARD")])) == [
        {"owner": "kube_proxy", "family": "ipv4", "backend": "nft", "rules": 3, "chains": 7},
        {"owner": "kubelet", "family": "ipv4", "backend": "nft", "rules": 1, "chains": 4}]
