#!/bin/sh
# All that ipvs mode keeps: ipsets, rules, virtual servers, addresses. One virtual server has no real one, one address
# is gone.
set -eu
ipsets | ipset restore
rules | iptables-nft-restore --noflush
rules6 | ip6tables-nft-restore --noflush
virtual_servers | ipvsadm --restore
ip link add kube-ipvs0 type dummy
addresses | ip -batch -
ip address del 10.96.1.1/32 dev kube-ipvs0
pretend kubelet
pretend_kube_proxy --proxy-mode=ipvs
