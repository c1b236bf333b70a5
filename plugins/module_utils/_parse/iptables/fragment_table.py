# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table that a fragment of rules belongs to, by its chains and targets. PRIVATE to the collection.

People who copy rules often leave out the line of the table. Many chains and targets exist in one table only (man 8
iptables-extensions; kubernetes pkg/proxy/iptables and pkg/proxy/ipvs; calico felix/rules; containernetworking plugins;
moby; kube-router pkg/controllers/netpol; cilium pkg/datapath/iptables; antrea pkg/agent/route; Kilo pkg/mesh).
"""

import re

# Built-in chains of each table. No chain name of mangle or security is unique to that table.
BUILT_IN = {
    "filter": frozenset(("INPUT", "FORWARD", "OUTPUT")),
    "nat": frozenset(("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING")),
    "mangle": frozenset(("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")),
    "raw": frozenset(("PREROUTING", "OUTPUT"))}
ALL_BUILT_IN = BUILT_IN["mangle"]
_CHAINS = (
    ("nat",
     re.compile(r"KUBE-(SVC|SVL|SEP|EXT|FW|XLB|HP)-|KUBE-(MARK-MASQ|MARK-DROP|POSTROUTING|LOAD-BALANCER|HOSTPORTS)$"
                r"|CNI-(HOSTPORT|DN|SN)-|CNI-[0-9a-f]{24}$|FLANNEL-POSTRTG$|AWS-SNAT-CHAIN-|(IP|KIND)-MASQ-AGENT$|cali-"
                r"(nat-|fip-)|KILO-NAT$|WEAVE$|ANTREA-POSTROUTING$|CILIUM_\w{3,6}_nat$|OVN-KUBE-(NODEPORT|EXTERNALIP)"
                )),
    ("filter", re.compile(r"KUBE-(FORWARD|EXTERNAL-SERVICES|PROXY-FIREWALL|IPVS-FILTER|IPVS-OUT-FILTER|"
                          r"SOURCE-RANGES-FIREWALL|FIREWALL)$|KUBE-(NWPLCY|POD-FW)-|DOCKER-(USER|FORWARD|ISOLATION)|"
                          r"FLANNEL-FWD$|WEAVE-NPC|ufw6?-|cali-(FORWARD|INPUT|OUTPUT)$|KUBE-ROUTER-(INPUT|FORWARD|"
                          r"OUTPUT)$|ANTREA-FORWARD$|AZURE-NPM|CILIUM_(INPUT|FORWARD|OUTPUT)$")),
    ("mangle", re.compile(r"KUBE-IPTABLES-HINT$")))
_TARGETS = {"DNAT": "nat", "SNAT": "nat", "MASQUERADE": "nat", "REDIRECT": "nat", "NETMAP": "nat", "REJECT": "filter",
            "CT": "raw", "NOTRACK": "raw", "TRACE": "raw", "TCPMSS": "mangle", "TPROXY": "mangle", "DSCP": "mangle",
            "TOS": "mangle"}


def table_of_rule(chain, target):
    """The table of a rule, or None where the rule fits several."""
    if chain == "KUBE-SERVICES" and target in ("DROP", "REJECT"):
        return "filter"
    known = next((name for name, pattern in _CHAINS if pattern.match(chain) or pattern.match(target or "")), None)
    if known:
        return known
    if chain in ("PREROUTING", "POSTROUTING") and target in ("KUBE-SERVICES", "DOCKER"):
        return "nat"
    return _TARGETS.get(target) or ("filter" if chain == "FORWARD" and (target or "").startswith("KUBE-") else None)


def table_of_chains(built_in):
    """The table that has exactly these built-in chains, or None."""
    return next((name for name in sorted(BUILT_IN) if BUILT_IN[name] == set(built_in)), None)


def is_whole(table, built_in):
    """True where all built-in chains of the table are listed: a listing of single chains has fewer.

    Old kernels have no INPUT in nat (before 2.6.36).
    """
    return table in BUILT_IN and BUILT_IN[table] - {"INPUT"} <= set(built_in)
