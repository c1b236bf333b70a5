# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script does after it removes rules: saves and adds others, restarts Kubernetes. PRIVATE to the collection.

The order is the order of execution, not that of the text: functions are defined before their calls. Events in one arm
of a condition do not precede events in another arm.

Which rules are lost after a script flushes them, as texts for findings.

Each text begins with a blank, or is empty where it does not apply, and is short enough for the evidence.
"""

import contextlib
import re

from .._rules.others.owners import CNI, owner_of
from .effect import EVERY

SAVED, APPENDED, RESTARTED = "saved", "appended", "restarted"
PROGRAMS = KUBELET, KUBE_PROXY = "kubelet", "kube-proxy"
# Programs that contain both are restarted as one (docs.k3s.io, docs.rke2.io, docs.k0sproject.io,
# canonical.com/microk8s/docs).
SERVICES = {
    "kubelet": (KUBELET,), "kube-proxy": (KUBE_PROXY,), "k3s": PROGRAMS, "k3s-agent": PROGRAMS, "rke2-server": PROGRAMS,
    "rke2-agent": PROGRAMS, "k0scontroller": PROGRAMS, "k0sworker": PROGRAMS, "snap.microk8s.daemon-kubelite": PROGRAMS}

_KILLERS = ("pkill", "killall")
# A stopped container or a deleted pod is started again by a program that is not in this script.
_CONTAINERS = {"kubectl": ("restart", "delete"), "docker": ("restart", "stop", "kill", "rm"),
               "podman": ("restart", "stop", "kill", "rm"), "nerdctl": ("restart", "stop", "kill", "rm"),
               "crictl": ("stop", "stopp", "rm", "rmp")}
_PACKAGES = {"snap": ("start", "restart"), "microk8s": ("start",)}
RESTARTERS = frozenset(_KILLERS) | frozenset(_CONTAINERS) | frozenset(_PACKAGES)


def restarted_by(name, arguments):
    """Programs of Kubernetes that one of RESTARTERS restarts."""
    if name in _PACKAGES:
        return PROGRAMS if set(_PACKAGES[name]) & set(arguments) and (name == "microk8s"
                                                                      or "microk8s" in arguments) else ()
    if name in _CONTAINERS and not set(_CONTAINERS[name]) & set(arguments):
        return ()
    return tuple(program for program in PROGRAMS if any(program in word for word in arguments))


def summary_of(after, families):
    """(where rules of these families are saved to or None, restarted programs, whether rules are added) by after()."""
    saved = [value for (what, family), value in after if what == SAVED and family in families]
    events = {event for event, _value in after}
    return (saved[0] if saved else None, tuple(program for program in PROGRAMS if (RESTARTED, program) in events),
            any((APPENDED, family) in events for family in families))


class Sequence:
    """`followed` {key: {(SAVED or APPENDED, family) or (RESTARTED, program): where rules are saved to, or True}}."""

    def __init__(self):
        self.followed = {}
        # {event that did not happen yet: [key]}; a key leaves the list with the event, so that each is touched once.
        self._open = {}
        # {family: [key]}: a program has printed the rules, and they are not written anywhere yet.
        self._printed = {}

    def takes(self, key, families):
        """A command removes rules of these families."""
        for event in [(what, family) for family in families
                      for what in (SAVED, APPENDED)] + [(RESTARTED, program) for program in PROGRAMS]:
            self._open.setdefault(event, []).append(key)

    def prints(self, families):
        """A command prints all rules of these families."""
        for family in families:
            self._printed.setdefault(family, []).extend(self._open.pop((SAVED, family), ()))

    def writes(self, place):
        """The printed rules are written to `place`; returns whether a command removed some of them before."""
        printed, self._printed = self._printed, {}
        for family, keys in printed.items():
            self._note(keys, (SAVED, family), place)
        return any(printed.values())

    def saves(self, families, place):
        """A service saves all rules of these families; returns whether a command removed some of them before."""
        removed = [self._open.pop((SAVED, family), ()) for family in families]
        for family, keys in zip(families, removed):
            self._note(keys, (SAVED, family), place)
        return any(removed)

    def appends(self, families):
        """A command adds a rule."""
        for family in families:
            self._note(self._open.pop((APPENDED, family), ()), (APPENDED, family), True)

    def restarts(self, programs):
        """A command restarts programs of Kubernetes."""
        for program in programs:
            self._note(self._open.pop((RESTARTED, program), ()), (RESTARTED, program), True)

    def _note(self, keys, event, value):
        for key in keys:
            self.followed.setdefault(key, {}).setdefault(event, value)

    def after(self, key):
        """((event, value), ...) that follow it."""
        return tuple(sorted(self.followed.get(key, {}).items()))

    @contextlib.contextmanager
    def branches(self):
        """A context for arms of which the script runs one; its value is called with how each of them ended."""
        lengths = {event: len(keys) for event, keys in self._open.items()}
        apart = []

        def end(ended):
            for event, keys in self._open.items():
                length = lengths.get(event, 0)
                if keys[length:] and ended != "exit":
                    apart.append((event, keys[length:]))
                del keys[length:]
        yield end
        for event, keys in apart:
            self._open.setdefault(event, []).extend(keys)


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
