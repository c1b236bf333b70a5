# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rules are lost after a script flushes them, as texts for findings. PRIVATE to the collection.

Each text begins with a blank, or is empty where it does not apply, and is short enough for the evidence.
"""

import re

from .._rules.others.owners import CNI, owner_of
from .effect import EVERY
from .sequence import KUBE_PROXY, KUBELET

# kubernetes pkg/proxy/iptables/proxier.go: the first sync of a process writes jumps, chains and rules of all Services.
# kubernetes pkg/kubelet/kubelet_network_linux.go: made once, at the start of kubelet.
_CHAINS = {
    KUBE_PROXY: (("nat", "KUBE-SERVICES, KUBE-NODEPORTS, KUBE-SVC-*, KUBE-POSTROUTING"),
                 ("filter", "KUBE-FORWARD, KUBE-PROXY-FIREWALL")),
    KUBELET: (("filter", "KUBE-FIREWALL"), ("mangle", "KUBE-IPTABLES-HINT"))}
# Written when a pod is set up (CNI plugin portmap), by the agent of the plugin, or by the program that added them.
_OTHERS = (("nat", "host ports of pods (CNI-HOSTPORT-*)"), ("nat", "masquerade rules of the network plugin"),
           ("filter", "policy rules of the network plugin"))
_OWN = "rules of others"
# Sorts of effects that delete chains, and so the canary in table mangle (kubernetes pkg/util/iptables Monitor(): of
# mangle, nat and filter it polls the first). A plain -F, and nft flush table, leave the empty chain.
_DELETES_CHAINS = ("ruleset", "restore", "delete", "service")
_DELETES = re.compile(r"-X|--delete-chain|\b(?:delete|destroy)\b")
# Tables of nft that are named after their owner.
_KUBE_PROXY_TABLE = "kube-proxy"
# man iptables: -A and -I add a rule even if it exists already.
_IDEMPOTENT = (
    " It adds rules after its flush, and without the flush each run adds them once more: first make it idempotent with "
    "a chain of its own (iptables -N SITE || iptables -F SITE) and one jump to it (iptables -C INPUT -j SITE || "
    "iptables -I INPUT -j SITE).")
_TEARDOWN = (" It is the distribution's script that removes Kubernetes from the node: disable what starts it, and do "
             "not change the script.")


def returns(rows, restarted):
    """Who brings the rules back that these rows remove; the restarts of the same script are in rebuilt() and lost()."""
    sorts = {row["sort"] for row in rows}
    backs = {row["comes_back"] for row in rows}
    if sorts == {"policy"}:
        return " No rule is lost: the policy stays until a command sets it back."
    if sorts == {"sets"}:
        return " The owner of a set writes its entries again with its next sync."
    if sorts == {"ipvs"}:
        return " kube-proxy in ipvs mode writes the virtual servers again within 30 seconds."
    if backs == {"saved"}:
        return " Rules come back: the same script restores the rules that it saved before."
    instead = " Other rules are loaded in their place." if "replaced" in backs else ""
    return instead + ("" if restarted else _returns(rows))


def _returns(rows):
    tables = {table for row in rows for table in row["tables"]}
    chains = {chain for row in rows for chain in row["chains"]}
    known = tables & {"filter", "nat", "mangle"} or "*" in tables
    parts = []
    if tables <= {_KUBE_PROXY_TABLE}:
        return " Rules come back: those of kube-proxy (nftables mode) with the next change of a Service or its restart."
    if not known or chains and all(owner_of(chain.rstrip("*"), None) in CNI for chain in chains):
        return " Rules come back: those of the network plugin with the next refresh of its agent, if at all."
    if notices(rows):
        parts = ["kubelet writes its chains within a minute and kube-proxy (iptables mode) its own within 30 seconds, "
                 "because their canaries in mangle are gone"]
    else:
        parts = ["those of kubelet and kube-proxy only with their restart, because their canaries in mangle stay"]
    # All parts together have at most 300 characters, which the evidence keeps.
    parts.append("those of the network plugin with its next refresh")
    if "*" in tables or "nat" in tables:
        parts.append("host ports only when their pods are recreated")
    return " Rules come back: %s." % "; ".join(parts)


def notices(rows):
    """Whether kubelet and kube-proxy notice the loss: a chain of theirs in table mangle is deleted."""
    return any(_has(row["tables"], "mangle") and "*" in row["chains"]
               and (row["sort"] in _DELETES_CHAINS or _DELETES.search(row["command"])) for row in rows)


def saved(place):
    """`place`: the file that the remaining rules are saved to, or None."""
    return (" The rule set without these rules is saved afterwards (%s): a boot does not bring rules of others back."
            % place if place else "")


def rebuilt(tables, restarted, noticed=False):
    """Which program rebuilds which of these tables after these programs of Kubernetes are restarted."""
    if not restarted:
        return ""
    chains = [(program, _chains(program, tables)) for program in restarted]
    others = [program for program in (KUBE_PROXY, KUBELET) if noticed and program not in restarted]
    return " Afterwards it restarts %s.%s%s" % (
        " and ".join(restarted), "".join(" %s rebuilds %s." % (program, names) for program, names in chains if names),
        "".join(" %s rebuilds its own within a minute: its canary in mangle is gone." % program for program in others))


def lost(tables, restarted, noticed=False):
    """Which rules of these tables stay lost after these programs are restarted."""
    if not restarted:
        return ""
    chains = [(program, _chains(program, tables)) for program in (KUBE_PROXY, KUBELET)
              if program not in restarted and not noticed]
    names = ["%s of %s (until it is restarted)" % (names, program) for program, names in chains if names]
    return " Stays lost: %s." % ", ".join(names + [what for table, what in _OTHERS if _has(tables, table)] + [_OWN])


def advice(appends, is_teardown):
    """Advice that a user needs before a command is removed."""
    return _TEARDOWN if is_teardown else _IDEMPOTENT if appends else ""


def _chains(program, tables):
    return ", ".join(names for table, names in _CHAINS[program] if _has(tables, table))


def _has(tables, table):
    return table in tables or tuple(tables) == EVERY
