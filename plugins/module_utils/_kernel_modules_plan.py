# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What loading and persisting a set of modules changes on a node: the plan and its execution. PRIVATE to the collection.

A plan is made by looking only, so check mode shows exactly what a run does.
"""

import json
import os

from . import _errors, _host, _host_change
from ._collect import _module_state
from ._collect._module_look import Look
from ._collect._tree import open_asked

LOAD_DIRECTORY = "/etc/modules-load.d"
# What was changed in files that are not ours, so that state=absent can put it back byte for byte.
RECORD = "/var/lib/kubenode-netfilter/kernel_modules.json"
HEADER = "# Modules this node's netfilter needs, loaded at boot. Written by kubenode.netfilter.kernel_modules; changes are overwritten.\n"
MARK = "# kubenode.netfilter lifted: "
# modprobe resolves, reads and links; slow disks and emulated machines need seconds, a set of 60 never minutes.
MODPROBE_SECONDS = 60.0


# What of a row is returned; the rest is for the plan itself.
SHOWN = ("name", "module", "before", "after", "loaded", "persisted", "blocked", "failed", "msg")


class FileChange(object):
    """One file: C(before) and C(after) are its texts, None where it does not exist."""

    def __init__(self, path, before, after, mode=0o644):
        self.path = path
        self.before = before
        self.after = after
        self.mode = mode

    def make(self, host):
        if self.after is None:
            _host_change.remove(host, self.path)
            if self.path == RECORD:
                _host_change.remove_empty_folder(host, os.path.dirname(RECORD))
        else:
            _host_change.replace(host, self.path, self.after, self.mode)

    def diff(self):
        return {"before_header": self.path, "after_header": self.path, "before": _shown(self.before), "after": _shown(self.after)}


class Plan(object):
    """C(files) to write, C(to_load) by name, C(rows): what is said of each module asked for, and the C(look) it rests on."""

    def __init__(self, look=None):
        self.look = look
        self.files = []
        self.to_load = []
        self.rows = []
        self.problems = []

    @property
    def changes(self):
        return bool(self.files or self.to_load)


def plan_present(host, node, names, options):
    """Plan to have C(names) loaded (C(options["load"]), live places only), persisted and, where told, unblocked."""
    look = Look(host, node)
    plan = Plan(look)
    lift = _lift(host, look, names) if options["unblock"] else Lift()
    rows = [_row(look.module(name), lift) for name in names]
    may_load = options["load"] and node["place"] == "live" and host.root == "/"
    for row in rows:
        _judge_load(row, plan, look, may_load)
    if options["persist"]:
        persisted = _persisted_names(look, rows)
        path = LOAD_DIRECTORY + "/" + options["file"]
        _plan_file(host, plan, path, "".join([HEADER] + [name + "\n" for name in persisted]) if persisted else None)
        for row in rows:
            row["persisted"] = row["persist_as"] in persisted
    plan.files = lift.changes + plan.files
    if lift.changes:
        # Written first: a run that is killed behind it can still be undone.
        _plan_file(host, plan, RECORD, json.dumps(lift.record, indent=1, sort_keys=True) + "\n", 0o600, first=True)
    plan.rows = rows
    _refuse_unwritable(host, plan)
    if plan.to_load and not host.is_root():
        raise _errors.ChangeFailed("loading modules needs root; become root. Nothing was changed")
    return plan


def plan_absent(host, options):
    """Plan to remove the list of modules and to put back every file that a lifted block changed. Nothing is unloaded."""
    plan = Plan()
    _plan_file(host, plan, LOAD_DIRECTORY + "/" + options["file"], None)
    record = _read_record(host)
    kept = {}
    for path, entry in sorted(record["files"].items()):
        now = _host_change.read_exactly(host, path)
        if now == entry["before"]:
            continue  # The run that meant to change it was interrupted before it did.
        if now is None or _host_change.digest(now) != entry["sha256"]:
            kept[path] = entry
            plan.problems.append("%s was changed since its block was lifted, so it is not put back; its former content is in %s" % (path, RECORD))
            continue
        plan.files.append(FileChange(path, now, entry["before"]))
    if record["files"]:
        _plan_file(host, plan, RECORD, json.dumps({"files": kept}, indent=1, sort_keys=True) + "\n" if kept else None, 0o600)
    _refuse_unwritable(host, plan)
    return plan


def _refuse_unwritable(host, plan):
    """Nothing is begun that could not be finished: every file is asked after before the first is written."""
    problems = [problem for problem in (_host_change.may_write(host, change.path) for change in plan.files) if problem]
    if problems:
        raise _errors.ChangeFailed("; ".join(problems) + ". Nothing was changed")


def carry_out(host, plan):
    """Write the files, then load; every load is proved by looking again, never by modprobe's exit status."""
    for change in plan.files:
        change.make(host)
    if not plan.to_load:
        return
    said = host.run(["modprobe", "-a", "--"] + plan.to_load, MODPROBE_SECONDS)
    plan.look.see_what_is_loaded()
    for row in plan.rows:
        if row["load_as"] not in plan.to_load:
            continue
        row["after"] = plan.look.state_of(row["name"])
        row["loaded"] = row["after"] in (_module_state.LOADED, _module_state.BUILTIN)
        if not row["loaded"]:
            row["failed"], row["msg"] = True, _why_not(host, row["load_as"], said)


