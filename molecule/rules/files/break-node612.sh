#!/bin/sh
# All that ipvs mode keeps: ipsets, rules, virtual servers, addresses. The real servers of two Services are gone, besides
# those of the one that has no endpoints, and so is one address.
set -eu
ipsets | ipset restore
rules | iptables-nft-restore --noflush
rules6 | ip6tables-nft-restore --noflush
virtual_servers | grep -v -e '-a -t 10\.96\.1\.[12]:' | ipvsadm --restore
ip link add kube-ipvs0 type dummy
addresses | ip -batch -
ip address del 10.96.1.1/32 dev kube-ipvs0
pretend kubelet
pretend_kube_proxy --proxy-mode=ipvs
