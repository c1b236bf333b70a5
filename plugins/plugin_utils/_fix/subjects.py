# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects of a fix, in the order in which they depend on each other. PRIVATE to the collection."""

from typing import Callable, NamedTuple, Optional

from . import changes, conntrack, flush_hooks, iptables_backend, kernel_modules, restarts


class Subject(NamedTuple):
    """One subject is one role and one module, of the same name; a restart has no role and is not undone.

    `judged` are the sections that must have been judged before anything is decided, `stale` those whose findings a
    change makes stale.
    """

    name: str
    role: str
    judged: tuple[str, ...]
    stale: tuple[str, ...]
    work: Callable
    undo: Optional[Callable]
    refusals: Callable
    changes: Callable
    module: str


def _subject(name, file, judged, changes_of):
    return Subject(name, file.ROLE, judged, file.STALE, file.work, file.undo, file.refusals, changes_of, name)


def _restart(name, judged):
    return Subject(name, restarts.ROLE, judged, restarts.STALE[name], restarts.work_on(name), None, restarts.refusals,
                   restarts.changes, restarts.MODULE)


# Sysctls of connection tracking exist when its modules are loaded.
SUBJECTS = (
    _subject("kernel_modules", kernel_modules, ("KMOD",), changes.of_modules),
    _subject("conntrack", conntrack, ("CTRACK",), changes.of_settings),
    _subject("flush_hooks", flush_hooks, ("HOOK",), changes.of_files),
    _subject("iptables_backend", iptables_backend, ("BACKEND", "CHAIN"), changes.of_groups),
)
NAMES = tuple(subject.name for subject in SUBJECTS)
RESTARTS = (_restart(restarts.KUBELET, ("HOOK",)), _restart(restarts.KUBE_PROXY, ("KPROXY",)))
# What only the playbook repair does, one subject and one node at a time.
DISRUPTIVE = tuple(subject.name for subject in RESTARTS) + ("iptables_backend",)
