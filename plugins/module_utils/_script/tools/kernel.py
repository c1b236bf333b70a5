# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ipset, ipvsadm, modprobe -r, rmmod and kube-proxy --cleanup. PRIVATE to the collection."""

import re

from ..effect import CERTAIN, EVERY, IPV4, IPV6, LIKELY, POSSIBLE
from ..values import MARK, SETS
from ..words import MODULE

# Sets of kube-proxy, kube-router, Calico, Weave, Cilium and Azure NPM.
_OTHERS_SET = re.compile(r"(?:KUBE-|kube-router-|cali[46]0|weave-|cilium_|azure-npm-)")
_SET_VERBS = {"flush": "flush", "-F": "flush", "--flush": "flush", "destroy": "destroy", "-X": "destroy",
              "--destroy": "destroy", "x": "destroy"}


def run_kernel(walker, node, kind, name, arguments):
    plain = [word for word in arguments if not word.startswith("-")]
    if kind == "sets":
        _sets(walker, node, arguments)
    elif kind == "ipvs":
        if name == "ipvsadm-restore" or any(re.match(r"-[CR]\Z|--(?:clear|restore)\Z", word) for word in arguments):
            walker.effect(node, "ipvs", families=(IPV4, IPV6), tables=EVERY)
    elif kind == "module":
        modules = [word.replace("-", "_") for word in plain if MODULE.match(word.replace("-", "_"))]
        asks = any(re.match(r"-[a-z]*n|--dry-run|--show", word) for word in arguments)
        if modules and not asks and (name == "rmmod"
                                     or any(re.match(r"-[a-z]*r|--remove", word) for word in arguments)):
            walker.effect(node, "module", tables=tuple(modules))
    elif kind == "cleanup" and any(word in ("--cleanup", "--cleanup=true", "--cleanup-iptables") for word in arguments):
        walker.effect(node, "delete", families=(IPV4, IPV6), tables=("nat", "filter", "mangle"), chains=("KUBE-*",))


def _sets(walker, node, arguments):
    verb = next((_SET_VERBS[word] for word in arguments if word in _SET_VERBS), None)
    operands = [word for word in arguments if not word.startswith(("-", "!")) and word not in _SET_VERBS]
    if verb is None:
        return
    known = operands[0].partition(MARK)[0] if operands else ""
    if not known:
        confidence = CERTAIN if not operands else LIKELY if operands[0] == SETS else POSSIBLE
        walker.effect(node, "sets", families=(IPV4, IPV6), tables=EVERY, confidence=confidence)
    elif _OTHERS_SET.match(operands[0]):
        walker.effect(node, "sets", families=(IPV4, IPV6), tables=(known + ("*" if MARK in operands[0] else ""),),
                      confidence=LIKELY if MARK in operands[0] else CERTAIN)
