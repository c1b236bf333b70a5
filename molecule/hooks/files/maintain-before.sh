#!/bin/sh
# What the incident was: maintenance, and a kubelet whose only attempt met the gap, which leaves it without its chains.
set -eu
maintain-node
cp /var/log/watch-chains /var/log/watch-chains.before
systemctl stop watch-chains
for tool in iptables ip6tables; do
    $tool -t mangle -X KUBE-IPTABLES-HINT
    for table in mangle nat filter; do $tool -t "$table" -X KUBE-KUBELET-CANARY; done
done
touch /run/gap
systemctl restart kubelet
until journalctl --quiet --unit=kubelet --output=cat | grep -q 'Failed.*"IPv6"'; do sleep 0.2; done
rm /run/gap
