#!/bin/sh
# A fresh node whose groups differ, and whose kernel has lost the legacy tables, as kernels are built without them from
# 6.17 on.
set -eu
update-alternatives --quiet --set ip6tables /usr/sbin/ip6tables-legacy
rm /usr/lib/modules/*/kernel/net/ipv4/netfilter/ip_tables.ko*
