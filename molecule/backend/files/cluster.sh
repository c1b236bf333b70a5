#!/bin/sh
# What the scripts of the nodes share.
put() { text "$3" > "$2"; chmod "$1" "$2"; }

# programs BACKEND: both families, as an administrator switches them.
programs() {
    update-alternatives --quiet --set iptables "/usr/sbin/iptables-$1"
    update-alternatives --quiet --set ip6tables "/usr/sbin/ip6tables-$1"
}

# kubelet and kube-proxy, which write with the programs they find, now and at each boot.
start_cluster() {
    mkdir -p /var/lib/stand-in
    for name in kubelet kube-proxy; do
        put 0755 "/usr/bin/$name" "$name"
        put 0644 "/etc/systemd/system/$name.service" "$name.service"
    done
    for name in kubelet.v4 kubelet.v6 kube-proxy.v6 metrics; do put 0644 "/var/lib/stand-in/$name" "$name"; done
    # Both would add these jumps where they are missing; a restore does not look, so they are left to the stand-in that
    # does.
    text kube-proxy.v4 | grep -v -e '-j KUBE-FIREWALL$' > /var/lib/stand-in/kube-proxy.v4
    systemctl daemon-reload
    systemctl --quiet enable kubelet kube-proxy
    systemctl start kubelet kube-proxy
    until ip6tables-save | grep -q KUBE-PROXY-CANARY && iptables -C INPUT -j KUBE-FIREWALL 2> /dev/null; do
        sleep 0.2
    done
}
