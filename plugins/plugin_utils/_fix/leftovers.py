# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of kubelet and kube-proxy in a backend that is not in use. PRIVATE to the collection."""

from collections.abc import Mapping

BACKENDS = ("nft", "legacy")
FAMILIES = ("ipv4", "ipv6")
# Chains of kubelet and kube-proxy without rules; others take the backend they are in for that of the node.
_MARKS = ("hint", "kubelet_canary", "proxy_canary")


def families_elsewhere(section, target):
    """The families with chains of kubelet and kube-proxy in another backend than `target`, or than the one that `auto`
    stands for."""
    found = []
    for family in FAMILIES:
        used = part_of(section, "kubelet_backend").get(family)
        here = target if target in BACKENDS else used if used in BACKENDS else section.get("backend")
        if here in BACKENDS and any(row["family"] == family and row["backend"] != here and holds(row)
                                    for row in rows_of(section)):
            found.append(family)
    return found


def rows_of(section: dict) -> list[dict]:
    """The rule sets of the section node_iptables_backend, one for each family and backend."""
    return [row for row in section.get("sets") or [] if row["backend"] in BACKENDS]


def holds(row):
    """Whether a rule set holds chains of kubelet or kube-proxy."""
    return bool(row["kube_rules"]) or any(row[mark] for mark in _MARKS)


def part_of(known, key):
    """The dictionary `known[key]`; {} if it is missing or is not a dictionary."""
    part = known.get(key) if isinstance(known, Mapping) else None
    return part if isinstance(part, Mapping) else {}
