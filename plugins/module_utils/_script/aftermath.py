# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rules are lost after a script flushes them and runs its other commands, as texts for findings. PRIVATE to the
collection.

Each text begins with a blank, or is empty where it does not apply, and is short enough for the evidence.
"""

from .effect import EVERY
from .sequence import KUBE_PROXY, KUBELET

# kubernetes pkg/proxy/iptables/proxier.go: the first sync of a process writes jumps, chains and rules of all Services.
# kubernetes pkg/kubelet/kubelet_network_linux.go: made once, at the start of kubelet.
_CHAINS = {
    KUBE_PROXY: (("nat", "KUBE-SERVICES, KUBE-NODEPORTS, KUBE-SVC-*, KUBE-POSTROUTING"),
                 ("filter", "KUBE-FORWARD, KUBE-PROXY-FIREWALL")),
    KUBELET: (("filter", "KUBE-FIREWALL"), ("mangle", "KUBE-IPTABLES-HINT")),
}
# Written when a pod is set up (CNI plugin portmap), by the agent of the network plugin, or by the program that added
# them.
_OTHERS = (("nat", "host ports of pods (CNI-HOSTPORT-*)"), ("nat", "masquerade rules of the network plugin"),
           ("filter", "policy rules of the network plugin"))
_OWN = "rules of others"
# man iptables: -A and -I add a rule even if it exists already.
_IDEMPOTENT = (
    " It adds rules after its flush, and without the flush each run adds them once more: first make it idempotent with "
    "a chain of its own (iptables -N SITE || iptables -F SITE) and one jump to it (iptables -C INPUT -j SITE || "
    "iptables -I INPUT -j SITE).")
_TEARDOWN = (" It is the distribution's script that removes Kubernetes from the node: disable what starts it, and do "
             "not change the script.")


def saved(place):
    """`place`: the file that the remaining rules are saved to, or None."""
    return (" The rule set without these rules is saved afterwards (%s): a boot does not bring rules of others back."
            % place if place else "")


def rebuilt(tables, restarted):
    """Which program rebuilds which of these tables after these programs of Kubernetes are restarted."""
    if not restarted:
        return ""
    chains = [(program, _chains(program, tables)) for program in restarted]
    return " Afterwards it restarts %s.%s" % (
        " and ".join(restarted), "".join(" %s rebuilds %s." % (program, names) for program, names in chains if names))


def lost(tables, restarted):
    """Which rules of these tables stay lost after these programs are restarted."""
    if not restarted:
        return ""
    chains = [(program, _chains(program, tables)) for program in (KUBE_PROXY, KUBELET) if program not in restarted]
    names = ["%s of %s (until it is restarted)" % (names, program) for program, names in chains if names]
    return " Stays lost: %s." % ", ".join(names + [what for table, what in _OTHERS if _has(tables, table)] + [_OWN])


def advice(appends, is_teardown):
    """Advice that a user needs before a command is removed."""
    return _TEARDOWN if is_teardown else _IDEMPOTENT if appends else ""


def _chains(program, tables):
    return ", ".join(names for table, names in _CHAINS[program] if _has(tables, table))


def _has(tables, table):
    return table in tables or tuple(tables) == EVERY