def _why_not(host, name, said):
    if said.status != _host.OK:
        return "modprobe did not end: %s" % said.status
    alone = host.run(["modprobe", "--", name], MODPROBE_SECONDS)
    text = (alone.err or alone.out).strip()[:400]
    return "modprobe ended with %s and the module is not loaded%s" % (alone.rc, ": " + text if text else "")


def _row(evidence, lift):
    blocks = [block for block in evidence["blocks"] if (block["file"], block["line"]) not in lift.lines]
    name = evidence["module"] or evidence["name"]
    return {
        "name": evidence["name"], "module": evidence["module"], "before": evidence["state"], "after": evidence["state"],
        "loaded": evidence["state"] in (_module_state.LOADED, _module_state.BUILTIN), "persisted": bool(evidence["persisted"]),
        "blocked": [block for block in blocks if "load" in block["for"]], "failed": False, "msg": "",
        "load_as": name, "persist_as": name, "evidence": evidence["evidence"],
    }


def _judge_load(row, plan, look, may_load):
    """Decide whether the module is loaded now, and say why not where it cannot be."""
    state = row["before"]
    if row["loaded"] or not may_load:
        return
    wide = [block for block in look.policy.kernel_wide if "load" in block.ways]
    if state != _module_state.LOADABLE:
        row["failed"], row["msg"] = True, "%s: %s" % (state, row["evidence"])
    elif wide:
        row["failed"], row["msg"] = True, "the kernel loads no modules: %s (%s)" % (wide[0].by, wide[0].path)
    elif row["blocked"]:
        block = row["blocked"][0]
        row["failed"] = True
        row["msg"] = "%s stops it: %s:%s: %s; unblock: true lifts what stands in a regular file" % (block["by"], block["file"], block["line"], block["text"])
    else:
        plan.to_load.append(row["load_as"])
        row["after"], row["loaded"] = _module_state.LOADED, True


def _persisted_names(look, rows):
    """Names for the list: all but those that every installed kernel has built in; a kernel more may boot one day."""
    names = []
    for row in rows:
        states = [_module_state.resolve(kernel, row["name"], look.running if kernel.running else None, look.system).state for kernel in look.kernels]
        if not states or any(state != _module_state.BUILTIN for state in states):
            names.append(row["persist_as"])
    return sorted(set(names))


