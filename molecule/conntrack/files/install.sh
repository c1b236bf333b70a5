#!/bin/sh
# What all nodes get: the stand-ins, and a look at the sysctls of the next boot.
set -eu
mkdir -p /usr/local/lib/stand-in /var/lib/kube-proxy
for program in kube-proxy flows keep-sysctls; do put 0755 "/usr/local/lib/stand-in/$program" "$program"; done
for unit in kube-proxy early-sysctls docker ufw flows-serve flows-open; do put 0644 "/usr/lib/systemd/system/$unit.service" "$unit.service"; done
systemctl daemon-reload

# configure VERSION MAX_PER_CORE MIN: what kube-proxy is and is told
configure() {
    echo "$1" > /var/lib/kube-proxy/version
    cat > /var/lib/kube-proxy/config.conf <<CONF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
conntrack:
  maxPerCore: $2
  min: $3
CONF
}
systemctl --quiet enable early-sysctls kube-proxy
