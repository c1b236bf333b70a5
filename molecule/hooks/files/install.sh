#!/bin/sh
# Everything into its place, and started as at a boot.
set -eu
mkdir -p /etc/systemd/scripts /etc/cron.weekly /var/lib/stand-in
ln -s /usr/local/sbin/maintain-node /etc/cron.weekly/maintain-node
put 0644 /usr/lib/systemd/system/iptables.service iptables.service
put 0755 /etc/systemd/scripts/iptables iptables
put 0755 /etc/systemd/scripts/iptables.stop iptables.stop
put 0640 /etc/systemd/scripts/ip4save ip4save
put 0640 /etc/systemd/scripts/ip6save ip6save
put 0750 /usr/local/sbin/maintain-node maintain-node
put 0755 /usr/bin/kubelet kubelet
put 0755 /usr/bin/kube-proxy kube-proxy
put 0644 /usr/local/sbin/watch-chains watch-chains
for unit in kubelet kube-proxy watch-chains; do put 0644 "/etc/systemd/system/$unit.service" "$unit.service"; done
for text in kubelet.v4 kubelet.v6 kube-proxy.v4 kube-proxy.v6 metrics; do
    put 0644 "/var/lib/stand-in/$text" "$text"
done
# kube-proxy looks first whether these are there; its stand-in does not, and kubelet's adds them.
sed -i '/-j KUBE-FIREWALL$/d' /var/lib/stand-in/kube-proxy.v4
systemctl daemon-reload
systemctl --quiet enable iptables kubelet kube-proxy watch-chains
systemctl start iptables
systemctl start kubelet kube-proxy watch-chains
until grep -q '"looks": 10,' /var/log/watch-chains 2>/dev/null; do sleep 0.2; done