def _plan_file(host, plan, path, after, mode=0o644, first=False):
    before = _host_change.read_exactly(host, path)
    if before != after:
        plan.files.insert(0 if first else len(plan.files), FileChange(path, before, after, mode))


def _read_record(host):
    text = _host_change.read_exactly(host, RECORD)
    if text is None:
        return {"files": {}}
    try:
        record = json.loads(text)
        return {"files": dict(record["files"])}
    except (ValueError, KeyError, TypeError) as error:
        raise _errors.ChangeFailed("%s is damaged, so what was lifted is not known; move it away to go on without undoing" % RECORD) from error


class Lift(object):
    """Lines that block a module and are about to become comments: C(lines) {(file, number)}, C(changes) [FileChange], C(record)."""

    def __init__(self):
        self.lines = set()
        self.changes = []
        self.record = None


def _lift(host, look, names):
    """A file below /etc is edited. One of a package is left alone and hidden by an edited copy of the same name in
    /etc/modprobe.d, as modprobe.d(5) has it. What stands on the kernel's command line cannot be lifted here."""
    lift = Lift()
    for name in names:
        for block in look.module(name)["blocks"]:
            # Behind a link lies a file of somebody else, and to undo would mean to bring back the link: left to the administrator.
            in_a_file = "/modprobe.d/" in block["file"] and host.read_link(block["file"]) is None
            if block["effect"] == "blocks" and in_a_file:
                lift.lines.add((block["file"], block["line"]))
    lift.record = _read_record(host)
    for path in sorted(set(path for path, _number in lift.lines)):
        text = _host_change.read_exactly(host, path)
        target = path if path.startswith("/etc/") else "/etc/modprobe.d/" + os.path.basename(path)
        before = text if target == path else _host_change.read_exactly(host, target)
        after = _commented(text, [number for found, number in lift.lines if found == path])
        lift.changes.append(FileChange(target, before, after))
        former = lift.record["files"].get(target)
        lift.record["files"][target] = {"before": former["before"] if former else before, "sha256": _host_change.digest(after)}
    return lift


def _commented(text, numbers):
    """The text with the directives that begin at C(numbers) turned into comments, line endings kept."""
    result, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        inside = inside or number in numbers
        result.append(MARK + line if inside else line)
        # An odd number of backslashes: the directive goes on in the next line.
        inside = inside and (len(line) - len(line.rstrip("\\"))) % 2 == 1
    return "\n".join(result)


def _shown(text):
    return "" if text is None else text.encode("utf-8", "replace").decode("utf-8")


def checked_file_name(name):
    """The name of the list below /etc/modules-load.d; raises BadInput for one that systemd would not read."""
    if "/" in name or not name.endswith(".conf") or name == ".conf" or name.startswith("."):
        raise _errors.BadInput("file %r is no file name that is read from %s; give a bare name that ends in .conf" % (name, LOAD_DIRECTORY))
    return name


def run(params, check_mode, names):
    """Plan and, unless C(check_mode), carry out; returns the result of the module kubenode.netfilter.kernel_modules."""
    checked_file_name(params["file"])
    host, node = open_asked(params)
    plan = plan_absent(host, params) if params["state"] == "absent" else plan_present(host, node, names, params)
    if not check_mode:
        carry_out(host, plan)
    problems = plan.problems + ["%s: %s" % (row["name"], row["msg"]) for row in plan.rows if row["failed"]]
    result = {
        "changed": plan.changes,
        "diff": [change.diff() for change in plan.files] + load_diff(plan),
        "files": [change.path for change in plan.files],
        "modules": [dict((key, row[key]) for key in SHOWN) for row in plan.rows],
    }
    if problems:
        result.update(failed=True, msg="; ".join(problems))
    return result


def load_diff(plan):
    """Modules to be loaded, as a diff."""
    if not plan.to_load:
        return []
    return [{"before_header": "modules loaded", "after_header": "modules loaded", "before": "", "after": "".join(name + "\n" for name in sorted(plan.to_load))}]
