#!/usr/bin/env bash
# A checkout is no collection path. This makes one that leads to it, for running from the checkout.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .build/ansible_collections/kubenode
ln -sfn ../../.. .build/ansible_collections/kubenode/netfilter
