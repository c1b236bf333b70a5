# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and carries out the loading and persisting of kernel modules on a node.

Planning only reads, so check mode shows exactly what a run does."""

import os
import re
from collections import OrderedDict

from ... import _errors, _names
from ..._host import lock, write
from ..._host.host import OK
from ..._host.other_hosts import PlannedHost
from ..._look.modules import state as modules_state
from ..._look.modules.look import Look
from ..._look import tree
from .. import record as change_record
from ..files import FileChange, Plan as FilesPlan, digest_of, finished, plan_undo, put_back, refuse_unwritable
from .list_file import added_lines, is_as_written, is_foreign, list_text, listed

OPTIONS = dict(tree.TREE_OPTIONS, name={"type": "list", "elements": "str"},
               state={"type": "str", "choices": ["present", "absent"], "default": "present"},
               load={"type": "bool", "default": True}, persist={"type": "bool", "default": True},
               unblock={"type": "bool", "default": False}, file={"type": "str", "default": "kubenode-netfilter.conf"})
# Required combinations of options, as AnsibleModule takes them.
RULES = {"required_if": [("state", "present", ["name"])]}
LOAD_DIRECTORY = "/etc/modules-load.d"
MARK = "# kubenode.netfilter lifted: "
_MARKED = re.compile("^" + re.escape(MARK), re.MULTILINE)
# modprobe resolves, reads and links modules. Slow disks and emulated machines need seconds for that, and never minutes
# for 60 modules.
MODPROBE_SECONDS = 60.0
# After a line is commented out, another may take effect, as with several install lines; no file has this many.
_ROUNDS_LIMIT = 64


# The keys of a row that are returned; the others are for the plan itself.
SHOWN = ("name", "module", "before", "after", "loaded", "persisted", "blocked", "failed", "msg")


class Record(change_record.Record):
    """The record of the list, of changes to files of others, and of created directories."""

    folder = change_record.STATE + "/kernel_modules"
    places = (LOAD_DIRECTORY,)


class TakenOver(FileChange):
    """A list with our header that the record does not name, or not with these bytes: an undo restores others' lines."""

    def __init__(self, path, before, after, added):
        super(TakenOver, self).__init__(path, before, after)
        self.original = added

    def entry(self, former, state):
        entry = super(TakenOver, self).entry(former, state)
        # The list is still the former one where a run is killed before it writes the list.
        return dict(entry, after=sorted(set(entry["after"]) | {digest_of(self.before)}, key=str))


class Plan(FilesPlan):
    """`to_load`, the names of modules, `rows`, one for each requested module, and the `look` behind it."""

    def __init__(self, host, look=None):
        super(Plan, self).__init__(Record(host))
        self.look, self.to_load = look, []

    @property
    def changed(self):
        return bool(self.all_changes() or self.to_load or self.record.leftovers(self.contents(), self.changes))


def plan_present(host, node, names, options):
    """Plan to load (live places only), persist and unblock `names`, each where its option is set."""
    plan = Plan(host, Look(host, node))
    look = _lift(host, node, plan, names) if options["unblock"] else plan.look
    rows = [_row(look.module(name)) for name in names]
    may_load = options["load"] and node["place"] == "live" and host.root == "/"
    for row in rows:
        _judge_load(row, plan, may_load)
    if options["persist"]:
        persisted = _persisted_names(plan.look, rows)
        _plan_list(host, plan, LOAD_DIRECTORY + "/" + options["file"], persisted)
        for row in rows:
            row["persisted"] = row["persist_as"] in persisted
    plan.rows = rows
    refuse_unwritable(host, plan.all_changes())
    if plan.to_load and not host.is_root():
        raise _errors.ChangeFailed("loading modules needs root; become root. Nothing was changed")
    return plan


def plan_absent(host, options):
    """Plan to put back every file that the record names: lists of modules, and files that a lifted block changed.
    Nothing is unloaded."""
    plan = Plan(host)
    plan.undo = True
    plan.changes, plan.entries, plan.problems = plan_undo(plan.record)
    path = LOAD_DIRECTORY + "/" + options["file"]
    if path not in plan.record.entries:
        _plan_unrecorded(host, plan, path)
    refuse_unwritable(host, plan.all_changes())
    return plan


