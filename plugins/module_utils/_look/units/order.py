# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which systemd starts units, and ordering cycles.

An order only holds between units that are started together: `Before=network-pre.target` orders nothing as long as no
unit wants that target (man systemd.special)."""

from ..._parse.systemd.name import parse_unit_name
from .boot import ACTIVATORS, activates, dependencies, pulled_in, started_units

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
