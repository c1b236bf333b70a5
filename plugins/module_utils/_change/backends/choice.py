# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The backend that a node should use. PRIVATE to the collection."""

BACKENDS = ("nft", "legacy")
AUTO = "auto"


def choose_backend(option, users, programs, able):
    """(nft, legacy or None, one sentence why).

    `users`: [(who, family, nft | legacy | both | none | None)], what kubelet and kube-proxy use; `programs`: nft,
    legacy or mixed, what the node's own programs are; `able(backend)`: whether this system has it.
    """
    if option != AUTO:
        return option, "it was asked for"
    using = {backend: ["%s (%s)" % (who, family) for who, family, used in users if used == backend]
             for backend in BACKENDS + ("both", None)}
    certain = [backend for backend in BACKENDS if using[backend]]
    if len(certain) > 1:
        return None, "%s in the nft backend and %s in the legacy backend: say which one is meant" % (
            " and ".join(using["nft"]), " and ".join(using["legacy"]))
    if certain:
        return certain[0], "%s in it" % (" and ".join(using[certain[0]])
                                         + (" have chains" if len(using[certain[0]]) > 1 else " has chains"))
    if using["both"]:
        return None, "%s in both backends, so the rules do not tell which one is in use: say which one is meant" % (
            " and ".join(using["both"]) + (" have chains" if len(using["both"]) > 1 else " has chains"))
    if using[None]:
        return None, "the rules could not be read, so what %s is not known" % " and ".join(using[None] + ["use"])
    if programs in BACKENDS:
        return programs, "the node's programs are of it, and no rules of Kubernetes say otherwise"
    found = next((backend for backend in BACKENDS if able(backend)), None)
    if found is None:
        return None, "neither the nft nor the legacy backend is whole here"
    return found, "there are no rules of Kubernetes, the node's programs differ, and the kernel has it"
