# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of rules that a service loads, and what a script writes into them. PRIVATE to the collection.

A script that writes such a file changes no rule by that: the rules are lost when the file is loaded.
"""

import re

from .nft_script import forward_drops, taken_away

DROP, COPY = "policy drop in its forward chain", "all rules of the node, those of Kubernetes too"
# Debian, RHEL, Arch, Alpine; iptables-persistent; iptables-services; SPECS/iptables of Azure Linux and Photon; Gentoo
# and Flatcar.
NFTABLES = "nftables.service"
LOADERS = {
    "/etc/nftables.conf": NFTABLES, "/etc/nftables.nft": NFTABLES, "/etc/sysconfig/nftables.conf": NFTABLES,
    "/etc/iptables/rules.v4": "netfilter-persistent.service", "/etc/iptables/rules.v6": "netfilter-persistent.service",
    "/etc/iptables/iptables.rules": "iptables.service", "/etc/iptables/ip6tables.rules": "ip6tables.service",
    "/etc/sysconfig/iptables": "iptables.service", "/etc/sysconfig/ip6tables": "ip6tables.service",
    "/etc/systemd/scripts/ip4save": "iptables.service", "/etc/systemd/scripts/ip6save": "iptables.service",
    "/var/lib/iptables/rules-save": "iptables-restore.service",
    "/var/lib/ip6tables/rules-save": "ip6tables-restore.service"}
# The main file includes them, on nodes that have them. `?` stands for a name that is not shown (Streams).
_INCLUDED = re.compile(r"/etc/nftables(?:\.d)?/(?:[\w.?-]+/)*[\w.?-]+\.(?:nft|conf|rules)\Z")
# What the save command of a service writes.
SAVED_BY = {
    "netfilter-persistent": ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6"),
    "iptables": ("/etc/sysconfig/iptables",), "ip6tables": ("/etc/sysconfig/ip6tables",)}
_IPTABLES_DROP = re.compile(r"(?m)^[ \t]*:FORWARD[ \t]+DROP\b")
_IPTABLES_ACCEPTS = re.compile(r"(?m)^[ \t]*-[AI][ \t]+FORWARD\b(?!.*ESTABLISHED)(?!.*-j[ \t]+(?:DROP|REJECT|LOG)\b)"
                               r".*-[jg]")


def loader_of(path):
    """The unit that loads a file of rules, None for any other file."""
    return LOADERS.get(path) or (NFTABLES if _INCLUDED.match(path) else None)


def harmful_rules(text):
    """What a load of these rules does to those of Kubernetes, in a few words each."""
    statements = [text[start:end] for start, end, _what in taken_away(text)]
    found = []
    for statement in statements:
        words = " ".join(statement.split())
        found += [words] if words not in found else []
    # A policy beside a flush is reported as it is; alone it may be meant for a chain that accepts what pods need.
    drops = forward_drops(text)
    iptables = _IPTABLES_DROP.search(text) is not None
    if drops if found else False in drops or iptables and not _IPTABLES_ACCEPTS.search(text):
        found.append(DROP)
    return tuple(found)
