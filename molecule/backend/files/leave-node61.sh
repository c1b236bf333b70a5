#!/bin/sh
# nft is in use. In legacy lie the rules of an earlier time, a firewall of the site, and kube-router, whose chains look
# like kube-proxy's.
set -eu
for name in kubelet.v4 kube-proxy.v4; do text "$name" | iptables-legacy-restore --noflush; done
text kubelet.v6 | ip6tables-legacy-restore --noflush
iptables-legacy -A INPUT -j KUBE-FIREWALL
iptables-legacy-restore --noflush <<'RULES'
*filter
:SITE - [0:0]
:KUBE-ROUTER-INPUT - [0:0]
:KUBE-POD-FW-ABCDEFGHIJKLMNOP - [0:0]
:KUBE-NWPLCY-DEFAULT - [0:0]
-A INPUT -j SITE
-A SITE -s 203.0.113.66/32 -m comment --comment "-A KUBE-SERVICES -j DROP" -j DROP
-A INPUT -m comment --comment "kube-router netpol" -j KUBE-ROUTER-INPUT
-A KUBE-ROUTER-INPUT -d 192.0.2.44/32 -j KUBE-POD-FW-ABCDEFGHIJKLMNOP
-A KUBE-POD-FW-ABCDEFGHIJKLMNOP -j KUBE-NWPLCY-DEFAULT
COMMIT
RULES
