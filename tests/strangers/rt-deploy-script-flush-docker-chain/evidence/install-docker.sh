#!/bin/bash
# runs on the deploy machine (may be node1) before the playbook
set -e
tar -xf docker-static.tgz -C /usr/local/bin
sudo iptables --wait -P INPUT ACCEPT && \
    sudo iptables --wait -F && \
    sudo iptables --wait -X && \
    sudo iptables --wait -F -t nat && \
    sudo iptables --wait -X -t nat && \
    sudo iptables --wait -F -t raw && \
    sudo iptables --wait -X -t raw && \
    sudo iptables --wait -F -t mangle && \
    sudo iptables --wait -X -t mangle
systemctl enable --now docker
