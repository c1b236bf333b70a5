# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are not what the others, or a named node, are. PRIVATE to the collection.

Most nodes are more than half of those of which a trait is known, and at least two: of two nodes that differ, none is
the odd one. Where many differ, they are a group and no outliers; their number is told.
"""

from ._traits import traits_of


def outliers(reports: list, baseline: "str | None" = None) -> list:
    """`[{"by", "usual", "nodes", "others"}]`, one row for each trait in which nodes differ: `usual` is the value of
    most nodes, or of the host `baseline`, `nodes` how many have it, `others` `{host: its value}`."""
    rows = []
    for trait, values in traits_of([report for report in reports if report["summary"]["reached"]]).items():
        known = {value: hosts for value, hosts in values.items() if value is not None}
        usual = _value_of(known, baseline) if baseline else _most(known)
        others = {host: value for value, hosts in known.items() if value != usual for host in sorted(hosts)}
        if usual is not None and others:
            rows.append({"by": trait, "usual": usual, "nodes": len(known[usual]), "others": others})
    return rows


def outlier_text(row: dict, baseline: "str | None", some) -> str:
    """One row as a sentence; `some(names)` shortens a list of names."""
    values = {}
    for host, value in row["others"].items():
        values.setdefault(value, []).append(host)
    others = "; ".join("%s on %s" % (value, some(sorted(hosts))) for value, hosts in sorted(values.items()))
    if baseline:
        return "%s is %s on %s (baseline): %s" % (row["by"], row["usual"], baseline, others)
    return "%s is %s on %d nodes: %s" % (row["by"], row["usual"], row["nodes"], others)


def _value_of(known, host):
    return next((value for value, hosts in known.items() if host in hosts), None)


def _most(known):
    total = sum(len(hosts) for hosts in known.values())
    return next((value for value, hosts in known.items() if len(hosts) >= 2 and 2 * len(hosts) > total), None)
