#!/bin/sh
# An option for the buckets, and no line for the limit; and a kube-proxy that puts back whatever the limit was raised to.
configure 1.30.14 8192 16384
cat > /etc/modprobe.d/site.conf <<'CONF'
# site options
options nf_conntrack hashsize=2048
CONF
modprobe nf_conntrack
systemctl start kube-proxy