def carry_out(host, plan):
    """Write the files, all or none; then load. An undo puts back every file that it can. Raises ChangeFailed where no
    change stays."""
    if plan.undo:
        _put_back(host, plan)
        return
    contents = plan.contents()
    if plan.changes or plan.record.file_change(contents) or plan.record.leftovers(contents, plan.changes):
        plan.record.make_all(plan.changes, contents)
        plan.problems += plan.record.settle(contents, plan.changes)
    load(host, plan)


def _put_back(host, plan):
    files = list(plan.changes)
    plan.problems += put_back(host, plan.record, plan.changes, plan.entries)
    contents = plan.contents()
    # A list of an earlier version has no entry, and its directory may have been created by us.
    failed = [change.path for change in files if change not in plan.changes]
    folders = [folder for folder in plan.record.held.folders
               if folder in contents.folders or any(path.startswith(folder + "/") for path in failed)]
    plan.problems += plan.record.settle(contents._replace(folders=folders), plan.changes)


def load(host, plan):
    """Load the modules; each load is checked by reading the loaded modules again, never by modprobe's exit status."""
    if not plan.to_load:
        return
    done = host.run(["modprobe", "-a", "--"] + plan.to_load, MODPROBE_SECONDS)
    plan.look.see_what_is_loaded()
    for row in plan.rows:
        if row["load_as"] not in plan.to_load:
            continue
        row["after"] = plan.look.state_of(row["name"])
        row["loaded"] = row["after"] in (modules_state.LOADED, modules_state.BUILTIN)
        if not row["loaded"]:
            row["failed"], row["msg"] = True, _why_not(host, row["load_as"], done)


def _why_not(host, name, done):
    if done.status != OK:
        return "modprobe did not finish: %s" % done.status
    alone = host.run(["modprobe", "--", name], MODPROBE_SECONDS)
    text = (alone.err or alone.out).strip()[:400]
    return "modprobe ended with status %s, and the module is not loaded%s" % (alone.rc, ": " + text if text else "")


def _row(evidence):
    name = evidence["module"] or evidence["name"]
    return {
        "name": evidence["name"], "module": evidence["module"], "before": evidence["state"], "after": evidence["state"],
        "loaded": evidence["state"] in (modules_state.LOADED, modules_state.BUILTIN), "persisted": bool(
            evidence["persisted"]), "blocked": [block for block in evidence["blocks"] if "load" in block["for"]],
        "failed": False, "msg": "", "load_as": name, "persist_as": name, "evidence": evidence["evidence"]}


def _judge_load(row, plan, may_load):
    """Decide whether to load the module now; where it cannot be loaded, set the reason."""
    state = row["before"]
    if row["loaded"] or not may_load:
        return
    wide = [block for block in plan.look.policy.kernel_wide if "load" in block.load_paths]
    if state != modules_state.LOADABLE:
        row["failed"], row["msg"] = True, "%s: %s" % (state, row["evidence"])
    elif wide:
        row["failed"], row["msg"] = True, "the kernel loads no modules: %s (%s)" % (wide[0].by, wide[0].path)
    elif row["blocked"]:
        block = row["blocked"][0]
        row["failed"] = True
        row["msg"] = "%s blocks it (%s:%s: %s); unblock: true comments the line out where it is in a regular file" % (
            block["by"], block["file"], block["line"], block["text"])
    else:
        plan.to_load.append(row["load_as"])
        row["after"], row["loaded"] = modules_state.LOADED, True


def _persisted_names(look, rows):
    """Names for the list: all modules except those built into every installed kernel. A kernel that does not have the
    module built in may be booted later."""
    names = []
    for row in rows:
        states = [modules_state.resolve(kernel, row["name"], look.running if kernel.running else None,
                                        look.system).state for kernel in look.kernels]
        if not states or any(state != modules_state.BUILTIN for state in states):
            names.append(row["persist_as"])
    return sorted(set(names))


def _plan_list(host, plan, path, names):
    before = write.read_exactly(host, path)
    after = list_text(names, before)
    if before == after:
        return
    former = plan.record.entries.get(path)
    if before is None or is_foreign(before) or (former is not None and digest_of(before) in former["after"]):
        plan.changes.append(FileChange(path, before, after))
        return
    # Earlier versions did not record their list. Where the record names the list, others have edited it since.
    ours = listed(before) if former is None and is_as_written(before) else names
    plan.changes.append(TakenOver(path, before, after, added_lines(before, ours)))


