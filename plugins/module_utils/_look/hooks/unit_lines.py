# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of units, and when systemd runs them."""

import re

from ..._parse.commands.embedded import shell_words
from ..._parse.systemd.exec import split_arguments
from ..._script import services
from .rows import BOOT, EVENT, PACKAGE_UPGRADE, RELOAD, RESTART, START, STOP, TIMER, Origin

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
