#!/bin/bash
# This script is used to reset the kubernetes cluster of the tests

SCRIPT_PATH=$(dirname "$(readlink -f "$0")")
source "${SCRIPT_PATH}/../../lib/common.bash"

cri_runtime_socket="${CRI_SOCKET:-/var/run/crio/crio.sock}"

export KUBECONFIG="$HOME/.kube/config"
sudo -E kubeadm reset -f --cri-socket="${cri_runtime_socket}"

sudo ip link set dev cni0 down || true
sudo ip link set dev flannel.1 down || true
sudo ip link del cni0 || true
sudo ip link del flannel.1 || true

# if CI run in bare-metal, we need a set of extra clean
BAREMETAL="${BAREMETAL:-false}"
if [ "${BAREMETAL}" == true ] && [ -f "${SCRIPT_PATH}/cleanup_bare_metal_env.sh" ]; then
	bash -f "${SCRIPT_PATH}/cleanup_bare_metal_env.sh"
fi
