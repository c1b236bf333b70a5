# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files are worth reading. PRIVATE to the collection.

A file without one of these words holds no command that changes the firewall, so it is never parsed. A few searches for plain words take
a third of what one search for a pattern of all of them takes.
"""

# tables is in iptables, ip6tables, ip{,6}tables, nftables, ebtables and their -restore; IPT begins the names people give to variables.
WORDS = (b"tables", b"IPT", b"nft", b"firewall", b"ufw", b"ipset", b"ipvsadm", b"netfilter", b"rmmod", b"modprobe", b"--cleanup")
# What starts others in a way that names none of them.
_STARTERS = (b"run-parts",)


def mentions(data):
    """Whether the bytes hold a word of the firewall."""
    for word in WORDS:  # A loop: any() over a generator takes twice as long, and 20,000 files are asked.
        if word in data:
            return True
    return False


def may_start_others(data):
    """Whether the bytes start programs of a directory."""
    return any(word in data for word in _STARTERS)
