# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains that only kube-proxy creates, without the chains that kubelet creates too. PRIVATE to the collection."""

import re

from ..others.owners import owner_of
from ..rules import match_options, uses
from ..tables import readable, rules_of, table_of

# kubelet up to 1.27 makes these too (kubernetes pkg/kubelet/kubelet_network_linux.go): no sign of kube-proxy.
SHARED = ("KUBE-MARK-MASQ", "KUBE-POSTROUTING")

# One of its chains for each service or endpoint.
SERVICE_CHAIN = re.compile(r"KUBE-(SVC|SVL|EXT|FW|XLB|SEP)-")

# The chains of table nat that jump to the chains of Services.
PORTALS = ("KUBE-SERVICES", "KUBE-NODEPORTS")


def is_portal(rules, setting):
    """True if these rules of one of `PORTALS` are of iptables mode, without verdicts; ipvs mode accepts by sets."""
    return setting.mode == "iptables" or (setting.mode is None and not any(uses(rule, "set") for rule in rules))


def looks_up_sets(rule_set):
    """True if a rule of nat KUBE-SERVICES looks up a set of ipvs mode, KUBE-CLUSTER-IP or another one."""
    rules = rules_of(table_of(rule_set, "nat"), "KUBE-SERVICES")
    return any(option == "--match-set" and values[:1] and values[0].startswith("KUBE-")
               for rule in rules for option, values, _negated in match_options(rule, "set"))


def proxy_chains(rule_set):
    """The chains that only kube-proxy makes: `[(table name, chain name)]`, sorted."""
    return [(name, chain) for name, table in readable(rule_set) for chain in sorted(table.chains)
            if chain not in SHARED and owner_of(chain, name) == "kube_proxy"]


def has_proxy(rule_set):
    """True if kube-proxy has chains there; empty chains are enough."""
    return any(chain not in SHARED and owner_of(chain, name) == "kube_proxy" for name, table in readable(rule_set)
               for chain in table.chains)


def carries_services(rule_set):
    """True if iptables mode has at least one Service of this family; its own chains exist in both families."""
    return any(SERVICE_CHAIN.match(chain) for name, table in readable(rule_set) if name == "nat"
               for chain in table.chains)
