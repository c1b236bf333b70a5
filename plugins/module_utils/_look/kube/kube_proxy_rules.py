# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the rules that kube-proxy counts with the rules in the kernel of this node.

Its metrics are read before the rules, and again where the numbers differ: rules written in between do not count."""

from ..._host.host import ABSENT, OK
from ..._rules.kube_proxy.proxy import compare_rules, own_rules, own_rules_in_use
from ..rules.rule_sets import FAMILIES, rules_of
from .kube_proxy_process import is_disconnected
from .kube_proxy_running import KEPT, is_waiting

_BACKENDS = ("nft", "legacy")


def compare_with_kernel(host, node, section):
    """Fills in `rules`, `rules_because` and `api_server` of a section node_kube_proxy."""
    if is_disconnected(section["api_sockets"]):
        from .kube_proxy_api import api_server_of
        section["api_server"] = api_server_of(host, node, section)
    metrics, again = host.kept.get(KEPT, (None, None))
    if not section["sync"] or metrics is None:
        section["rules_because"] = "no metrics of kube-proxy could be read"
        return
    mode = section["effective_mode"] or section["mode"]
    # In ipvs mode the rules that a metric may count are in other chains than those of own_rules().
    if mode not in ("iptables", None) or not any(row["rules"] for row in metrics["families"].values()):
        section["rules_because"] = ("kube-proxy has not written rules yet" if section["starting"] else
                                    "kube-proxy%s counts no rules in %s mode" % (
                                        " " + section["version"] if section["version"] else "", mode or "its"))
        return
    rules = rules_of(host, node)
    readings = _readings(rules, own_rules)
    rows = _compared(metrics, readings)
    if any(row["state"] == "more" for row in rows):
        in_use = _readings(rules, own_rules_in_use)
        readings = {family: found + in_use[family] for family, found in readings.items()}
        rows = _compared(metrics, readings)
    if any(row["state"] in ("fewer", "more") for row in rows):
        rows = _confirmed(rows, metrics, again(), readings)
    section["rules"], section["rules_because"] = rows, ""


def _compared(metrics, readings):
    families = metrics["families"]
    return compare_rules({family: families[family]["rules"] for family in families}, readings,
                         [family for family in families if is_waiting(families[family])])


def _confirmed(rows, before, after, readings):
    """The rows, where a difference counts only if kube-proxy did not sync while the rules were read."""
    def synced(metrics):
        return {family: (row["queued"], row["synced"], row["rules"]) for family, row in metrics["families"].items()}

    if after is not None and synced(after) == synced(before):
        return rows
    later = {(row["family"], row["table"]): row for row in _compared(after, readings)} if after else {}
    found = []
    for row in rows:
        other = later.get((row["family"], row["table"]), row)
        if "equal" in (row["state"], other["state"]):
            found.append(row if row["state"] == "equal" else other)
        else:
            found.append(dict(row, state="unknown", because="kube-proxy wrote rules while they were read"))
    return found


def _readings(rules, count):
    """{family: [{table: the result of `count`, or None} of each backend, or None for rules that were not read]}."""
    found = {}
    for family, _program, _names in FAMILIES:
        rows = [None for backend in _BACKENDS
                if rules.collected.get("%s_%s" % (backend, family), ABSENT) not in (OK, ABSENT)]
        for rule_set in rules.rule_sets:
            if rule_set.family == family:
                row = {name: count(table) if table.complete else None for name, table in rule_set.tables.items()}
                rows.append(dict(row, **dict.fromkeys(rule_set.unreadable)))
        # No backend had rules to read: the kernel has no rule.
        found[family] = rows or [{}]
    return found
