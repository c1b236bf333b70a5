#!/bin/sh
# Connections between two namespaces, through this one, fill a table that somebody made small; kube-proxy puts back
# whatever the limit is raised to. ssh is left out of the table, or nobody could look.
configure 1.30.4 8192 16384
echo 'net.netfilter.nf_conntrack_max = 1024' > /etc/sysctl.d/99-site.conf
modprobe nf_conntrack
systemctl start kube-proxy
sysctl --quiet --write net.ipv4.ip_forward=1 net.netfilter.nf_conntrack_max=1024
ip netns add outer
ip netns add inner
ip link add to-outer type veth peer name pod netns outer
ip link add to-inner type veth peer name pod netns inner
ip address add 192.0.2.1/25 dev to-outer
ip address add 192.0.2.129/25 dev to-inner
ip -n outer address add 192.0.2.2/25 dev pod
ip -n inner address add 192.0.2.130/25 dev pod
ip link set to-outer up
ip link set to-inner up
for name in outer inner; do ip -n "$name" link set pod up; done
ip -n outer route add default via 192.0.2.1
ip -n inner route add default via 192.0.2.129
nft --file - <<'RULES'
table ip flows {
    chain in { type filter hook prerouting priority raw; tcp dport 22 notrack; }
    chain out { type filter hook output priority raw; tcp sport 22 notrack; }
    chain through { type filter hook forward priority filter; ct state new,established counter accept; }
}
RULES
systemctl start flows-serve flows-open
wait-until python3 /usr/local/lib/stand-in/flows dropped 100 > /dev/null
