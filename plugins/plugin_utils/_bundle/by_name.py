# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a node that a bundle has without their folder, by their name and content. PRIVATE to the collection.

The paths of a node's files that a look reads.
"""

import re

# (name, what the content has, path on the node; %s is the name).
_PLACES = tuple((re.compile(name + r"\Z"), re.compile(content, re.MULTILINE), path) for name, content, path in (
    (r"rc\.local(?:\.txt|\.sh)?", r"", "/etc/rc.local"),
    (r"(?:etc[-_]network[-_])?interfaces(?:\.txt)?", r"^\s*iface \S+ inet", "/etc/network/interfaces"),
    (r"(?:etc[-_])?nftables\.conf(?:\.txt)?", r"^\s*(?:flush ruleset|include )|\A#!\S*nft\b", "/etc/nftables.conf"),
    (r"(?:etc[-_])?default[-_]ufw(?:\.txt)?|ufw", r"^DEFAULT_FORWARD_POLICY=", "/etc/default/ufw"),
    (r"ufw\.conf", r"^ENABLED=", "/etc/ufw/ufw.conf"),
    (r"(?:before|after|user)6?\.rules", r"ufw6?-", "/etc/ufw/%s"),
    (r"firewalld\.conf", r"^\s*(?:DefaultZone|FirewallBackend)=", "/etc/firewalld/%s"),
    (r"direct\.xml", r"<direct>", "/etc/firewalld/%s"),
    (r"ip6?tables-config", r"^IP6?TABLES_", "/etc/sysconfig/%s"),
    (r"wg[\w-]*\.conf", r"^\[Interface\]", "/etc/wireguard/%s"),
    (r"shorewall6?\.conf", r"^STARTUP_ENABLED=", "/etc/shorewall/%s"),
    (r".*", r"\A#cloud-config\b", "/var/lib/cloud/instance/user-data.txt"),
))
_CRON_NAME = re.compile(r"cron", re.IGNORECASE)
_TIME = r"^(?:@(?:reboot|hourly|daily|weekly|monthly)|[\d*/,-]+(?:[ \t]+[\w*/,-]+){4})[ \t]+"
_CRON, _WITH_USER = re.compile(_TIME + r"\S", re.MULTILINE), re.compile(_TIME + r"root[ \t]+\S", re.MULTILINE)
# Tasks of Ansible that run commands or empty chains.
_TASKS = re.compile(r"^\s*(?:- )?(?:ansible\.(?:builtin|legacy)\.)?(?:shell|command|raw|iptables):", re.MULTILINE)
_COMMAND = re.compile(r"\s*(?:- )?(?:(?:ansible\.(?:builtin|legacy)\.)?(?:shell|command|raw)|cmd):\s*(.*)\Z")
# A manifest with a privileged container, whose script stands in a list or in a block.
_MANIFEST = re.compile(r"^kind: *(?:DaemonSet|Deployment|Pod|Job|CronJob)\b", re.MULTILINE)
_RUN = re.compile(r".*[\"']([^\"']*\bip6?tables [^\"']*)[\"']|\s+(?:- )?((?:ip6?tables|nft) .*)\Z")
# A quote without its end is searched from each call to the end of the line.
_LINE = 2000
_CHANGES = re.compile(r"\b(?:ip6?tables(?:-restore)?|nft)\b[^\n]*\s(?:-[FXPADIZ]|--flush|--policy|flush|-f)\b"
                      r"|\bflush:")
_BLOCK = re.compile(r"[|>][-+]?\s*\Z")
_TABLE = re.compile(r"\s*table:\s*[\"']?(\w+)[\"']?\s*\Z")
_FLUSH, _LOOP = re.compile(r"\s*flush:\s*(?:true|yes|True)\s*\Z"), re.compile(r"\s*(?:loop|with_items):\s*\[([^\]]*)\]")


def path_of(name, head):
    """The path on the node of a file with this name and beginning, or None."""
    for pattern, content, path in _PLACES:
        if pattern.match(name) and content.search(head):
            return path % name if "%s" in path else path
    if _CRON_NAME.search(name) and _CRON.search(head):
        return "/etc/cron.d/bundle" if _WITH_USER.search(head) else "/var/spool/cron/crontabs/root"
    return None


def is_tasks(name, head):
    """Whether a file has tasks of Ansible, or a manifest whose containers run iptables."""
    return (name.endswith((".yml", ".yaml")) and bool(_CHANGES.search(head))
            and bool(_TASKS.search(head) or _MANIFEST.search(head)))


def script_of_tasks(text):
    """A script with the commands of tasks, each in its line; a `flush` of module iptables as its command."""
    lines, block, table = ["#!/bin/sh"], None, "filter"
    for line in text.split("\n")[1:]:
        indent = len(line) - len(line.lstrip())
        if block is not None and (indent > block or not line.strip()):
            lines.append(line.strip())
            continue
        block, found = None, _COMMAND.match(line)
        if re.match(r"\s*- ", line):
            table = "filter"
        named, loop = _TABLE.match(line), _LOOP.match(line)
        table, shown = named.group(1) if named else table, ""
        if found and _BLOCK.match(found.group(1)):
            block = indent
        elif found:
            shown = found.group(1).strip("\"'")
        elif _RUN.match(line[:_LINE]):
            shown = next(filter(None, _RUN.match(line[:_LINE]).groups()))
        elif _FLUSH.match(line):
            shown = "iptables -t %s -F" % table
        elif loop and any("iptables -t " in each for each in lines[-4:]):
            shown = "; ".join("iptables -t %s -F" % each for each in re.findall(r"\w+", loop.group(1))
                              if each in ("nat", "mangle", "raw"))
        lines.append(shown)
    return "\n".join(lines + [""])


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
