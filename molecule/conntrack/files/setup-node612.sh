#!/bin/sh
# Three who write the limit at a boot, one after the other: two files of sysctl.d and ufw. Their lines come too early
# for br_netfilter, which docker loads, and for nf_conntrack, which ufw loads. kube-proxy is told to leave the limit
# alone.
configure 1.34.1 0 0
cat > /etc/sysctl.d/99-team.conf <<'CONF'
net.netfilter.nf_conntrack_max = 32768
net.netfilter.nf_conntrack_udp_timeout = 45
net.bridge.bridge-nf-call-iptables = 1
CONF
cat > /etc/sysctl.d/zz-site.conf <<'CONF'
# site limits
net.netfilter.nf_conntrack_max = 8192
CONF
mkdir -p /etc/ufw /etc/docker
echo 'ENABLED=yes' > /etc/ufw/ufw.conf
echo 'IPT_SYSCTL=/etc/ufw/sysctl.conf' > /etc/default/ufw
cat > /etc/ufw/sysctl.conf <<'CONF'
# Behind the rules of ufw.
net/ipv4/conf/all/accept_redirects=0
net/netfilter/nf_conntrack_max=4096
CONF
chmod 0640 /etc/ufw/sysctl.conf
echo '{"log-driver": "json-file"}' > /etc/docker/daemon.json
systemctl --quiet enable docker ufw
systemctl start ufw docker kube-proxy
