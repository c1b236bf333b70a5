#!/bin/sh
# The index that names it comes back as well: to make it anew takes 20 s on an emulated node.
set -eu
release=$(uname -r)
mv /root/taken/xt_MASQUERADE.ko.xz "/lib/modules/$release/kernel/net/netfilter/"
mv /root/taken/modules.* "/lib/modules/$release/"
