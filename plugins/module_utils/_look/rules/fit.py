# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps node_iptables_chains small, however many rules the node has.

Numbers, digests and every kind of observation stay; texts and examples are cut, the least informative ones first."""

import json

from ..bounds import presentable

# With the default options; more only where more examples or Services are asked for.
SIZE_LIMIT = 14 * 1024
_OF_EXAMPLE, _OF_SERVICE = 800, 160
# Room for the footprint of the look, which is added at the end.
_FOOTPRINT = 120


def size_limit(options):
    """In bytes of JSON."""
    return SIZE_LIMIT + _OF_EXAMPLE * max(0, options["max_offenders"]
                                          - 5) + _OF_SERVICE * max(0, options["max_services"] - 20)


def fitted_chains(section, limit):
    """The section with at most `limit` bytes of JSON."""
    section = presentable(section)
    for shrink in (_with_short_texts, _with_few_notices, lambda cut: _keep_of_each_kind(cut, 2), _with_few_services,
                   _with_few_networks, _with_few_pods, lambda cut: _keep_of_each_kind(cut, 1), _with_few_rows,
                   _with_tiny_texts):
        if len(json.dumps(section)) <= limit - _FOOTPRINT:
            break
        shrink(section)
    return section


def _cut(rows, key, length):
    for row in rows:
        row[key] = row[key][:length]


def _with_short_texts(section):
    _cut(section["observations"], "text", 100)
    _cut(section["notices"], "text", 60)


def _with_few_notices(section):
    section["notices"] = section["notices"][:5]
    section["unread"] = section["unread"][:5]


def _keep_of_each_kind(section, number):
    seen, kept = {}, []
    for row in section["observations"]:
        seen[row["kind"]] = seen.get(row["kind"], 0) + 1
        if seen[row["kind"]] <= number:
            kept.append(row)
        else:
            section["left_out"][row["kind"]] = section["left_out"].get(row["kind"], 0) + 1
    section["observations"] = kept


def _with_few_services(section):
    section["service_rows_left_out"] += len(section["service_rows"][5:])
    del section["service_rows"][5:]


def _with_few_networks(section):
    networks = section["networks"]
    for key in ("services", "endpoints"):
        if networks[key]:
            networks[key + "_left_out"] += len(networks[key][3:])
            del networks[key][3:]


def _with_few_pods(section):
    for row in section["expected"]:
        row["pods"] = row["pods"][:2]


def _with_few_rows(section):
    section["owners"] = sorted(section["owners"], key=lambda row: -row["rules"])[:10]
    section["rule_sets"] = section["rule_sets"][:8]


def _with_tiny_texts(section):
    _cut(section["observations"], "text", 40)
    _cut(section["observations"], "detail", 60)
    for row in section["observations"]:
        row["repair"] = None
    section["notices"], section["unread"] = section["notices"][:2], section["unread"][:2]
    for row in section["rule_sets"]:
        row["tables"], row["unreadable"] = row["tables"][:5], row["unreadable"][:5]
        row["policies"] = dict(sorted(row["policies"].items())[:12])
        row["kube_rules_by_table"] = dict(sorted(row["kube_rules_by_table"].items())[:5])
