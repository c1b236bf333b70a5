# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The backend that a node should use."""

BACKENDS = ("nft", "legacy")
AUTO = "auto"


def choose_backend(option, users, programs, able):
    """(nft, legacy or None, one sentence why). `users`: [(who, family, nft | legacy | both | none | None)], the
    backends that kubelet and kube-proxy use; `programs`: nft, legacy or mixed, the backend of the node's own programs;
    `able(backend)`: whether this system has it."""
    if option != AUTO:
        return option, "the option backend names it"
    using = {backend: ["%s (%s)" % (who, family) for who, family, used in users if used == backend]
             for backend in BACKENDS + ("both", None)}
    certain = [backend for backend in BACKENDS if using[backend]]
    if len(certain) > 1:
        return None, "%s in the nft backend and %s in the legacy backend; give backend: nft or backend: legacy" % (
            " and ".join(using["nft"]), " and ".join(using["legacy"]))
    if certain:
        return certain[0], "%s in it" % (" and ".join(using[certain[0]])
                                         + (" have chains" if len(using[certain[0]]) > 1 else " has chains"))
    if using["both"]:
        return None, "%s in both backends; give the one in use as backend: nft or backend: legacy" % (
            " and ".join(using["both"]) + (" have chains" if len(using["both"]) > 1 else " has chains"))
    if using[None]:
        return None, ("the rules could not be read, so the backend that %s is not known"
                      % " and ".join(using[None] + ["use"]))
    if programs in BACKENDS:
        return programs, "the node's iptables programs use it, and there are no rules of Kubernetes"
    found = next((backend for backend in BACKENDS if able(backend)), None)
    if found is None:
        return None, "this system has all parts of neither the nft nor the legacy backend"
    return found, ("there are no rules of Kubernetes, the node's iptables programs use different backends, and the "
                   "kernel has this one")
