# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that must be there because of the pods and agents that run on this node.

A flush removes rules of network plugins as well, and no chain is left that could look damaged. The expected rules come
from other evidence, which is read after the rules: rules that are written while this runs are not missed."""

import calendar
import collections
import re

from ..._host.host import ABSENT, OK
from ..._rules.others.pod_chains import WORKS, rules_of_pod
from ..._rules.tables import chains_of, table_of
from ..cni.attached import attached_pods, is_still_attached
from ..processes import named_processes

# A pod whose network was set up so shortly before the rules were read is left out.
YOUNG_SECONDS = 10
ROWS_LIMIT, PODS_LIMIT = 12, 5
LIST_SECONDS, LIST_LIMIT = 30.0, 8 * 1024 * 1024
_FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}


class KnownRules:
    """Whether a chain exists, in the backends of iptables and in the nft tables of plugins."""

    def __init__(self, host, rules):
        self._host, self._rules, self._listed, self._names = host, rules, {}, None
        unread = {source for source, status in rules.collected.items() if status not in (OK, ABSENT)}
        self._unread = {family for family in _FAMILIES for source in unread if source.endswith(family)}

    def sets(self, family):
        return [found for found in self._rules.rule_sets if found.family == family]

    def whole(self, family, table):
        """Whether every chain of a table is known, in both backends."""
        return family not in self._unread and all(chains_of(found, table) is not None for found in self.sets(family))

    def chain(self, family, table, name, works):
        """True, False, or None where not all chains of the family are known. `works(chains, name)`: whether the chain
        does its work; a chain that does not is one of a flush that kept the chains."""
        tables = [found.tables[table].chains for found in self.sets(family) if table_of(found, table) is not None]
        whole = self.whole(family, table)
        if any(name in chains and (not whole or works(chains, name)) for chains in tables):
            return True
        return False if whole else None

    def lines(self, family, table, chains):
        """The rules of these chains of an nft table, as nft lists them; [] where none exists, None if not known."""
        if self._rules.nf_tables == ABSENT:
            return []
        if self._rules.nf_tables != OK:
            return None
        key = family, table, chains
        if key not in self._listed:
            self._listed[key] = self._list(family, table, chains)
        return self._listed[key]

    def _list(self, family, table, chains):
        names = self._table_names()
        if names is not None and (family, table) not in names:
            return []
        found = []
        for chain in chains:
            done = self._host.run(["nft", "list", "chain", family, table, chain], LIST_SECONDS, LIST_LIMIT)
            if done.ok:
                found += [line.strip() for line in done.out.splitlines()]
            elif done.status != OK or "No such file or directory" not in done.err:
                return None
        return found

    def _table_names(self):
        if self._names is None and self._host.commands and self._host.root == "/":
            from ..._host.netlink import nft_tables
            status, names = nft_tables()
            self._names = set(names) if status == OK else None
        return self._names


def expected_rows(host, node, rules):
    """[row] of the rules that must be there; [] where the rules are not those of this node."""
    if rules.source != "live":
        return []
    from .expected_agents import rows_of_agents
    known = KnownRules(host, rules)
    rows, status = _of_pods(host, node, rules, known)
    return (rows + rows_of_agents(host, known))[:ROWS_LIMIT] + _unread_rows(status, named_processes(host)[0])


def _of_pods(host, node, rules, known):
    """([row], status of reading which pods run here)."""
    # Without strptime(), which compiles its patterns in each look.
    begun = calendar.timegm([int(part) for part in re.findall(r"\d+", rules.read_at)])
    pods, running_known, status = attached_pods(host, node, begun - YOUNG_SECONDS)
    groups = collections.OrderedDict()
    for pod in pods:
        for wanted in rules_of_pod(pod.result, pod.entries):
            groups.setdefault(wanted[:4], []).append((pod, wanted))
    rows = [_row_of_pods(host, key, groups[key], known, running_known) for key in sorted(groups)]
    return list(filter(None, rows)), status


def _unread_rows(of_pods, of_processes):
    """[row] of further rules that may have to be there, for the statuses of reading the evidence of them."""
    unread = []
    if of_pods != OK:
        reason = "not all files of libcni below /var/lib/cni could be read (%s)" % of_pods
        unread += [(kind, "unknown", "unknown", reason) for kind in sorted(WORKS)]
    if of_processes not in (OK, ABSENT):
        unread.append(("agent", "an agent", None, "not all processes of the node could be read (%s)" % of_processes))
    return [{"kind": kind, "owner": owner, "network": network, "family": "ipv4", "table": "nat", "chain": None,
             "expected": 1, "missing": 0, "unknown": 1, "pods": [], "process": None, "restart": None, "reason": reason}
            for kind, owner, network, reason in unread]


def _row_of_pods(host, key, group, known, running_known):
    states = [(_state(known, wanted), pod, wanted) for pod, wanted in group]
    # Only a pod without its rules needs the proof that it is not being removed.
    states = [(state, state or is_still_attached(host, pod, wanted.family), pod, wanted)
              for state, pod, wanted in states]
    states = [row for row in states if row[1] is not False]
    if not states:
        return None
    lost = [(pod, wanted) for state, attached, pod, wanted in states if state is False and attached]
    doubtful = sum(state is None or attached is None for state, attached, _pod, _wanted in states)
    reason = "the rules of %s or the leases of their pods could not be read completely" % key[3] if doubtful else None
    if lost and not running_known:
        doubtful, lost, reason = doubtful + len(lost), [], "which pod sandboxes run could not be read"
    pods = sorted({pod.result.pod for pod, _wanted in lost})
    return {"kind": key[0], "owner": key[1], "network": key[2][:64], "family": key[3], "table": "nat",
            "chain": lost[0][1].chain if lost else None, "expected": len(states), "missing": len(lost),
            "unknown": doubtful, "pods": pods[:PODS_LIMIT], "process": None, "restart": None, "reason": reason}


def _state(known, wanted):
    """True where the rules of a pod exist, None where that is not known."""
    there = known.chain(wanted.family, "nat", wanted.chain, WORKS[wanted.kind])
    if there or wanted.backend == "iptables":
        return there
    lines = known.lines(*wanted.nft[:3])
    if lines is None:
        return None
    source = "%s saddr " % _FAMILIES[wanted.family] if wanted.nft[0] == "inet" else ""
    if any(wanted.nft[3] in line and source in line for line in lines):
        return True
    return there
