#!/bin/sh
# A required module's file is gone and the index knows it: nothing on the node can load it.
set -eu
release=$(uname -r)
mkdir -p /root/taken
cp --archive "/lib/modules/$release"/modules.* /root/taken/
mv "/lib/modules/$release/kernel/net/netfilter/xt_MASQUERADE.ko.xz" /root/taken/
depmod "$release"
