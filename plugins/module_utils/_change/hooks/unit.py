# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drop-ins for units that flush: they clear and replace commands, order the unit, and refuse manual starts and stops.

A command that flushes at a stop or reload is cleared. A command that flushes at a start becomes a start with --noflush
where that is possible. That start must not be repeated, because a rule in a built-in chain would be there twice. A stop
that does nothing would allow the next start. So manual starts and stops are refused. A boot still starts the unit,
once, before kubelet.

Removes commands from scripts, and from files of other formats that hold commands.

The new text is checked before it is written: parsed again, it must have the same commands except the removed ones, and
its own shell must still accept it.
"""

import re

from ... import _errors
from ..._host import apart, write
from ..._host.host import OK, TIMEOUT
from ..._look.hooks.places import place_of
from ..._look.units.order import cycle_with
from ..._look.units.unit import EXEC_KEYS
from ..._script.edit import drop_in
from ..._script.edit.drop_in import NAME, without_flush
from ..._script.edit.removal import NOTHING, Kept, applied, edits_of, loss, shell_of, whole
from ..._script.rule_files import SIZE_LIMIT, flushing_commands
from ..._script.services import settings_of
from ..files import FileChange
from .record import NULL, MaskChange

DROP_IN, MASKED, ORDERED = "drop_in", "masked", "ordered"
_SETTINGS = "/etc/default/netfilter-persistent"
_PLUGINS = "/usr/share/netfilter-persistent/plugins.d"
_STAYS = ("its start still flushes, because no drop-in can make it restore with --noflush: it runs only at boot, "
          "before kubelet. start: mask prevents every start. Change an nftables configuration so that it deletes only "
          "its own tables")
_BESIDE = ("its %s flushes in addition to its main job, so its start is not prevented; remove the command from the "
           "script that this line starts")
_ACTIVATED = "its start still flushes, and %s starts it repeatedly; start: mask prevents every start"
VERIFY_SECONDS = 30.0
_TARGET, _CYCLE = "kubenode-netfilter-boot.target", "ordering cycle"
_BEFORE = re.compile(r"(?m)^Before=(\S+)$")
_LINES_LIMIT = 3


class UnitFix:
    """The fix of one unit: `changes`, and `done` {id of a row: (action, message)}."""

    def __init__(self, name, unit, rows):
        self.name, self.unit, self.rows = name, unit, rows
        self.drop_in = None
        self.is_firewall = False    # its main command flushes, and not only an additional one
        self.before_text, self.masks, self.done, self.stays = None, [], {}, set()

    def say(self, action, message="", rows=None):
        """Set the outcome of `rows`, or of all rows where none are given. Where several commands lead to a row, the
        command that stays decides."""
        for row in self.rows if rows is None else rows:
            if action != DROP_IN or id(row) not in self.stays:
                self.done[id(row)] = (action, message)
            if rows is not None and action != DROP_IN:
                self.stays.add(id(row))

    def changes(self):
        text = self.drop_in.text() if self.drop_in else None
        written = [FileChange(drop_in.path_of(self.name), self.before_text, text,
                              self.name)] if text not in (None, self.before_text) else []
        return self.masks + written


def counts_for_many(path):
    """Whether a drop-in applies to all services or sockets, or to all whose names share a prefix (man systemd.unit)."""
    folder = path.rsplit("/", 2)[-2]
    return folder in ("service.d", "socket.d") or folder.endswith(("-.service.d", "-.socket.d"))


def units_of(row, units):
    """Names of the units a row belongs to: the unit it was first found in, and units whose files lead to it."""
    names = [row["unit"]] if row["unit"] else []
    for path in [row["path"]] + [caller.rpartition(":")[0] for caller in row["through"]]:
        parts = path.rsplit("/", 2)
        name = parts[1][:-2] if len(parts) > 2 and parts[1].endswith(".d") else parts[-1]
        unit = units.unit(name) if name.endswith((".service", ".socket")) else None
        if unit is not None and unit.name not in names:
            names.append(unit.name)
    return names


def fix_unit(host, units, name, rows, before, start):
    """`UnitFix` for the `rows` of a unit; `before`: units it has to precede, `start` is noflush or mask."""
    unit = units.unit(name)
    fix = UnitFix(name, unit, rows)
    if unit is None or unit.masked:
        fix.say(None, "no unit file of %s exists" % name if unit is None else "%s is masked" % name)
        return fix
    lines = unit.exec_lines()
    found = [(line, [row for row in rows if _leads_to(line, row)]) for line in lines]
    starts = [line for line, those in found if those and line.key in drop_in.START_KEYS]
    fix.is_firewall = any(line.key == "ExecStart" for line in starts)
    if start == "mask" and starts and not unit.path.startswith(drop_in.FOLDER + "/"):
        fix.masks = [MaskChange("%s/%s" % (drop_in.FOLDER, name),
                                name)] if host.read_link("%s/%s" % (drop_in.FOLDER, name)) != NULL else []
        fix.say(MASKED)
        return fix
    late = [path for path in unit.drop_ins if drop_in.sorts_behind(path)]
    if late:
        fix.say(None, "%s is read after the drop-in of this module; rename it so that it sorts before %s"
                % (late[0], drop_in.NAME))
        return fix
    fix.before_text = write.read_exactly(host, drop_in.path_of(name))
    fix.drop_in = drop_in.read_drop_in(fix.before_text or "")
    fix.say(None, "no command of %s that starts it was found" % name)
    for key in EXEC_KEYS:
        _fix_key(host, units, fix, key, [(line, those) for line, those in found if line.key == key])
    fix.drop_in.before += [other for other in before if other not in fix.drop_in.before]
    if start == "mask" and starts:
        for identity, (action, message) in list(fix.done.items()):
            fix.done[identity] = (action, (message + "; " if message else "")
                                  + "%s cannot be masked: its unit file is in %s" % (name, drop_in.FOLDER))
    return fix


def _leads_to(line, row):
    return (line.path, line.line) == (row["path"], row["line"]) or "%s:%s" % (line.path, line.line) in row["through"]


def _fix_key(host, units, fix, key, found):
    """Write the new commands of one key into the drop-in."""
    if not any(rows for _line, rows in found):
        return
    commands = []
    for line, rows in found:
        if not rows:
            commands.append(line.prefixes + line.text)
        elif key in drop_in.START_KEYS:
            commands += _started(host, units, fix, line, rows)
        else:
            text = without_flush(line.text, line.argv(), False) if _stands_in(line, rows) else ""
            commands += [line.prefixes + text] if text else []
            fix.say(DROP_IN, "", rows)
    if key == "ExecStart" and not commands:
        # A service needs a command; this one does nothing and succeeds.
        commands = [host.find_binary("true") or "/bin/true"]
    if commands != [line.prefixes + line.text for line, _rows in found]:
        fix.drop_in.commands[key] = commands


def _stands_in(line, rows):
    """Whether the flush is in the line itself and not in a program that the line starts."""
    return all((row["path"], row["line"]) == (line.path, line.line) and row["sort"] != "service" for row in rows)


def _started(host, units, fix, line, rows):
    """Commands that take the place of one that flushes at a start."""
    argv = line.argv()
    program = drop_in.noflush_start(argv, set(settings_of(host.read_text(_SETTINGS).text)), _knows_switch(host),
                                    lambda path: not flushing_commands(host.read_text(path, SIZE_LIMIT).text)
                                    if host.is_file(path) else None, host.find_binary)
    repeated = [each.name for each in units.activated_by(fix.name)]
    if program is not None and not repeated:
        commands, environment = program
        fix.drop_in.environment += [word for word in environment if word not in fix.drop_in.environment]
        fix.drop_in.refuse = fix.drop_in.refuse or fix.is_firewall
        fix.say(DROP_IN, "", rows)
        return [line.prefixes + line.text] if commands is None else _joined(fix, line, commands)
    if _stands_in(line, rows):
        text = without_flush(line.text, argv, not repeated)
        if text is not None:
            fix.drop_in.refuse = fix.drop_in.refuse or (fix.is_firewall and "--noflush" in text)
            fix.say(DROP_IN, "", rows)
            return [line.prefixes + text] if text else []
    if fix.is_firewall:
        fix.drop_in.refuse = True
        fix.say(ORDERED, _ACTIVATED % repeated[0] if repeated else _STAYS, rows)
    else:
        fix.say(None, _BESIDE % line.key, rows)
    return [line.prefixes + line.text]


def _joined(fix, line, commands):
    """Only a service of type oneshot may have several commands for its start (man systemd.service, ExecStart)."""
    if len(commands) > 1 and fix.unit.last("Service", "Type") != "oneshot":
        return ["%s/bin/sh -c '%s'" % (line.prefixes, " && ".join(commands))]
    return [line.prefixes + command for command in commands]


def _knows_switch(host):
    """Whether the plugins of netfilter-persistent know a restore without a flush (since iptables-persistent 1.0.16)."""
    texts = [host.read_text("%s/%s" % (_PLUGINS, name)).text for name in host.list_dir(_PLUGINS)[1]
             if "ip" in name and "tables" in name]
    return bool(texts) and all("_RESTORE_NOFLUSH" in text for text in texts)


# Whether systemd accepts drop-ins, checked before they are written.
# systemd-analyze verify loads all units from files, with ours before all others, and computes the jobs of a boot. An
# ordering cycle makes systemd drop a unit from the boot (systemd src/core/transaction.c
# transaction_verify_order_one()), possibly kubelet.
def complaints(host, units, texts, unit_path=""):
    """Problems of the drop-ins `{unit: text}` as sentences, empty where there are none. `unit_path`: the directories
    that systemd searches after ours."""
    if host.commands:
        # The units in Before= are started together with the drop-ins' units here, whether or not a boot starts both.
        wanted = set(texts).union(name for text in texts.values() for name in _BEFORE.findall(text))
        found = _complaints(host, texts, wanted, unit_path)
        if found is not None:
            # A cycle that exists already is not caused by the drop-in.
            before = _complaints(host, {}, wanted, unit_path) if found else []
            return [line for line in found if line not in (before or [])][:_LINES_LIMIT]
    cycle = cycle_with(units, texts)
    return ["an ordering cycle: " + " before ".join(cycle)] if cycle and not cycle_with(units, {}) else []


def _complaints(host, texts, wanted, unit_path):
    """Lines of systemd-analyze about cycles and about our drop-ins, or None where it could not be run."""
    target = "[Unit]\n" + "".join("Wants=%s\n" % name for name in ["default.target"] + sorted(wanted))
    files = {"%s.d/%s" % (unit, NAME): text for unit, text in texts.items()}
    files[_TARGET] = target
    with apart.scratch(files) as folder:
        # An empty last element stands for systemd's own directories (man systemd.unit, SYSTEMD_UNIT_PATH).
        argv = ["env", "SYSTEMD_UNIT_PATH=%s:%s" % (folder, unit_path), "systemd-analyze", "verify",
                "%s/%s" % (folder, _TARGET)]
        done = host.run(argv, VERIFY_SECONDS) if host.find_binary("systemd-analyze") else None
        if done is None or done.status != OK:
            return None
        lines = [line.replace(folder + "/", "").strip() for line in (done.err + done.out).splitlines()]
    return [line for line in lines if _CYCLE in line or NAME in line]


SHELL_SECONDS = 30.0
# These kinds run commands without a shell, so a program must take the place of the command.
_NO_SHELL = ("udev", "cloud_init", "package_hook")
_PROGRAM = "/bin/true"


def edited_script(host, path, rows):
    """(text before, text after, {id of a row: (action, message)}) of one file. Raises ChangeFailed where it may not be
    changed."""
    text = write.read_exactly(host, path)
    if text is None:
        raise _errors.ChangeFailed("%s does not exist any more" % path)
    if host.stat(path).st_nlink > 1:
        raise _errors.ChangeFailed(write.HARD_LINK % path)
    commands, nothing = _commands(path, text)
    if nothing is None and not shell_of(text):
        return text, text, {id(row): (None, "it is not a shell script; remove the command by hand") for row in rows}
    done, edits = {}, []
    for row in rows:
        try:
            edits.extend(edits_of(text, commands, row))
        except Kept as reason:
            done[id(row)] = (None, str(reason))
    after = _proved(host, path, text, edits, commands, nothing) if edits else text
    done.update((id(edit.row), (edit.action, "")) for edit in edits)
    return text, after, done


def _commands(path, text):
    """([Command], the text that takes the place of a removed command). A script is one Command with the text `None`:
    its commands are removed, or replaced by `:`."""
    place = place_of(path)
    found = place.read(text.encode("utf-8", "surrogateescape"), path) if place else []
    if not found or any(len(command.text) == len(text) and command.line == 1 for command in found):
        return [whole(text)], None
    return found, _PROGRAM if place.kind in _NO_SHELL else NOTHING


def _proved(host, path, text, edits, commands, nothing):
    """The text after the edits. Where the text without the command fails the check, `:` takes its place."""
    problem = None
    for attempt in (nothing,) if nothing else (None, NOTHING):
        after = applied(text, edits, attempt)
        problem = loss(commands, _commands(path, after)[0], edits)
        if problem is None and nothing is None:
            problem = _unparsed(host, path, text, after)
        if problem is None:
            return after
    raise _errors.ChangeFailed("%s is not changed: without the command %s" % (path, problem))


def _refused(done, refusal):
    return "did not answer within %d s" % SHELL_SECONDS if done.status == TIMEOUT else refusal


def _unparsed(host, path, before, after):
    """Why the script's shell refuses the new text, or None; not checked where no program may be started."""
    if not host.commands:
        return None
    problem = None
    for name in shell_of(before):
        program = host.find_binary(name)
        if program is None:
            continue
        argv = [program] + (["sh"] if name == "busybox" else []) + ["-n"]
        with apart.scratch({"before": before, "after": after}) as folder:
            done = host.run(argv + [folder + "/before"], SHELL_SECONDS)
            if done.ok:
                done = host.run(argv + [folder + "/after"], SHELL_SECONDS)
                return None if done.ok else "%s -n %s" % (name, _refused(done, "refuses it"))
        problem = "%s -n %s" % (name, _refused(done, "refuses it already now"))
    raise _errors.ChangeFailed("%s is not changed: %s" % (path, problem or "no shell of this node can check it"))
