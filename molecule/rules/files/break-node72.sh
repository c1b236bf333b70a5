#!/bin/sh
# The table of nftables mode, without the base chain that leads to the Services and without the refusal for one that has
# no endpoint.
set -eu
rules | iptables-nft-restore --noflush
rules6 | ip6tables-nft-restore --noflush
tables | nft -f -
nft flush chain ip kube-proxy nat-prerouting
nft delete chain ip kube-proxy nat-prerouting
nft flush map ip kube-proxy no-endpoint-services
pretend kubelet
pretend_kube_proxy --proxy-mode=nftables