def _plan_unrecorded(host, plan, path):
    """Earlier versions did not record their list. It is removed where it is byte for byte what they wrote."""
    text = write.read_exactly(host, path)
    if text is None:
        return
    if is_as_written(text):
        plan.changes.append(FileChange(path, text, None))
    elif not is_foreign(text) or plan.record.text is not None:
        plan.warnings.append("%s stays: the record does not name it, and its content is not what this module writes; "
                             "remove it by hand if it is not needed" % path)


def _lift(host, node, plan, names):
    """Plan to comment out the lines that block; returns the look at the tree with these changes. A file below /etc is
    edited. A package's file is not changed: an edited copy of the same name in /etc/modprobe.d hides it
    (modprobe.d(5)). A block on the kernel command line cannot be lifted here."""
    look, texts = plan.look, OrderedDict()
    for _round in range(_ROUNDS_LIMIT):
        lines = _liftable(look, names)
        if not lines:
            break
        for path in sorted({path for path, _number in lines}):
            target = path if path.startswith("/etc/") else "/etc/modprobe.d/" + os.path.basename(path)
            texts[target] = _commented(write.read_exactly(look.host, path),
                                       [number for found, number in lines if found == path])
        look = Look(PlannedHost(host, texts), node)
    for path, after in sorted(texts.items()):
        before = write.read_exactly(host, path)
        former = plan.record.entries.get(path)
        changed_since = (former is not None and before is not None
                         and write.digest(before) not in former["after"] + [change_record.backup_in(former)])
        # Where the owner edited a file after an earlier run, an undo keeps that edit and restores the lines of the run.
        original = _MARKED.sub("", before) if changed_since else None
        plan.changes.append(FileChange(path, before, after, original=original))
    return look


def _liftable(look, names):
    """{(file, line)} of lines that block one of the modules and may be commented out."""
    blocks = [block for name in names for block in look.module(name)["blocks"]
              if block["effect"] == "blocks" and "/modprobe.d/" in block["file"]]
    # A link leads to a file of another owner, and an undo would have to restore the link: left to the administrator.
    return {(block["file"], block["line"]) for block in blocks if look.host.read_link(block["file"]) is None}


def _commented(text, numbers):
    """The text with the directives that begin at `numbers` turned into comments, line endings kept."""
    result, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        inside = inside or number in numbers
        result.append(MARK + line if inside else line)
        # An odd number of backslashes: the directive continues on the next line.
        inside = inside and (len(line) - len(line.rstrip("\\"))) % 2 == 1
    return "\n".join(result)


def checked_file_name(name):
    """The name of the list below /etc/modules-load.d; raises BadInput for one that systemd would not read."""
    if "/" in name or not name.endswith(".conf") or name == ".conf" or name.startswith("."):
        raise _errors.BadInput("file: %r is not a file name that is read from %s; give a name without a folder that "
                               "ends in .conf"
                               % (name, LOAD_DIRECTORY))
    return name


def run(params, check_mode):
    """Plan and, unless `check_mode`, carry out; returns the result of the module kubenode.netfilter.kernel_modules."""
    names = _names.checked(params["name"] or [])
    checked_file_name(params["file"])
    host, node = tree.open_asked(params)
    with lock.one_run(host, check_mode):
        plan = plan_absent(host, params) if params["state"] == "absent" else plan_present(host, node, names, params)
        files, changed, loads = plan.all_changes(), plan.changed, load_diff(plan)
        if not check_mode and changed:
            carry_out(host, plan)
            files = plan.record.made(files, plan.changes)
    problems = plan.problems + ["%s: %s" % (row["name"], row["msg"]) for row in plan.rows if row["failed"]]
    result = {"changed": changed, "diff": [change.diff() for change in files] + loads,
              "files": [change.path for change in files],
              "modules": [{key: row[key] for key in SHOWN} for row in plan.rows]}
    return finished(result, problems, plan.record.notices + plan.warnings)


def load_diff(plan):
    if not plan.to_load:
        return []
    return [{"before_header": "modules loaded", "after_header": "modules loaded", "before": "",
             "after": "".join(name + "\n" for name in sorted(plan.to_load))}]
