# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains that only kube-proxy creates, without the chains that kubelet creates too. PRIVATE to the collection.

The chains that show whether kubelet set up its rules, for each family.

kubelet creates its chains once, at its start. Only if that succeeds it creates its canary in three tables and watches
the one in mangle; it recreates deleted canaries within a minute. If it fails, kubelet never tries again for that family
(kubernetes pkg/kubelet/kubelet_network_linux.go, pkg/util/iptables/iptables.go). Since 1.28 kubelet creates the hint
first, so the hint may exist after a failure too.

Compares the numbers of rules in kube-proxy's metrics with the rules in the kernel.

kubeproxy_sync_proxy_rules_iptables_total{table} is the number of `-A KUBE-*` lines of that table, exactly (seen with
1.30.5, 1.34.9 and 1.36.3, both backends, 0 to 5000 Services). It is set before iptables-restore runs, so it is the
wanted number. Fewer rules in the kernel: they were flushed. More: an old dump was restored.
"""

import collections
import re

from ..others.owners import owner_of
from ..rules import match_options, uses
from ..tables import chains_of, readable, rules_of, table_of
from .anchor_table import CANARY_TABLES, HINT, KUBELET_CANARY

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


# hint: True, False, or None where not all of mangle could be read. canary: the same for the canary in mangle. others:
# the other tables that hold a canary. used: whether the family is needed; kubelet creates IPv6 chains wherever
# ip6tables works.
Marks = collections.namedtuple("Marks", ("hint", "canary", "others", "used"))


def kubelet_marks(rule_sets, family, unread):
    """`Marks` of a family over both backends; `unread`: whether it may have rules that could not be read."""
    mine = [rule_set for rule_set in rule_sets if rule_set.family == family]
    mangles = [chains_of(rule_set, "mangle") for rule_set in mine] + ([None] if unread else [])
    canary = _holds(mangles, KUBELET_CANARY)
    others = sorted({name for rule_set in mine for name in CANARY_TABLES[1:]
                     if KUBELET_CANARY in (chains_of(rule_set, name) or ())})
    used = family == "ipv4" or canary is True or bool(others) or any(has_proxy(rule_set) for rule_set in mine)
    return Marks(_holds(mangles, HINT), canary, others, used)


def _holds(tables, chain):
    if any(chain in chains for chains in tables if chains is not None):
        return True
    return None if any(chains is None for chains in tables) else False


# Chains that kube-proxy fills. Others of that prefix are kubelet's (KUBE-MARK-DROP) or kube-router's (KUBE-NWPLCY-*).
_CHAINS = {
    "filter": frozenset(("KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS", "KUBE-FORWARD",
                         "KUBE-PROXY-FIREWALL")),
    "nat": frozenset(("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-MARK-MASQ"))}
_OF_SERVICES = frozenset("KUBE-%s-" % kind for kind in ("SVC", "SEP", "SVL", "EXT", "XLB"))
_FIREWALL = "KUBE-FIREWALL"
_SYNCING = "a sync is running, or a change waits for one"


def own_rules(table):
    """(rules of kube-proxy in a Table, 1 where KUBE-FIREWALL has rules, which kube-proxy or kubelet wrote)."""
    counts, named = table.rule_counts(), _CHAINS.get(table.name, ())
    own = sum([count for chain, count in counts.items() if count and (chain in named or _is_of_service(chain))])
    return own, 1 if table.name == "filter" and counts.get(_FIREWALL) else 0


def own_rules_in_use(table):
    """The same without the chains of Services that no rule leads to: with more than 1000 endpoints kube-proxy deletes
    them with a later sync, and does not count them (pkg/proxy/iptables/proxier.go, largeClusterMode)."""
    own, firewall = own_rules(table)
    counts, services = table.rule_counts(), table.services
    waiting = [jump[4] for jump in services.jumps]
    waiting += [rule.target for name in table.unfolded() if not _is_of_service(name)
                for rule in table.chains[name].rules]
    used = set()
    while waiting:
        name = waiting.pop()
        if name is None or name in used or not _is_of_service(name) or name not in table.chains:
            continue
        used.add(name)
        waiting += services.balancing.get(name, ((), ()))[1]
        waiting += services.affinity.get(name, ())
        waiting += [rule.target for rule in table.chains[name].rules]
    return own - sum([count for name, count in counts.items() if _is_of_service(name) and name not in used]), firewall


def _is_of_service(chain):
    return chain[:9] in _OF_SERVICES or chain[:8] == "KUBE-FW-"


def compare_rules(families, readings, waiting):
    """Rows `{"family", "table", "promised", "in_kernel", "state", "because"}`.

    `families` is {family: {table: number}} of the metrics; `readings` {family: [{table: (rules, 0 or 1)} of each
    backend, or None where it was not read]}; `waiting` the families with a sync that runs or waits. `state` is equal,
    fewer, more or unknown.
    """
    return [_row(family, table, promised, readings, family in waiting)
            for family in sorted(families) for table, promised in sorted((families[family] or {}).items())]


def _row(family, table, promised, readings, waiting):
    # A single series for both families holds the number of the family that was synced last.
    read = [row for name in sorted(readings) if family in (name, "all") for row in readings[name]]
    found = [row.get(table, (0, 0)) for row in read if row is not None and row.get(table, ()) is not None]
    row = {"family": family, "table": table, "promised": promised, "in_kernel": None, "state": "unknown", "because": ""}
    if any(promised in (own, own + firewall) for own, firewall in found):
        return dict(row, in_kernel=promised, state="equal")
    if not found or len(found) < len(read):
        return dict(row, because="the rules could not be read")
    row["in_kernel"] = min((own + firewall for own, firewall in found), key=lambda count: abs(count - promised))
    if waiting:
        return dict(row, because=_SYNCING)
    return dict(row, state="fewer" if row["in_kernel"] < promised else "more")
