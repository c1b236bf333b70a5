# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and carries out the removal of a node's hooks that flush the firewall.

Planning only reads, so check mode shows exactly what a run does. No unit is started, stopped, restarted or reloaded;
systemctl daemon-reload only makes systemd read its unit files again."""

import re

from ... import _errors
from ..._host import lock, write
from ..._look import tree
from ..._look.hooks.flush_hooks import DIRECTORIES, collect_flush_hooks
from ..files import FileChange, Plan, each_of, finished, plan_undo
from .record import DIVERTED, RECORD, Record, diversion

OPTIONS = dict(tree.TREE_OPTIONS, state={"type": "str", "choices": ["present", "absent"], "default": "present"},
               only={"type": "list", "elements": "str", "default": []},
               start={"type": "str", "choices": ["noflush", "mask"], "default": "noflush"},
               divert={"type": "bool", "default": False}, clean_saved={"type": "bool", "default": True},
               hook_directories={"type": "list", "elements": "path", "default": list(DIRECTORIES)})
RULES = {}
CLEANED = "cleaned"
RELOAD_SECONDS = 90.0
_UNIT_FOLDER = "/etc/systemd/"
_UNIT = re.compile(r"[^/\s]+\.(?:service|socket|timer|path|target|mount)\Z")
_LEFT = {
    "policy": "a policy removes no rule, so it is not changed; accept the traffic that pods need before the policy "
              "applies",
    "service_config": "it is a setting of that program; change it there",
    "nft_config": "it flushes the whole rule set; change it by hand so that it deletes only its own tables",
    "teardown": "it is the distribution's script that removes Kubernetes and its rules from the node; run it only for "
                "that",
    "library": "no script calls the function that it is in; change the script that will call it",
    "cloud_init": "it came with the user data of the instance; remove it from the user data"}
# The only hook found in this file is a flush at the stop (Debian's netfilter-persistent, FLUSH_ON_STOP), cleared by
# a drop-in.
_BY_DROP_IN = ("/etc/default/netfilter-persistent",)
# Actions of _script/edit/removal.py and _change/hooks/record.py.
_REMOVES = ("removed", "diverted")
DUPLICATES = ("it adds rules after its flush: without the flush each run adds them again, so make it idempotent first "
              "(iptables -C before -A or -I)")
_NOT_EDITED = "it cannot be changed automatically; remove the command by hand"


def plan_present(host, node, options):
    """Plan to neutralise what `options["only"]` selects."""
    found = collect_flush_hooks(host, node, tuple(options["hook_directories"]))
    wanted = _wanted(options["only"])
    plan = Plan(Record(host))
    rows = [row for row in found["hooks"] if wanted(row["path"], row["unit"], row["line"], row["live"] is not False)]
    plan.rows = [_shown(row) for row in rows]
    done = {}
    commands = [row for row in rows if row["fix"] in ("remove_command", "divert") and row["kind"] != "nft_config"
                and row["sort"] != "policy"]
    _plan_scripts(host, plan, [row for row in commands if row["fix"] == "remove_command"], False, done)
    diverted = [row for row in commands if row["fix"] == "divert"]
    if options["divert"]:
        _plan_scripts(host, plan, diverted, True, done)
    else:
        done.update((id(row), (None, "it is the script of a package; divert: true puts an edited copy in its place"))
                    for row in diverted)
    _plan_units(host, node, plan, rows, [row for row in found["unordered"] if wanted(row["path"], row["unit"])],
                options["start"], done)
    if options["clean_saved"]:
        _plan_saved(host, plan, [row for row in found["saved_rule_sets"] if wanted(row["path"], None)])
    for row, shown in zip(rows, plan.rows):
        shown["action"], shown["msg"] = done.get(id(row), (None, _LEFT.get(_why_left(row), _NOT_EDITED)))
        if row["appends"] and shown["action"] in _REMOVES:
            shown["msg"] = DUPLICATES
    _leave_unwritable(host, plan)
    return plan


def plan_absent(host, options):
    """Plan to put back what `options["only"]` selects of all that was changed."""
    plan = Plan(Record(host))
    plan.undo = True
    wanted = _wanted(options["only"])
    plan.changes, plan.entries, plan.problems = plan_undo(plan.record,
                                                          lambda path, entry: wanted(path, entry.get("unit")))
    _leave_unwritable(host, plan)
    return plan


def _wanted(only):
    """A function that returns whether `only` names a path, with or without its line, or a unit; a directory selects
    everything below it. A hook that is not live, such as a file that is not executable, is selected only by its exact
    name. Raises BadInput."""
    for name in only:
        # systemctl adds the unit type to a name without one. Here such a name would match nothing, and the hook would
        # stay without a message.
        if not name.startswith("/") and not _UNIT.match(name):
            raise _errors.BadInput("only: %r is neither an absolute path nor the name of a unit; give a value such "
                                   "as /opt/fw.sh or iptables.service" % name)

    def wanted(path, unit, line=None, live=True):
        if any(name in (path, unit, "%s:%s" % (path, line)) for name in only):
            return True
        return live and (not only
                         or any(name.startswith("/") and path.startswith(name.rstrip("/") + "/") for name in only))
    return wanted


def _shown(row):
    shown = {key: row[key] for key in ("path", "line", "command", "kind", "unit", "triggers")}
    shown.update(action=None, failed=False, msg="")
    return shown


def _why_left(row):
    return "policy" if row["sort"] == "policy" else row["purpose"] or row["kind"]


def _plan_scripts(host, plan, rows, divert, done):
    from .unit import edited_script
    files = {}
    for row in rows:
        # Every link is followed, so that no file is edited under two names.
        files.setdefault(host.tree_path(row["path"]) or row["path"], []).append(row)
    for path, those in sorted(files.items()):
        try:
            before, after, outcomes = edited_script(host, path, those)
            if after != before:
                plan.changes.append(diversion(host, path, before, after) if divert else FileChange(path, before, after))
                outcomes = {identity: (DIVERTED if action and divert else action, message)
                            for identity, (action, message) in outcomes.items()}
            done.update(outcomes)
        except _errors.ChangeFailed as error:
            plan.problems.append("%s: %s" % (path, error) if divert else str(error))
            done.update((id(row), (None, plan.problems[-1])) for row in those)


def _plan_units(host, node, plan, rows, unordered, start, done):
    rows = [row for row in rows if row["fix"] == "drop_in"
            or (row["unit"] and (row["kind"] == "nft_config" or row["path"] in _BY_DROP_IN))]
    if not rows and not unordered:
        return
    from ..._look.units.units import Units
    from .unit import counts_for_many, fix_unit, units_of
    units = Units(host, node)
    by_unit, before = {}, {}
    for row in rows:
        many = row["kind"] == "unit" and counts_for_many(row["path"])
        if many:
            done[id(row)] = (None, "it applies to several units; remove the command there by hand")
        for name in () if many else units_of(row, units):
            by_unit.setdefault(name, []).append(row)
    for row in unordered:
        by_unit.setdefault(row["unit"], [])
        before.setdefault(row["unit"], []).append(row["before"])
    fixes = [fix_unit(host, units, name, those, sorted(set(before.get(name, ()))), start)
             for name, those in sorted(by_unit.items())]
    accepted = {}
    for fix in fixes:
        _verify(host, units, plan, fix, accepted)
        plan.changes.extend(fix.changes())
        for identity, (action, message) in fix.done.items():
            former = done.get(identity)
            # A script that two units run counts as changed only where both units are changed.
            done[identity] = (action, message) if former is None or former[0] else former
    known = {row["unit"] for row in plan.rows}
    for fix in fixes:
        if fix.name in before and fix.changes() and fix.name not in known:
            plan.rows.append({"path": fix.unit.path, "line": None, "command": None, "kind": "unit", "unit": fix.name,
                              "triggers": ["boot"], "action": "ordered", "failed": False, "msg": ""})


def _verify(host, units, plan, fix, accepted):
    """Keep the part of a drop-in that systemd accepts together with the drop-ins before it: remove its order where that
    makes a cycle, and the whole drop-in where systemd still refuses it."""
    from .unit import complaints
    if not fix.changes() or fix.masks:
        return
    problems = complaints(host, units, dict(accepted, **{fix.name: fix.drop_in.text()}))
    if problems and fix.drop_in.before:
        problem = "%s cannot be ordered before %s: %s" % (fix.name, ", ".join(fix.drop_in.before), "; ".join(problems))
        plan.problems.append(problem)
        fix.drop_in.before = []
        problems = complaints(host, units, dict(accepted, **{fix.name: fix.drop_in.text()}))
    if problems:
        plan.problems.append("systemd refuses the drop-in of %s: %s" % (fix.name, "; ".join(problems)))
        fix.say(None, plan.problems[-1])
        fix.drop_in = None
    else:
        accepted[fix.name] = fix.drop_in.text()


def _plan_saved(host, plan, rows):
    for row in rows:
        if not row["kubernetes"]:
            continue
        shown = {"path": row["path"], "line": None, "command": None, "kind": "saved_rules", "unit": None,
                 "triggers": ["boot"] if row["at_boot"] else [], "action": None, "failed": False, "msg": ""}
        plan.rows.append(shown)
        if row["format"] != "iptables":
            shown["msg"] = "it is a saved nft rule set; save only the site's own tables"
            continue
        from ..._script.edit.clean_saved import clean_saved
        from ..._script.rule_files import SIZE_LIMIT
        path = host.tree_path(row["path"])
        before = write.read_exactly(host, path, SIZE_LIMIT)
        cleaned = clean_saved(before)
        if cleaned.text != before:
            plan.changes.append(FileChange(path, before, cleaned.text))
            shown["action"], shown["msg"] = CLEANED, "%d chains and %d rules of Kubernetes and its network plugin" % (
                cleaned.chains, cleaned.rules)


def _leave_unwritable(host, plan):
    """Check every file before the first is written. One that cannot be changed does not stop the others; without a
    record nothing is changed."""
    record = write.may_write(host, RECORD) if plan.changes else None
    if record:
        raise _errors.ChangeFailed(record + ". Nothing was changed")
    for change in list(plan.changes):
        problem = write.may_write(host, change.path)
        if problem:
            plan.changes.remove(change)
            _fail_change(plan, change, problem)


def _fail_change(plan, change, problem, made=False):
    """Report a change that is not made, or may not last; for an undo its entry stays in the record."""
    plan.problems.append(problem)
    if plan.undo:
        plan.entries[change.path] = plan.record.entries[change.path]
    for row in plan.rows:
        if row["path"] == change.path or (row["unit"] is not None and row["unit"] == change.unit):
            row.update(action=row["action"] if made else None, failed=True, msg=problem)


def carry_out(host, plan, reload):
    """Make the changes. One that fails is reported and does not stop the others, because each hook alone can flush."""
    if plan.undo:
        plan.record.refuse_stale()
    else:
        plan.record.begin(plan.changes, plan.contents())
    for change, error in each_of(list(plan.changes), lambda change: change.make(host)):
        if not error.changed:
            plan.changes.remove(change)
        _fail_change(plan, change, str(error), bool(error.changed))
    if reload:
        done = host.run(["systemctl", "daemon-reload"], RELOAD_SECONDS)
        if not done.ok:
            plan.problems.append("systemctl daemon-reload failed: %s"
                                 % ((done.err or done.out).strip()[:200] or done.status))
    plan.problems += plan.record.settle(plan.contents() if plan.undo else plan.record.held, plan.changes)


def _must_reload(host, plan):
    """Whether systemd has to reload its units: they change now, or an earlier run was killed before the reload."""
    if not host.commands or not host.is_dir("/run/systemd/system"):
        return False
    if any(change.path.startswith(_UNIT_FOLDER) for change in plan.changes):
        return True
    units = sorted({entry["unit"] for entry in plan.record.entries.values() if entry.get("unit")})
    return bool(units) and "NeedDaemonReload=yes" in host.run(["systemctl", "show", "--property=NeedDaemonReload",
                                                               "--"] + units).out


def run(params, check_mode):
    """Plan and, unless `check_mode`, carry out; returns the result of the module kubenode.netfilter.flush_hooks."""
    host, node = tree.open_asked(params)
    with lock.one_run(host, check_mode):
        plan = plan_absent(host, params) if params["state"] == "absent" else plan_present(host, node, params)
        reload, changes = _must_reload(host, plan), plan.all_changes()
        changed = bool(changes or reload or plan.record.leftovers(plan.contents(), plan.changes))
        if not check_mode and changed:
            carry_out(host, plan, reload)
            changes = plan.record.made(changes, plan.changes)
    result = {"changed": changed, "diff": [change.diff() for change in changes],
              "files": [change.path for change in changes], "hooks": plan.rows, "daemon_reload": reload}
    duplicates = {(row["path"], row["msg"]) for row in plan.rows if row["msg"] == DUPLICATES}
    warnings = plan.record.notices + ["%s: %s" % row for row in sorted(duplicates)]
    return finished(result, plan.problems, warnings)
