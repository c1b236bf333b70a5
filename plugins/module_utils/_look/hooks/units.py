# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd units for the search for hooks: when a unit starts, and whether it ever starts.

Units that change all rules at their start: whether kubelet waits for them, and whether they are still to start.

The commands of units, and when systemd runs them.
"""

import posixpath
import re

from ..._parse.commands.embedded import shell_words
from ..._parse.systemd.unit import split_arguments
from ..._script import services
from ..host.place import BUNDLE, LIVE
from ..units.paths import DIRECTORIES
from ..units.units import Units
from .rows import BOOT, EVENT, PACKAGE_UPGRADE, RELOAD, RESTART, START, STOP, TIMER, Origin

# Units that are, or contain, a kubelet.
KUBELETS = ("kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service",
            "k0scontroller.service", "k0sworker.service", "snap.microk8s.daemon-kubelite.service")
# Units that run the commands of other places.
DAEMONS = ("cron.service", "crond.service", "cronie.service", "dcron.service", "NetworkManager.service",
           "networkd-dispatcher.service")
_RUNS = ("active", "activating", "reloading", "deactivating")
# Conditions of a start that a file decides (man systemd.unit); `|` and `!` in front are not judged here.
_CONDITIONS = tuple(word + what for word in ("Condition", "Assert")
                    for what in ("FileIsExecutable", "PathExists", "FileNotEmpty"))


class HookUnits:
    """`Units` of a tree with cached answers."""

    def __init__(self, host, node):
        self.all = Units(host, node)
        self.status = self.all.status
        self._host = host
        self.live = node["place"] == LIVE
        self.in_bundle = node["place"] == BUNDLE
        self._active, self._running = {}, {}

    def folders(self):
        """Directories of unit files and drop-ins; a directory with several paths is listed once."""
        return distinct(self._host, DIRECTORIES)

    def names_at(self, paths):
        """Names of the units that these unit files and drop-ins configure."""
        wanted, types = set(), set()
        for path in paths:
            folder, base = posixpath.split(path)
            name = posixpath.basename(folder)[:-2] if folder.endswith(".d") else base
            if name.endswith((".service", ".socket")):
                wanted.add(name)
            elif name in ("service", "socket"):
                types.add("." + name)
        names = set(self.all.names(".service") + self.all.names(".socket"))
        found = {self.all.paths.canonical(name) for name in wanted}
        found.update(name for name in names if any(_is_of(name, each) for each in wanted))
        found.update(name for name in names if name.endswith(tuple(types)) and types)
        return sorted(name for name in found if self.unit(name) is not None)

    def ask_active(self, names):
        """Ask the running systemd once whether these units, the kubelets, and the daemons that run commands of
        other places are active."""
        known = [name for name in sorted(set(names) | set(DAEMONS + KUBELETS))
                 if name not in self._active and self.known(name)]
        self._active.update(self.all.running(known) if self.live else {})
        self._running = {}

    def unit(self, name):
        return self.all.unit(name)

    def known(self, name):
        return self.all.paths.fragment(name) is not None

    def is_masked(self, name):
        unit = self.unit(name)
        return unit is not None and unit.masked

    def name_of(self, name):
        """The name systemd knows the unit `name` (an alias, or without its type) by."""
        return self.all.paths.canonical(name if "." in name else name + ".service")

    def active_state(self, name):
        """ActiveState of a unit, None where no systemd could be asked."""
        return self._active[name].state if name in self._active else None

    def seconds_in_state(self, name):
        """How long a unit has had its ActiveState; None where systemd does not tell."""
        return self._active[name].seconds if name in self._active else None

    def at_boot(self, name):
        return self.all.starts_at_boot(name)

    def activators(self, name):
        """Timers, paths and sockets that start a unit and are started at boot themselves: [Activation]."""
        return [each for each in self.all.activated_by(name) if self.at_boot(each.name)
                or self.active_state(each.name) in _RUNS]

    def runs(self, name):
        """(True, False or None, why): whether the unit runs, or starts without a manual command."""
        if name not in self._running:
            self._running[name] = self._runs(name)
        return self._running[name]

    def _runs(self, name):
        unit = self.unit(name)
        if unit is None:
            return False, "%s does not exist" % name
        if unit.masked:
            return False, "%s is masked" % name
        reason = self._unmet(unit)
        state = self.active_state(name)
        if state in _RUNS:
            return True, "%s is %s" % (name, state)
        if reason:
            return False, "%s never starts: %s" % (name, reason)
        at_boot = self.at_boot(name)
        if at_boot:
            return True, "%s starts at boot" % name
        for each in self.activators(name):
            return True, "%s starts %s" % (each.name, name)
        if at_boot is None and self.in_bundle and (self.all.state(name) or "").startswith("enabled"):
            # A bundle that shows it may lack the target that starts it.
            return True, "%s is enabled" % name
        if at_boot is None:
            return None, "whether %s starts at boot is not known" % name
        word = self.all.state(name) or "disabled"
        if self.live and state is None:
            return None, "%s is %s, and whether it is active is not known" % (name, word)
        return False, "%s is %s%s" % (name, word, " and %s" % state if state else "")

    def _unmet(self, unit):
        """The condition of a unit that a file of this tree does not meet, or None."""
        for key in _CONDITIONS:
            for value in unit.values("Unit", key):
                path = value.text.strip()
                if path.startswith("/") and "%" not in path and not self._meets(key, path):
                    return "%s=%s is not met" % (key, path)
        return None

    def _meets(self, key, path):
        found = self._host.stat(path)
        if found is None:
            return False
        if key.endswith("FileIsExecutable"):
            return self._host.is_file(path) and bool(found.st_mode & 0o111)
        return key.endswith("PathExists") or found.st_size > 0


def _is_of(name, other):
    """Whether a file for `other` (a template, or a prefix that ends in a dash) counts for the unit `name`."""
    stem, _dot, kind = other.rpartition(".")
    return name.endswith("." + kind) and (stem.endswith(("@", "-")) and name.startswith(stem))


def distinct(host, folders):
    """Directories of the tree that exist, each once, by the path that leads to it without a link."""
    found = []
    for folder in folders:
        real = host.tree_path(folder)
        if real and real not in found and host.is_dir(real):
            found.append(real)
    return found


_NOT_YET = ("inactive", "failed")


def _starting(rows, units):
    """Names of the units that flush when they start; a unit that systemd makes of a script in init.d is left out."""
    return sorted(name for name in {row["unit"] for row in rows if START in row["triggers"]}
                  if name and units.known(name))


def unordered(rows, units):
    """[{unit, path, before, reason}] of units that a boot starts and that kubelet does not wait for."""
    found = []
    for name in _starting([row for row in rows if BOOT in row["triggers"] and row["live"] is not False], units):
        for kubelet in KUBELETS:
            if (name != kubelet and units.known(kubelet) and units.at_boot(kubelet) is not False
                    and not _ordered(units, name, kubelet)):
                found.append({"unit": name, "path": units.unit(name).path, "before": kubelet,
                              "reason": "no unit file orders %s after it" % kubelet})
    return found


def _ordered(units, name, kubelet):
    from ..units.order import ordered_before
    return ordered_before(units.all, name, kubelet)


def waiting(rows, units):
    """[{unit, path, state, active}] of units that start automatically, flush when they start, and have not started yet;
    `active`: None where the systemd of a live node did not report it."""
    found = []
    for name in _starting(rows, units):
        active = units.active_state(name)
        not_yet = active in _NOT_YET or active is None and units.live
        if not_yet and (units.at_boot(name) or units.activators(name)) and units.runs(name)[0]:
            found.append({"unit": name, "path": units.unit(name).path, "state": units.all.state(name),
                          "active": active})
    return found


_PHASES = {"ExecCondition": START, "ExecStartPre": START, "ExecStart": START, "ExecStartPost": START,
           "ExecReload": RELOAD, "ExecStop": STOP, "ExecStopPost": STOP}
# Azure Linux and Photon: %systemd_postun_with_restart iptables.service in SPECS/iptables restarts the unit where it
# runs.
_RESTARTED_BY_UPGRADE = "/etc/systemd/scripts/iptables"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+)\Z)")


def trace_units(tracer, units, names):
    """Follow every command of the units of these names."""
    for name in names:
        unit = units.unit(name)
        lines = unit.exec_lines()
        triggers = _triggers(units, unit, lines)
        live, because = units.runs(unit.name)
        variables = _variables(unit)
        folders = [unit.last("Service", "WorkingDirectory", "/").lstrip("-")]
        for line in lines:
            origin = Origin("unit", triggers[_PHASES[line.key]], live, because, unit.name, (), (), directive=line.key)
            words = _words(line, variables)
            if not words or line.path is None:
                continue
            if services.known_program(words[0]) is None and not tracer.is_script(words[0]):
                tracer.shell(origin, line.path, shell_words(words) + "\n", _always(line.line), folders=folders)
            elif line.key == "ExecStart" and words[0].endswith(services.DAEMONS):
                for phase in (START, RELOAD, STOP):
                    tracer.program(origin._replace(triggers=triggers[phase]), line.path, line.line, words[0], [phase])
            else:
                tracer.program(origin, line.path, line.line, words[0], words[1:], environment=variables)


def _always(line):
    return lambda _inner: line


def _words(line, variables):
    """The words of a command, the variables of the unit filled in (man systemd.service "Command lines")."""
    words = line.argv()
    if "@" in line.prefixes:
        del words[1:2]
    filled = []
    for word in words:
        if re.match(r"\$\w+\Z", word) and word[1:] in variables:
            filled += variables[word[1:]].split()
        else:
            filled.append(_VARIABLE.sub(lambda found: variables.get(found.group(1) or found.group(2), found.group(0)),
                                        word))
    return filled


def _variables(unit):
    pairs = [word.partition("=") for value in unit.values("Service", "Environment")
             for word in split_arguments(value.text)]
    return {name: value for name, equals, value in pairs if equals}


def _triggers(units, unit, lines):
    """{phase: triggers} of a unit."""
    start = [START, RESTART] + ([BOOT] if units.at_boot(unit.name) else [])
    for each in units.activators(unit.name):
        start.append(TIMER if each.kind == "timer" else EVENT)
    stop = [STOP, RESTART]
    if any(line.key == "ExecStart" and line.argv()[:1] == [_RESTARTED_BY_UPGRADE] for line in lines):
        start.append(PACKAGE_UPGRADE)
        stop.append(PACKAGE_UPGRADE)
    if unit.last("Service", "Type") == "oneshot" and not unit.yes("Service", "RemainAfterExit"):
        # It stops as soon as it has done its work (systemd src/core/service.c service_enter_running()).
        stop += start
    return {START: tuple(start), STOP: tuple(stop), RELOAD: (RELOAD,)}
