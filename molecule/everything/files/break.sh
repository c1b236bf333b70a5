#!/bin/sh
# What comes after the cluster was installed; the argument is the name of the node.

# Modules: one is blocked, and none is listed for the boot.
cat > /etc/modprobe.d/site.conf <<'CONF'
# site rules
install xt_statistic /bin/true
blacklist xt_comment
CONF

# Connection tracking and sysctls: small now, and another file has the last word at the boot.
cat > /etc/sysctl.d/zz-site.conf <<'CONF'
# site rules
net.netfilter.nf_conntrack_max = 4096
net.ipv4.ip_forward = 0
CONF
modprobe nf_conntrack
sysctl --quiet --load /etc/sysctl.d/zz-site.conf

# Hooks: the maintenance met a kubelet that was setting up its chains.
systemctl --quiet disable --now watch-chains
maintain-node

# Pods: the packet filter starts once more, with the rules that were saved before this pod was created.
python3 /usr/local/lib/pod create
systemctl restart iptables

for tool in iptables ip6tables; do
    $tool -t mangle -X KUBE-IPTABLES-HINT
    for table in mangle nat filter; do $tool -t "$table" -X KUBE-KUBELET-CANARY; done
done
touch /run/gap
systemctl restart kubelet
until journalctl --quiet --unit=kubelet --output=cat | grep -q 'Failed.*"IPv6"'; do sleep 0.2; done
rm /run/gap

# Rules: a jump that leads to all Services is gone, and kube-proxy notices nothing.
case $1 in
    node61 | node612) iptables -t nat -D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES \
        ;;
esac

# Backends: somebody switched the programs under a running cluster, on one node those of one family alone.
case $1 in
    node61) programs nft ;;
    node612) programs legacy ;;
    *) update-alternatives --quiet --set ip6tables /usr/sbin/ip6tables-legacy ;;
esac
