# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a backend holds everything that kube-proxy and kubelet need to work there. PRIVATE to the collection."""

from ..._rules.kube_proxy.anchors import ask_anchors
from ..._rules.kube_proxy.proxy import has_proxy
from ..._rules.own_chains import MARKS, is_own
from ..kube.kube_proxy import collect_kube_proxy
from ..kube.kubelet import collect_kubelet
from ..rules.setting import situation_of


def own_chains(rules, backend):
    """`[(family, table, chain)]` of kube-proxy's and kubelet's chains in one backend."""
    return [(found.family, table, chain) for found in rules.rule_sets if found.backend == backend
            for table in sorted(found.tables) for chain in sorted(found.tables[table].chains) if is_own(table, chain)]


def not_carried(host, node, rules, backend, options):
    """Why it is not certain that `backend` holds what the other backend still holds, as a sentence, or None.

    `backend` must have every jump that the mode and version of kube-proxy require, in each family in which the other
    backend has chains, and every mark by which kubelet and kube-proxy are found. In a family that kube-proxy does not
    use, only kubelet's marks are required. Unknown parts count as missing.
    """
    kube_proxy, kubelet = collect_kube_proxy(host, node), collect_kubelet(host, node)
    situation = situation_of(host, rules, options, kube_proxy, kubelet)
    if situation.mode not in ("iptables", "ipvs"):
        return "kube-proxy's mode is %s (%s); only the jumps of iptables and ipvs mode can be verified" % (
            situation.mode or "not known", situation.mode_source)
    if situation.kubernetes is None:
        return "the version of Kubernetes is not known, so the required jumps are not known; give kubernetes_version"
    other = [found for found in rules.rule_sets if found.backend != backend]
    for left in other:
        if not own_chains_of(left):
            continue
        used = next((found for found in rules.rule_sets if (found.backend, found.family) == (backend, left.family)),
                    None)
        missing = _missing(left, used, situation)
        if missing:
            return "the %s backend lacks a part of %s: %s" % (backend, left.family, missing)
    return None


def own_chains_of(found):
    return [(table, chain) for table in sorted(found.tables) for chain in found.tables[table].chains
            if is_own(table, chain)]


def _missing(left, used, situation):
    if used is None or used.unreadable or not all(table.complete for table in used.tables.values()):
        return "its rules could not be read completely"
    if has_proxy(left) and not has_proxy(used):
        return "kube-proxy has no chain there"
    for row in ask_anchors(used, situation.of(used)):
        if row["kind"] in ("anchor_missing", "anchor_shadowed"):
            return "%s of table %s: %s" % (row["chain"], row["table"], row["detail"])
    there = own_chains_of(used)
    for table, chain in own_chains_of(left):
        if chain in MARKS and (table, chain) not in there:
            return ("%s of table %s exists only in the other backend, so its program may still write there"
                    % (chain, table))
    return None
