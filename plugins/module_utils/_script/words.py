# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files are worth reading. PRIVATE to the collection.

A file without one of these words holds no command that changes the firewall, so it is never parsed. A few searches for
plain words take a third of the time of one search for a pattern of all of them; a pattern is used only where the word
was found.
"""

import re

# `tables` is in iptables, ip{,6}tables, nftables, ebtables and their -restore; variables often begin with IPT.
WORDS = (b"tables", b"IPT", b"nft", b"firewall", b"ufw", b"ipset", b"ipvsadm", b"netfilter", b"rmmod", b"modprobe",
         b"--cleanup", b"conntrack")
# Stricter patterns for words that everyday text contains too: tables, executables and tablespaces, SCRIPT and
# DESCRIPTION, a modprobe that loads a module and does not remove one, udevadm info --cleanup-db. Before `tables` stands
# the rest of the name, or syntax of a shell.
_MEANT = {b"tables": rb"(?:p|nf|eb|[xX]|(?<![A-Za-z\s]))tables(?!pace)", b"IPT": rb"(?<!SCR)IPT",
          b"modprobe": rb"(?:(?<![\w-])|(?<=\\[nt]))-(?:[a-z]*r|-remove)", b"--cleanup": rb"--cleanup(?!-db)",
          b"conntrack": rb"\bconntrack[ \t]+(?:-[a-zA-Z46]*F\b|--flush\b|-f[ \t]+ipv[46][ \t]+(?:-F\b|--flush\b))"}
# Modules of netfilter.
MODULE = re.compile(
    r"(?:ip6?_?tables?|ip6?table_\w+|ipt_\w+|ip6t_\w+|x_tables|xt_\w+|nf_\w+|nft_\w+|nfnetlink\w*|ip_set\w*|ip_vs\w*|"
    r"br_netfilter)\Z")
# Words of a script that may write settings of modprobe.d, sysctl.d or the kernel that matter here, and a command that
# applies them.
_SYSCTLS = (b"ip_forward", b"forwarding", b"bridge-nf-call")
_SETTINGS = ((b"modprobe.d", (b"blacklist", b"install")), (b"sysctl", _SYSCTLS), (b"/proc/sys/net", _SYSCTLS),
             (b"SYSCTL{", _SYSCTLS))
_APPLIES = re.compile(rb"\bsysctl[ \t]+(?:-\w+[ \t]+){0,4}(?:-\w*p\b|--load\b)")
# The command that starts the programs of a directory, and the whole command if the directory is literal text.
_STARTER = b"run-parts"
_STARTED = rb"run-parts(?:[ \t]+--?[\w-]*(?:=[^\s;|&()`]*)?)*[ \t]+(/[\w.+@/-]+)(?=[\s;|&)\"'`]|\Z)"


def mentions(data):
    """Whether the bytes hold a word of the firewall."""
    for word in WORDS:  # A loop: any() over a generator takes twice as long, and 20,000 files are checked.
        if word in data and (word not in _MEANT or re.search(_MEANT[word], data)):
            return True
    return False


def mentions_settings(data):
    """Whether the bytes hold words of a script that writes settings that netfilter depends on."""
    for place, words in _SETTINGS:  # A loop, as in mentions().
        if place in data and any(word in data for word in words):
            return True
    return b"sysctl" in data and _APPLIES.search(data) is not None


def folders_started(data):
    """Directories whose programs the bytes start, as bytes; None if one of them is not literal text."""
    if _STARTER not in data:
        return []
    found = re.findall(_STARTED, data)
    return found if len(found) == data.count(_STARTER) else None
