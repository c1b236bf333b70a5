#!/usr/bin/env bash
# moves this node from weave to flannel
set -o pipefail

function stop_all() {
    systemctl stop kubelet
    crictl ps -q | xargs -r crictl stop
}

function remove_weave_rules() {
    iptables --flush
    iptables -t nat --flush
    iptables -t mangle --flush
    iptables --delete-chain
    iptables -P INPUT ACCEPT && iptables -P FORWARD ACCEPT
    ip link delete weave || true
}

stop_all
remove_weave_rules
systemctl restart containerd
systemctl start kubelet
