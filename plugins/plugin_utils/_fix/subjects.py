# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects of a fix, in the order in which they depend on each other, and what a module changed, or in check mode
would change, in a few words each. PRIVATE to the collection."""

from typing import Callable, NamedTuple, Optional

from . import conntrack, flush_hooks, iptables_backend, kernel_modules, restarts

# Records and backups serve the undo and do not count as changes of the node.
_OURS = "/var/lib/kubenode-netfilter/"


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


def files_changed(result: dict) -> list[str]:
    """The files of the node that were written or removed."""
    return [path for path in result.get("files") or [] if not path.startswith(_OURS)]


def modules_changed(result: dict) -> list[str]:
    """The modules that were loaded, and the files."""
    loaded = [row["name"] for row in result.get("modules") or []
              if row["after"] != row["before"] and row["after"] in ("loaded", "builtin")]
    return ["load %s" % name for name in loaded] + files_changed(result)


def settings_changed(result: dict) -> list[str]:
    """The sysctls that were set, and the files."""
    rows = [row for row in result.get("settings") or [] if row["after"] is not None and row["after"] != row["before"]]
    return ["%s: %s -> %s" % (row["key"], row["before"], row["after"]) for row in rows] + files_changed(result)


def groups_changed(result: dict) -> list[str]:
    """The groups of iptables programs that were switched, and the files."""
    rows = [row for row in result.get("groups") or [] if row["after"] != row["before"]]
    return ["%s: %s -> %s" % (row["name"], row["before"], row["after"]) for row in rows] + files_changed(result)


# Sysctls of connection tracking exist when its modules are loaded.
SUBJECTS = (
    _subject("kernel_modules", kernel_modules, ("KMOD",), modules_changed),
    _subject("conntrack", conntrack, ("CTRACK",), settings_changed),
    _subject("flush_hooks", flush_hooks, ("HOOK",), files_changed),
    _subject("iptables_backend", iptables_backend, ("BACKEND", "CHAIN"), groups_changed),
)
NAMES = tuple(subject.name for subject in SUBJECTS)
RESTARTS = (_restart(restarts.KUBELET, ("HOOK",)), _restart(restarts.KUBE_PROXY, ("KPROXY",)))
# What only the playbook repair does, one subject and one node at a time.
DISRUPTIVE = tuple(subject.name for subject in RESTARTS) + ("iptables_backend",)
