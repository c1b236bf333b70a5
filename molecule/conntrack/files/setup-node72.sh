#!/bin/sh
# An option for the buckets, and no line for the limit, which is eight times as much then. kube-proxy is told to leave
# it alone.
configure 1.38.2 0 0
cat > /etc/modprobe.d/site.conf <<'CONF'
# site options
options nf_conntrack hashsize=2048
CONF
modprobe nf_conntrack
systemctl start kube-proxy
