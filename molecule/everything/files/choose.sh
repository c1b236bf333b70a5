#!/bin/sh
# What comes before the cluster is installed; the argument is the name of the node.
set -eu
programs() {
    update-alternatives --quiet --set iptables "/usr/sbin/iptables-$1"
    update-alternatives --quiet --set ip6tables "/usr/sbin/ip6tables-$1"
}
if [ "$1" = node61 ]; then programs legacy; fi
