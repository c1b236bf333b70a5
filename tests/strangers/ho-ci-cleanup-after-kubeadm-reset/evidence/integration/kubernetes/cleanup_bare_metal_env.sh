#!/bin/bash

set -o errexit
set -o nounset
set -o pipefail

# kubeadm reset leaves the iptables rules of the cluster behind
sudo iptables -F && iptables -t nat -F && iptables -t mangle -F && iptables -X

# nor does it remove the kubeconfig
sudo -E rm -rf "$HOME/.kube"

# Remove existing CNI configurations and binaries.
sudo sh -c 'rm -rf /var/lib/cni'
sudo sh -c 'rm -rf /opt/cni/bin/*'

# cleanup stale file under /run
sudo sh -c 'rm -rf /run/flannel'
