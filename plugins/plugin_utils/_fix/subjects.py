# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects of a fix, in the order in which they depend on each other. PRIVATE to the collection."""

from typing import Callable, NamedTuple, Optional

from . import changes, conntrack, flush_hooks, iptables_backend, kernel_modules, kube_proxy


class Subject(NamedTuple):
    """One subject is one module of the same name and one role.

    `judged` are the sections that must have been judged before anything is decided, `stale` those whose findings a
    change makes stale. A subject that is restarted only has no module; the functions that read its results are None.
    """

    name: str
    role: str
    judged: tuple[str, ...]
    stale: tuple[str, ...]
    work: Callable
    undo: Optional[Callable]
    refusals: Optional[Callable]
    changes: Optional[Callable]


def _subject(name, file, judged, changes_of):
    return Subject(name, file.ROLE, judged, file.STALE, file.work, file.undo, file.refusals, changes_of)


# Sysctls of connection tracking exist when its modules are loaded. Hooks are removed before anything restarts or
# reboots, and the programs are switched before kubelet restarts, which writes with the programs it finds.
SUBJECTS = (
    _subject("kernel_modules", kernel_modules, ("KMOD",), changes.of_modules),
    _subject("conntrack", conntrack, ("CTRACK",), changes.of_settings),
    _subject("flush_hooks", flush_hooks, ("HOOK",), changes.of_files),
    _subject("iptables_backend", iptables_backend, ("BACKEND", "CHAIN"), changes.of_groups),
    _subject("kube_proxy", kube_proxy, ("KPROXY",), None),
)
NAMES = tuple(subject.name for subject in SUBJECTS)
