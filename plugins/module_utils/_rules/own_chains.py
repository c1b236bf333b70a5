# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that kube-proxy and kubelet make, by their exact names. PRIVATE to the collection.

Here the owner of a chain decides whether it is deleted, so a prefix is not enough: kube-router's names begin with KUBE-
too, and container runtimes make KUBE-HOSTPORTS as kubelet once did. Names and tables: kubernetes
pkg/proxy/iptables/proxier.go, pkg/proxy/ipvs/proxier.go and pkg/kubelet/kubelet_network_linux.go, 1.20 to 1.30. The
hash of a name is 16 characters of base32 (portProtoHash()).
"""

import re

_OWN = {
    "nat": "KUBE-(?:SERVICES|NODEPORTS|POSTROUTING|MARK-MASQ|MARK-DROP|NODE-PORT|LOAD-BALANCER|FIREWALL|PROXY-CANARY|"
           "KUBELET-CANARY"
    "|(?:SVC|SVL|SEP|FW|EXT|XLB)-[A-Z2-7]{16})",
    "filter": "KUBE-(?:SERVICES|EXTERNAL-SERVICES|NODEPORTS|NODE-PORT|FORWARD|FIREWALL|PROXY-FIREWALL|SOURCE-RANGES-"
              "FIREWALL|IPVS-FILTER"
    "|IPVS-OUT-FILTER|PROXY-CANARY|KUBELET-CANARY)",
    "mangle": "KUBE-(?:IPTABLES-HINT|PROXY-CANARY|KUBELET-CANARY)",
}
_PATTERNS = {table: re.compile(pattern + r"\Z") for table, pattern in _OWN.items()}
# Chains that show which backend their writer uses; they hold no rules and remain in a backend that is no longer used.
MARKS = ("KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY", "KUBE-PROXY-CANARY")


def is_own(table, chain):
    """True if kube-proxy or kubelet makes a chain of that name in that table."""
    return table in _PATTERNS and _PATTERNS[table].match(chain) is not None
