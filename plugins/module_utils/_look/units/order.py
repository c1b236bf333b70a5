# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which systemd starts units, and ordering cycles.

An order only holds between units that are started together: `Before=network-pre.target` orders nothing as long as no
unit wants that target (man systemd.special).

The units that a boot starts, and the units that start a unit later.

Read from files: the output of generators counts where they have run (/run/systemd/generator of a live node).
"""

import collections
import posixpath

from ..._host.host import OK
from ..._parse.systemd.name import filled_in, parse_unit_name
from ..._parse.systemd.unit import filled_specifiers

DEFAULT_TARGET = "default.target"
# Dependencies that start the units they name (man systemd.unit), and the directories of such
# links.
STARTING = ("Requires", "Wants", "BindsTo", "Upholds")
LINKS = {"Wants": ".wants", "Requires": ".requires", "Upholds": ".upholds"}

Activation = collections.namedtuple("Activation", "name kind when")
Activation.__doc__ = ("A timer, path or socket `name` that starts a unit, or a unit that does so where it ends; `when` "
                      "is what it waits for, as `OnCalendar=daily`.")

# Dependencies that start units when a unit ends (man systemd.unit).
_ENDINGS = ("OnFailure", "OnSuccess")
ACTIVATORS = {"timer": "Timer", "path": "Path", "socket": "Socket"}
_WAITS = {
    "timer": ("OnCalendar", "OnBootSec", "OnStartupSec", "OnActiveSec", "OnUnitActiveSec", "OnUnitInactiveSec"),
    "path": ("PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty"),
    "socket": ("ListenStream", "ListenDatagram", "ListenSequentialPacket", "ListenFIFO", "ListenNetlink",
               "ListenSpecial")}


def starts_at_boot(units, name):
    """Whether a boot starts the unit; None where a directory, or a unit that leads to it, could not be read."""
    started = started_units(units)
    if units.paths.canonical(name) in started:
        unit = units.unit(name)
        return unit is not None and not unit.masked
    return False if units.status == OK and started.sound and not units.paths.unlisted else None


class Started(dict):
    """{name: the unit that pulls it in, None for the first} of units that are started together; `sound` is false where
    not all could be read."""

    sound = True


def started_units(units):
    """`Started` of a boot, computed once."""
    if units.started is None:
        units.started = pulled_in(units, [DEFAULT_TARGET])
    return units.started


def pulled_in(units, names):
    """`Started` of starting `names`: the units that exist, and all units that they pull in."""
    started = Started()
    ahead = [(name, None) for name in names]
    while ahead:
        name, by = ahead.pop()
        name = units.paths.canonical(name)
        if name in started:
            continue
        unit = units.unit(name)
        if unit is None or unit.masked:
            started.sound = started.sound and (unit is not None or by is not None)
            continue
        started[name] = by
        started.sound = started.sound and not unit.unread
        ahead += [(other, name) for kind in STARTING for other in dependencies(units, unit, kind)]
        ahead += [(other, name) for other in implied(unit)]
    return started


def dependencies(units, unit, kind):
    """Names a unit depends on by `kind` (`Wants`, `After`): of directives and of directories of links."""
    parts = parse_unit_name(unit.name)
    # A template is filled with the unit's instance, or its prefix where it has none (src/core/unit.c
    # resolve_template()).
    instance = parts.instance or parts.prefix
    names = [filled_in(filled_specifiers(word, unit.name), instance) for word in unit.words("Unit", kind)]
    if kind in LINKS:
        for path in units.paths.chosen(units.paths.folders_of([unit.name] + unit.aliases, LINKS[kind]), ""):
            if units.wants(path):
                names.append(filled_in(posixpath.basename(path), instance))
    return [name for name in names if parse_unit_name(name)]


def implied(unit):
    """Names that a unit requires implicitly (man systemd.service, systemd.socket, ... "Default Dependencies")."""
    kind = parse_unit_name(unit.name).kind
    names = []
    if kind in ("service", "socket", "timer", "path") and unit.yes("Unit", "DefaultDependencies", True):
        names.append("sysinit.target")
    if kind == "service":
        names += unit.words("Service", "Sockets")
        if unit.last("Service", "Type") == "dbus":
            names.append("dbus.socket")
    return names


def activates(unit):
    """[name] that a timer, path or socket starts: the unit that it names, or the service of the same name. A socket
    that starts one service per connection starts a template."""
    kind = parse_unit_name(unit.name).kind
    section = ACTIVATORS[kind]
    stem = unit.name[:-len(kind) - 1]
    named = unit.values(section, "Service" if kind == "socket" else "Unit")
    if named:
        # Of several services the last counts, of several units the first (config_parse_trigger_unit()).
        return [filled_specifiers(named[-1 if kind == "socket" else 0].text, unit.name)]
    return [stem + ("@.service" if kind == "socket" and unit.yes("Socket", "Accept") else ".service")]


def activated_by(units, name):
    """[Activation], sorted."""
    if units.activations is None:
        units.activations = _all_activations(units)
    return units.activations.get(units.paths.canonical(name), [])


def _all_activations(units):
    found = {}
    for kind in sorted(ACTIVATORS):
        for name in units.names("." + kind):
            unit = units.unit(name)
            if unit is None or unit.masked or parse_unit_name(name).instance == "":
                continue
            when = ["%s=%s" % (key, value.text) for key in _WAITS[kind] for value in unit.values(ACTIVATORS[kind], key)]
            for target in activates(unit):
                found.setdefault(units.paths.canonical(target), []).append(Activation(name, kind, tuple(when)))
    # Only for units that a boot starts: otherwise all other units would have to be read.
    for name in sorted(started_units(units)):
        for key in _ENDINGS:
            for target in dependencies(units, units.unit(name), key):
                found.setdefault(units.paths.canonical(target),
                                 []).append(Activation(name, parse_unit_name(name).kind, ("%s=%s" % (key, target),)))
    return found


# The targets that a unit waits for by default, and the target that waits for it (man systemd.service and its
# neighbours, "Default Dependencies").
_WAITS_FOR = {"service": ("sysinit.target", "basic.target"), "socket": ("sysinit.target",),
              "timer": ("sysinit.target",), "path": ("sysinit.target",)}
_PART_OF = {"socket": "sockets.target", "timer": "timers.target", "path": "paths.target"}
# A target starts after what it depends on by one of these.
_WAITED_FOR = ("Requires", "Requisite", "Wants", "BindsTo", "Upholds")


def ordered_before(units, first, second):
    """Whether `second` starts only after `first` where a boot starts both, directly or through other units of it."""
    first, second = units.paths.canonical(first), units.paths.canonical(second)
    after = _order_with(units, [first, second])
    seen, ahead = set(), list(after.get(second, ()))
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead += after.get(name, ())
    return first in seen


def cycle_with(units, drop_ins):
    """[name] of a cycle, each before the next, with the first name again at the end, once `{name: text of a drop-in}`
    are added; [] without a cycle."""
    changed = units.with_drop_ins(drop_ins)
    names = [changed.paths.canonical(name) for name in drop_ins]
    after = _order_with(changed, [name for name in names if parse_unit_name(name).instance != ""])
    left, free = set(after), True
    while free:
        free = [name for name in left if not after[name] & left]
        left.difference_update(free)
    # Every name that is left waits for a name that is left.
    trail = sorted(left)[:1]
    while trail and trail[-1] not in trail[:-1]:
        trail.append(min(after[trail[-1]] & left))
    return trail[trail.index(trail[-1]):][::-1] if trail else []


def _order_with(units, names):
    """{name: set of the units that start right before it} among the units that a boot starts and the units that
    starting `names` adds."""
    started = set(started_units(units))
    if not started.issuperset(names):
        started.update(pulled_in(units, names))
    return start_order(units, started)


def start_order(units, started):
    """{name: set of the units that start right before it} among the names `started`."""
    after = {name: set() for name in started}
    for name in started:
        for earlier, later in _direct_order(units, units.unit(name)):
            earlier, later = units.paths.canonical(earlier), units.paths.canonical(later)
            if earlier in after and later in after and earlier != later:
                after[later].add(earlier)
    members = {name: _members(units, name, after) for name in started if name.endswith(".target")}
    for name, others in members.items():
        # Of two targets that want each other systemd puts one first, and that choice is random.
        after[name].update(other for other in others if name not in members.get(other, ()))
    return after


def _direct_order(units, unit):
    """[(earlier, later)] of directives and default dependencies of one unit."""
    name, kind = unit.name, parse_unit_name(unit.name).kind
    pairs = [(other, name) for other in dependencies(units, unit, "After")]
    pairs += [(name, other) for other in dependencies(units, unit, "Before")]
    if kind in ACTIVATORS:
        pairs += [(name, other) for other in activates(unit)]
    if kind == "service":
        pairs += [(other, name) for other in unit.words("Service", "Sockets")]
    if unit.yes("Unit", "DefaultDependencies", True):
        pairs += [(other, name) for other in _WAITS_FOR.get(kind, ())]
        pairs += [(name, _PART_OF[kind])] if kind in _PART_OF else []
    return pairs


def _members(units, name, after):
    """Names that a target waits for because it pulls them in, unless one of the two has no default dependencies, or
    they wait for the target (src/core/target.c)."""
    target = units.unit(name)
    if not target.yes("Unit", "DefaultDependencies", True):
        return []
    wanted = [units.paths.canonical(other) for kind in _WAITED_FOR for other in dependencies(units, target, kind)]
    return [other for other in wanted if other in after and name not in after[other] and other != name
            and units.unit(other).yes("Unit", "DefaultDependencies", True)]
