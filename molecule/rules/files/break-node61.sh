#!/bin/sh
# Rules of iptables mode in the nft backend, one jump of them deleted; rules of an earlier time in the legacy backend;
# and the lock of that one held by a program that does not let go, with a writer behind it.
set -eu
rules | iptables-nft-restore --noflush
rules6 | ip6tables-nft-restore --noflush
iptables-nft -t nat -D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
old_rules | iptables-legacy-restore --noflush
pretend kubelet
pretend_kube_proxy --proxy-mode=iptables
systemd-run --quiet --unit=holder flock /run/xtables.lock sleep infinity
until grep -q "FLOCK .*:$(stat -c %i /run/xtables.lock) " /proc/locks; do sleep 0.1; done
systemd-run --quiet --unit=writer iptables-legacy -w -N SITE
until grep -q -e '-> FLOCK' /proc/locks; do sleep 0.1; done
