# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages that kubelet logs when it creates its chains, which it does once. PRIVATE to the collection.

Samples, from kubernetes pkg/kubelet/kubelet_network_linux.go; 1.20, the releases before 1.24, and 1.24 on:
    W1121 10:00:00.000000     812 kubelet_network_linux.go:75] Failed to initialize IPv4 iptables rules; some
    functionality may be missing. I1121 ... kubelet_network_linux.go:80] "Failed to initialize protocol iptables rules;
    some functionality may be missing." protocol=IPv4 I1121 ... kubelet_network_linux.go:58] "Failed to initialize
    iptables rules; some functionality may be missing." protocol="IPv4"
and `Initialized ... iptables rules.` in the same three forms. k0s wraps the line in one of its own and escapes the
quotes.
"""

import re

# Pattern for the journal, all in lower case: journalctl then ignores case.
PATTERN = "(failed to initialize|initialized) .*iptables rules"

_LINE = re.compile(
    r"(Failed to initialize|Initialized) (?:(IPv[46]) |protocol )?iptables rules(?:; some functionality may be "
    r"missing)?\."
    r"(?:[^\n]{0,40}?protocol\\*\"?[=:]\s?\\*\"?(IPv[46]))?")
_FAMILIES = {"IPv4": "ipv4", "IPv6": "ipv6"}


def parse_kubelet_log(text):
    """`{family: (failed, line)}`: the last result that was logged for each family, and the matching part of its
    line."""
    found = {}
    for match in _LINE.finditer(text):
        family = _FAMILIES.get(match.group(2) or match.group(3))
        if family:
            found[family] = match.group(1) != "Initialized", re.sub(r"[\\\"]", "", match.group(0))
    return found
