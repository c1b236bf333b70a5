# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of a dump that can be judged, and whether the node lacks a chain. PRIVATE to the collection."""

BUILT_IN = ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING")

NAMES = ("filter", "mangle", "nat", "raw", "security")

# Without INPUT of nat, which old kernels lack.
_DECLARED = {"filter": ("INPUT", "FORWARD", "OUTPUT"), "nat": ("PREROUTING", "OUTPUT", "POSTROUTING"),
             "mangle": BUILT_IN, "raw": ("PREROUTING", "OUTPUT"), "security": ("INPUT", "FORWARD", "OUTPUT")}

# Notices of a reading that lost lines or its end: a whole table may be lost.
LOST = ("cut_off", "no_commit", "no_table_line", "oversized_line", "too_many_lines", "unreadable_line")
# iptables-save declares every chain: without a declaration lines were removed, perhaps those of empty chains.
_TAKEN_OUT = "undeclared_chain"


def readable(rule_set):
    """The tables that were read, even in part, sorted by name: `[(name, table)]`."""
    return [(name, rule_set.tables[name]) for name in NAMES if table_of(rule_set, name) is not None]


def table_of(rule_set, name):
    """The table of that name, or None if it does not exist or iptables cannot print it. In a truncated table the part
    that was read is valid; chains_of() decides whether chains are missing."""
    table = rule_set.tables.get(name)
    return table if table is not None and name not in rule_set.unreadable else None


def rules_in(chains, name):
    """The rules of one of the chains {name: Chain}; empty where it is not there, or the chains are not known."""
    return chains[name].rules if chains and name in chains else ()


def rules_of(table, name):
    """The same of a chain of a table, which may be None."""
    return rules_in(table.chains, name) if table is not None else ()


def rules_behind(chains, name):
    """A generator of the rules of a chain and of all chains that it leads to."""
    seen, waiting = {name}, [name]
    while waiting:
        for rule in rules_in(chains, waiting.pop()):
            yield rule
            if rule.target in chains and rule.target not in seen:
                seen.add(rule.target)
                waiting.append(rule.target)


def declares_all(rule_set, name):
    """True where all chains of the table are known: iptables-save declares them first, before any cut."""
    table = rule_set.tables[name]
    if chains_of(rule_set, name) is not None:
        return True
    lost = table.unread - (0 if table.committed else rule_set.notices.get("cut_off", 0))
    declared = all(chain.declared for chain in table.chains.values())
    declared = declared and all(getattr(table.chains.get(chain), "policy", None) for chain in _DECLARED.get(name, ()))
    return lost <= 0 and declared and name not in rule_set.unreadable and any(table.rule_counts().values())


def chains_of(rule_set, name):
    """The chains of a table if they are known completely, so that a missing chain is missing on the node; `{}` for a
    table that the kernel does not have; None if they are not known completely.

    A live reading prints every table that exists; a file may hold only some of them.
    """
    if name in rule_set.unreadable or rule_set.notices.get(_TAKEN_OUT):
        return None
    if name in rule_set.tables:
        return rule_set.tables[name].chains if rule_set.tables[name].complete else None
    return {} if rule_set.source == "live" and not any(rule_set.notices.get(kind) for kind in LOST) else None
