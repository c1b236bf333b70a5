# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module iptables_backend returns besides its changes. PRIVATE to the collection."""

from .choice import BACKENDS


def empty_result():
    """The result of the module where nothing was found."""
    return {
        "backend": None, "backend_because": "", "groups": [], "refused": None, "live_rules": False, "left": [],
        "reboot_needed": False, "saved": [], "conflicts": []}


class Refused(Exception):
    """The module changes nothing; the text is one sentence. `live`: whether the reason is that rules of Kubernetes
    would be left behind, which `live=true` allows."""

    def __init__(self, sentence, live=False):
        super(Refused, self).__init__(sentence)
        self.live = live


def left_in(rules, backends):
    """Chains whose names begin with KUBE- in these backends: rows by backend and family, none where there are none."""
    rows = []
    for found in sorted(rules.rule_sets, key=lambda each: (each.backend or "", each.family or "")):
        held = [table.rule_counts()[chain] for table in found.tables.values() for chain in table.chains
                if chain.startswith("KUBE-")]
        if found.backend in backends and held:
            rows.append({"backend": found.backend, "family": found.family, "chains": len(held), "rules": sum(held)})
    return rows


def conflicts_of(evidence, backend):
    """Builds in containers that conflict with the backend: fixed to the other one, or so old that matches are lost."""
    rows = []
    for row in evidence["containers"]:
        because = row["because"] if row["strips"] else ""
        if row["backend"] in BACKENDS and row["backend"] != backend:
            because = "its iptables always uses the %s backend" % row["backend"]
        if because:
            rows.append({"name": row["container"] or row["comm"], "pod": row["pod"], "namespace": row["namespace"],
                         "path": row["path"], "version": row["version"], "backend": row["backend"], "because": because})
    return rows
