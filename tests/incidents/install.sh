#!/bin/sh
# A node with stand-ins for kubelet, kube-proxy and containerd, and one pod. Nothing flushes its rules; the firewall of
# molecule/hooks lies in /var/lib/stand-in. `put` comes before this text, see molecule/hooks/files/write_script.py.
set -eu
mkdir -p /var/lib/stand-in /etc/cni/net.d /opt/cni/bin /etc/systemd/scripts
for name in kubelet.v4 kubelet.v6 kube-proxy.v4 kube-proxy.v6 metrics iptables.service ip4save ip6save; do
    put 0644 "/var/lib/stand-in/$name" "$name"
done
for name in iptables iptables.stop; do put 0755 "/var/lib/stand-in/$name" "$name"; done
for plugin in ptp host-local; do put 0755 "/opt/cni/bin/$plugin" containerd; done
put 0755 /usr/bin/containerd containerd
put 0644 /etc/cni/net.d/10-pods.conflist 10-pods.conflist
put 0644 /usr/local/lib/pod pod
for name in kubelet kube-proxy containerd; do put 0644 "/etc/systemd/system/$name.service" "$name.service"; done

# As kubelet and kube-proxy write: a jump only where it is missing, and all rules of a family again once their canary in
# table mangle is gone (kubernetes pkg/util/iptables/iptables.go, EnsureRule and Monitor).
cat > /usr/local/lib/owner <<'TEXT'
write() { # write OWNER FAMILY
    grep -v '^-I ' "/var/lib/stand-in/$1.v$2" | $(tool "$2")-restore --wait --noflush || return
    while read -r first rest; do
        case $first in
            \**) table=${first#?} ;;
            -I) eval "$(tool "$2") --wait -t $table -C $rest 2> /dev/null || $(tool "$2") --wait -t $table -I $rest" ;;
        esac
    done < "/var/lib/stand-in/$1.v$2"
}
tool() { if [ "$1" = 4 ]; then echo iptables; else echo ip6tables; fi; }
watch() { # watch OWNER CANARY FAMILY...
    owner=$1 canary=$2
    shift 2
    while sleep 2; do
        for family; do
            $(tool "$family") --wait -t mangle -S "$canary" > /dev/null 2>&1 || write "$owner" "$family"
        done
    done
}
TEXT
cat > /usr/bin/kubelet <<'TEXT'
#!/bin/sh
# While /run/gap is there it fails, and it never tries again, as after a flush between two of its commands.
case ${1:-} in --version) echo "Kubernetes v1.34.0"; exit ;; esac
. /usr/local/lib/owner
well=
for family in 4 6; do
    said="Failed to initialize iptables rules; some functionality may be missing."
    if [ ! -e /run/gap ] && write kubelet $family; then
        said="Initialized iptables rules." well="$well $family"
    fi
    echo "I1008 05:38:38.192213    2825 kubelet_network_linux.go:58] \"$said\" protocol=\"IPv$family\""
done
watch kubelet KUBE-KUBELET-CANARY $well
TEXT
cat > /usr/bin/kube-proxy <<'TEXT'
#!/usr/bin/env bash
. /usr/local/lib/owner
echo kube-proxy > /proc/self/comm
write kube-proxy 4
write kube-proxy 6
python3 /var/lib/stand-in/metrics &
until { exec 3<> /dev/tcp/127.0.0.1/6443; } 2> /dev/null; do sleep 0.2; done
watch kube-proxy KUBE-PROXY-CANARY 4 6
TEXT
chmod 0755 /usr/bin/kubelet /usr/bin/kube-proxy
sed -i '/^:KUBE-FIREWALL /a -I INPUT -j KUBE-FIREWALL\n-I OUTPUT -j KUBE-FIREWALL' /var/lib/stand-in/kubelet.v4
# What cron reads counts only where cron runs.
printf '[Service]\nExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' > \
    /etc/systemd/system/cron.service
systemctl daemon-reload
systemctl --quiet enable --now kubelet
systemctl --quiet enable --now kube-proxy containerd cron
until iptables-save -t nat | grep -q KUBE-POSTROUTING && [ -e /proc/net/tcp ] && grep -q 0100007F:2809 /proc/net/tcp; do
    sleep 0.2
done
python3 /usr/local/lib/pod create
