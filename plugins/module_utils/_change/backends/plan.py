# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and carries out the switch of a node's iptables programs to one backend.

Planning only reads, so check mode shows exactly what a run does. A refusal is not a failure: nothing was changed, and
the message names the step that must come first."""

from ... import _errors
from ..._host import lock, write
from ..._host.host import ABSENT, OK
from ..._look import tree
from ..._look.backends.groups import NEEDED, family_of, groups_of
from ..._look.backends.iptables_backend import collect_iptables_backend
from ..._look.host.host import collect_host
from ..._look.rules.rule_sets import rules_of
from ..files import finished
from . import record as backends_record
from .groups import BACKENDS, GroupChange, choose_backend, switch_all, undoing
from .record import Record

OPTIONS = dict(tree.TREE_OPTIONS, state={"type": "str", "choices": ["present", "absent"], "default": "present"},
               backend={"type": "str", "choices": ["auto", "nft", "legacy"], "default": "auto"},
               live={"type": "bool", "default": False})
RULES = {}


class Plan:
    """`changes` of groups, `saves` {path: argv}, the `groups` and `pending` of the record afterwards, and the
    `result` of the module."""

    def __init__(self, host, node):
        self.host, self.node = host, node
        self.rules = rules_of(host, node)
        self.found = groups_of(host)
        self.record = Record(host)
        self.changes, self.saves = [], {}
        self.groups = dict(self.record.entries)
        self.pending = self.record.pending
        self.undo, self.problems = False, []
        self.result = {"backend": None, "backend_because": "", "groups": [], "refused": None, "live_rules": False,
                       "left": [], "reboot_needed": False, "saved": [], "conflicts": []}

    def refuse(self, error):
        self.changes, self.saves = [], {}
        self.groups, self.pending = dict(self.record.entries), self.record.pending
        self.result.update(refused=str(error), live_rules=error.live, reboot_needed=False, saved=[])
        for row in self.result["groups"]:
            row.update(after=row["before"], mode_after=row["mode_before"])

    def contents(self):
        return self.record.contents(self.groups, self.pending)

    def changed(self):
        contents = self.contents()
        return bool(self.changes or self.saves or self.record.file_change(contents)
                    or self.record.leftovers(contents, self.changes))


def plan_present(plan, params):
    """Plan to switch every group to the requested backend."""
    if not plan.found:
        raise Refused("this system has no iptables program that can be switched")
    evidence = collect_iptables_backend(plan.host, plan.node, plan.rules)
    able, programs = _Able(plan), {group.backend for group in plan.found if group.name in NEEDED}
    backend, because = choose_backend(params["backend"], _users(plan, evidence),
                                      programs.pop() if len(programs) == 1 else "mixed", able)
    plan.result.update(backend=backend, backend_because=because)
    _tell_groups(plan, [])
    if backend is None:
        raise Refused(because)
    plan.result["conflicts"] = conflicts_of(evidence, backend)
    plan.result["left"] = left_in(plan.rules, [other for other in BACKENDS if other != backend])
    problem = next((_problem(group, backend) for group in plan.found
                    if group.name in NEEDED and _problem(group, backend)), None)
    if problem:
        raise Refused(problem)
    for group in plan.found:
        if group.backend != backend and backend in group.choices and not group.problem:
            plan.changes.append(GroupChange(group.name, group.mechanism, group.state_file, group.state(),
                                            group.wanted(backend)))
    _tell_groups(plan, plan.changes, backend)
    if plan.changes:
        _must_be_changeable(plan)
        lacks = able.kernel(backend)
        if lacks:
            raise Refused("the %s backend cannot be used: %s" % (backend, lacks))
    plan.groups.update((change.name, change.entry(plan.record.entries.get(change.name))) for change in plan.changes)
    _see_to_live_rules(plan, params, [(other, family) for other in BACKENDS if other != backend
                                      for family in ("ipv4", "ipv6")], backend)


def plan_absent(plan, params):
    """Plan to put every group back that was switched; all of them or none."""
    plan.undo = True
    _tell_groups(plan, [])
    if plan.record.waits and not plan.record.entries and plan.record.pending["backend"] is None:
        # An undo on a live node that waits for the reboot.
        plan.result.update(reboot_needed=True, saved=list(plan.record.pending["saved"]))
        return
    problems = []
    for name, entry in sorted(plan.record.entries.items()):
        change, problem = undoing(plan.host, name, entry)
        problems += [problem] if problem else []
        plan.changes += [change] if change else []
    plan.groups, plan.pending = {}, None
    if problems:
        raise Refused("; ".join(problems) + ". Nothing was put back: switch it by hand, and remove %s"
                      % backends_record.RECORD)
    _tell_groups(plan, plan.changes)
    if plan.changes:
        _must_be_changeable(plan)
    groups = {group.name: group for group in plan.found}
    leaving = [(backend, family) for change in plan.changes if change.name in groups
               for family in family_of(groups[change.name]) for backend in BACKENDS
               if backend != _backend_after(groups[change.name], change)]
    plan.result["left"] = left_in(plan.rules, sorted({backend for backend, _family in leaving}))
    if not plan.record.waits:  # Until the reboot after a switch the rules are still in the former backend.
        _see_to_live_rules(plan, params, leaving, None)


def _see_to_live_rules(plan, params, leaving, backend):
    """Rules of Kubernetes in the old backend stay active until the reboot: refuse, or save all rules and report
    that a reboot is needed."""
    unread = [row["evidence"] for row in plan.rules.unread if any(row["source"] == "%s_%s" % each for each in leaving)]
    if unread and (plan.changes or params["live"]):
        raise Refused("whether the old backend holds rules of Kubernetes is not known: %s" % unread[0])
    held = [row for row in plan.result["left"] if (row["backend"], row["family"]) in leaving]
    if not held or not (plan.changes or params["live"]):
        return
    if not params["live"]:
        raise Refused("%s, and the program that writes them keeps using it until the node is rebooted. Cordon the node "
                      "and migrate it with a reboot" % (
                          " and ".join("%d chains of Kubernetes are in the %s backend (%s)"
                                       % (row["chains"], row["backend"], row["family"]) for row in held)), live=True)
    plan.result["reboot_needed"] = True
    waits = plan.record.waits and plan.record.pending["backend"] == backend
    if waits and not plan.changes:
        plan.result["saved"] = list(plan.record.pending["saved"])
        return
    failed = sorted(source for source, status in plan.rules.collected.items() if status not in (OK, ABSENT))
    if failed:
        raise Refused("the rules of %s could not be read, so they cannot be saved before the reboot removes them"
                      % ", ".join(failed))
    plan.saves = backends_record.saves_of(plan.rules, plan.record.boot_id)
    plan.result["saved"] = sorted(plan.saves)
    plan.pending = {"boot_id": plan.record.boot_id, "backend": backend, "saved": sorted(plan.saves)}


class _Able:
    """Whether this system has a backend: its programs and its kernel, which is checked at most once for each."""

    def __init__(self, plan):
        self._plan = plan
        self._kernel = {}

    def __call__(self, backend):
        needed = [group for group in self._plan.found if group.name in NEEDED]
        return bool(needed) and not any(_problem(group, backend) for group in needed) and self.kernel(backend) is None

    def kernel(self, backend):
        if backend not in self._kernel:
            from ..._look.backends.iptables_backend import kernel_lacks
            self._kernel[backend] = kernel_lacks(self._plan.host, self._plan.node, backend)
        return self._kernel[backend]


def _users(plan, evidence):
    """Which program uses which backend; in an image none runs."""
    if plan.rules.source is None:
        return []
    return [(who, family, evidence[key][family])
            for who, key in (("kubelet", "kubelet_backend"), ("kube-proxy", "kube_proxy_backend"))
            for family in sorted(evidence[key])]


def _problem(group, backend):
    """Why a group cannot be switched to a backend, or None."""
    if group.backend == backend:
        return None
    if group.problem:
        return "%s cannot be switched: %s" % (group.name, group.problem)
    if backend not in group.choices:
        return "this system has no %s of the %s backend (%s has %s)" % (
            group.name, backend, group.mechanism, " and ".join(sorted(group.choices)) or "none")
    return None


def _must_be_changeable(plan):
    seen = collect_host(plan.host, plan.node)
    if seen["immutable"]:
        raise Refused("this system is immutable (%s), so nothing is switched on it; build the backend into its image"
                      % seen["immutable_by"])
    if not plan.host.is_root():
        raise _errors.ChangeFailed("switching alternatives needs root; become root. Nothing was changed")


def _tell_groups(plan, changes, backend=None):
    """Write one row per group into the result; `after` is its planned backend."""
    by_name = {change.name: change for change in changes}
    plan.result["groups"] = []
    for group in plan.found:
        change = by_name.get(group.name)
        problem = group.problem or (_problem(group, backend) if backend else None)
        plan.result["groups"].append({
            "name": group.name, "programs": group.programs, "mechanism": group.mechanism, "before": group.backend,
            "after": _backend_after(group, change) if change else group.backend, "mode_before": group.mode,
            "mode_after": change.after["mode"] if change else group.mode, "msg": problem or ""})


def _backend_after(group, change):
    return next((backend for backend in BACKENDS if group.choices.get(backend) == change.after["links"]), "unknown")


def carry_out(plan):
    """Save the rules, record the planned switches, then switch. Raises ChangeFailed where no change stays, or where the
    record names every change that stays."""
    plan.record.refuse_stale()
    former, contents = plan.record.held, plan.contents()
    try:
        backends_record.save(plan.host, plan.saves)
        if not plan.undo:
            plan.record.write(contents)
    except _errors.ChangeFailed as error:
        plan.record.settle_as(former, contents, plan.changes)
        raise _errors.ChangeFailed("%s. Nothing was changed" % error) from error
    try:
        switch_all(plan.host, plan.changes)
    except _errors.ChangeFailed as error:
        if not error.changed:
            plan.record.settle_as(former, contents, plan.changes)
        raise
    plan.problems = plan.record.settle(contents, plan.changes)


def _refuse_unwritable(plan):
    """Check that every file can be written before the first is written; check mode does this too."""
    paths = [path for change in plan.changes for path in change.paths()]
    paths += [backends_record.RECORD] if plan.changed() else []
    problems = [problem for problem in (write.may_write(plan.host, path) for path in paths) if problem]
    if problems:
        raise _errors.ChangeFailed("; ".join(problems[:2]) + ". Nothing was changed")


def run(params, check_mode):
    """Plan and, unless `check_mode`, carry out; returns the result of the module
    kubenode.netfilter.iptables_backend."""
    host, node = tree.open_asked(params)
    with lock.one_run(host, check_mode):
        plan = Plan(host, node)
        try:
            (plan_absent if params["state"] == "absent" else plan_present)(plan, params)
        except Refused as error:
            plan.refuse(error)
        return finish(plan, check_mode)


def finish(plan, check_mode):
    """The result of a plan, which is carried out unless `check_mode`."""
    changed = plan.changed()
    record = [plan.record.path] if plan.record.file_change(plan.contents()) else []
    if changed:
        _refuse_unwritable(plan)
        if not check_mode:
            text = plan.record.text
            carry_out(plan)
            record = record if plan.record.text != text else []
    files = [path for change in plan.changes for path in change.paths()]
    diff = [change.diff() for change in plan.changes]
    diff += [{"before_header": path, "after_header": path, "before": "", "after": "the present rules\n"}
             for path in sorted(plan.saves)]
    result = dict(plan.result, changed=changed, diff=diff,
                  files=sorted(plan.saves) + (files + record if plan.undo else record + files))
    return finished(result, plan.problems)


class Refused(Exception):
    """The module changes nothing; the text is one sentence. `live`: whether the reason is that rules of Kubernetes
    would be left behind, which `live=true` allows."""

    def __init__(self, sentence, live=False):
        super(Refused, self).__init__(sentence)
        self.live = live


def left_in(rules, backends):
    """Chains whose names begin with KUBE- in these backends: rows by backend and family, none where there are none."""
    rows = []
    for found in sorted(rules.rule_sets, key=lambda each: (each.backend or "", each.family or "")):
        held = [table.rule_counts()[chain] for table in found.tables.values() for chain in table.chains
                if chain.startswith("KUBE-")]
        if found.backend in backends and held:
            rows.append({"backend": found.backend, "family": found.family, "chains": len(held), "rules": sum(held)})
    return rows


def conflicts_of(evidence, backend):
    """Builds in containers that conflict with the backend: fixed to the other one, or so old that matches are lost."""
    rows = []
    for row in evidence["containers"]:
        because = row["because"] if row["strips"] else ""
        if row["backend"] in BACKENDS and row["backend"] != backend:
            because = "its iptables always uses the %s backend" % row["backend"]
        if because:
            rows.append({"name": row["container"] or row["comm"], "pod": row["pod"], "namespace": row["namespace"],
                         "path": row["path"], "version": row["version"], "backend": row["backend"], "because": because})
    return rows
