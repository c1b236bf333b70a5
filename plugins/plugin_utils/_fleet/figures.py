# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of the evidence that are worth a graph. PRIVATE to the collection.

A number is not known if a part of it could not be read: half of the rules would look like a loss of rules.
"""

_READ = ("ok", "absent")


def numbers_of(evidence: dict, earlier: "dict | None" = None) -> dict:
    """`{name: number or None}`. `earlier` are the numbers of an earlier look, which stay for sections that this look
    did not read."""
    found = dict.fromkeys((*_CONNTRACK, *_RULES, *_LOCK, *_SYNC), None)
    found.update(earlier or {})
    for section, names, measured in _SECTIONS:
        if section in evidence:
            found.update(zip(names, measured(evidence[section])))
    return found


def _is_read(section, *sources):
    return all(section["collected"].get(source, "ok") in _READ for source in sources or section["collected"])


def _conntrack(section):
    return (section["count"], section["max"]) if section["collected"].get("table") == "ok" else (None, None)


def _rules(section):
    if not _is_read(section):
        return None, None, None
    return section["rules"], sum(row["kube_rules"] for row in section["rule_sets"]), section["services"]


def _lock(section):
    if not _is_read(section, "locks", "processes"):
        return None, None
    # The age of the oldest listed waiter; the list has the first waiters.
    return section["waiter_count"], max((row["age_seconds"] or 0 for row in section["waiters"]), default=0)


def _sync(section):
    """The numbers of the family that is furthest behind."""
    return tuple(max((row[key] for row in section["sync"] if row[key] is not None), default=None)
                 for key in ("synced_seconds_ago", "waiting_seconds"))


_CONNTRACK = ("conntrack_entries", "conntrack_limit")
_RULES = ("iptables_rules", "iptables_kube_rules", "service_addresses")
_LOCK = ("xtables_lock_waiters", "xtables_lock_wait_seconds")
_SYNC = ("kube_proxy_sync_age_seconds", "kube_proxy_change_wait_seconds")
_SECTIONS = (("node_conntrack", _CONNTRACK, _conntrack), ("node_iptables_chains", _RULES, _rules),
             ("node_xtables_lock", _LOCK, _lock), ("node_kube_proxy", _SYNC, _sync))
