# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of a node's files that a look reads. PRIVATE to the collection."""

import re

# Files that keep their path, wherever the tree begins.
SYSTEM = re.compile(
    r"(?:.*/)?((?:etc/(?:sysctl\.d|modprobe\.d|modules-load\.d|systemd|cron|init\.d|rc\d?\.d|rc\.local|network|"
    r"NetworkManager|networkd-dispatcher|iptables|sysconfig|nftables|ufw|firewalld|cloud|cni/net\.d|alternatives|tuned|"
    r"conf\.d|udev|logrotate|apt|dnf|dpkg|local\.d|runlevels|if-|dhcp/dhclient-|keepalived|monit|supervisor|"
    r"openvpn/[\w./-]+\.conf|incron\.d|acpi/events|ppp/ip|libvirt/hooks|ha\.d|ucarp|ifplugd)"
    r"[^\0]*|etc/(?:sysctl\.conf|modules|os-release|debian_version|default/ufw|rc\.local|(?:ana)?crontab"
    r"|nftables\.conf|ethertypes)"
    r"|proc/(?:modules|cmdline|meminfo|stat|uptime|version|config\.gz|sys/.+|net/.+)|sys/(?:module|kernel/slab/nf_"
    r"conntrack)/.+"
    r"|run/flannel/subnet\.env|boot/(?:config-.+|loader/.+|grub2?/.+)|(?:usr/)?lib/modules/.+"
    r"|(?:usr/|usr/local/)?lib/(?:sysctl\.d|modprobe\.d|modules-load\.d|systemd/system|os-release|tuned/).*"
    r"|run/(?:sysctl\.d|modprobe\.d|modules-load\.d|systemd)/.+|usr/local/s?bin/.+|(?:usr/)?s?bin/(?:ip6?tables|"
    r"xtables|arptables|ebtables)[^/]*|(?:usr/)?sbin/if(?:up|down)-(?:pre-)?local"
    r"|(?:(?:usr/)?lib/dhcpcd|(?:usr/)?libexec)/dhcpcd-hooks/[\w.~-]+|etc/dhcpcd\.(?:enter|exit)-hook"
    r"|var/lib/(?:dpkg/alternatives|alternatives|cloud)/.+|var/spool/cron/.+|etc/(?:shorewall|firehol|ferm|wireguard)/"
    r"[\w.-]+))\Z")
