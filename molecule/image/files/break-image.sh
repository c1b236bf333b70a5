#!/bin/sh
# Both kernels lose a module to a rule; only one loses a file. A service of the site flushes when it is started or
# stopped. One of the two families is switched to the other backend.
set -eu
tree=$1
printf 'install xt_comment /bin/true\n' > "$tree/etc/modprobe.d/site.conf"
cat > "$tree/etc/systemd/system/site-firewall.service" <<'UNIT'
[Unit]
Description=Firewall of the site
After=network.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/iptables -F
ExecStop=/usr/sbin/iptables -t nat -F

[Install]
WantedBy=multi-user.target
UNIT
mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
ln -s ../site-firewall.service "$tree/etc/systemd/system/multi-user.target.wants/site-firewall.service"
modules=$(echo "$tree"/usr/lib/modules/6.12.*)
rm "$modules/kernel/net/netfilter/xt_statistic.ko.xz"
depmod -b "$tree" "${modules##*/}"
chroot "$tree" update-alternatives --quiet --set ip6tables /usr/sbin/ip6tables-legacy
