# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a command that starts, stops or reloads a service: those of the commands of its unit."""

from ..._script.effect import CONFIDENCES, EVERY, IPV4, IPV6, LIKELY
from ..._script.services import acts_of_verb, FIREWALLD, known_program
from .rows import BY_HAND, RELOAD, START, STOP, summary

_PASSES = 4
_FIREWALLD = "firewalld.service"
# Verb of systemctl and service -> phases of the unit. The verbs of the second table do nothing to a unit that does not
# run.
_VERBS = {
    "start": (START,), "restart": (STOP, START), "reload-or-restart": (RELOAD, STOP, START),
    "reload-or-try-restart": (RELOAD, STOP, START), "try-restart": (STOP, START), "condrestart": (STOP, START),
    "try-reload-or-restart": (RELOAD, STOP, START), "force-reload": (RELOAD, STOP, START), "stop": (STOP,),
    "reload": (RELOAD,), "condstop": (STOP,)}
_ONLY_IF_IT_RUNS = ("stop", "reload", "try-restart", "condrestart", "reload-or-try-restart", "try-reload-or-restart",
                    "condstop")
# These flush wherever they are installed.
_FLUSHING = ("iptables.service", "ip6tables.service", "nftables.service", "netfilter-persistent.service")
# Verbs with which a running one of them loads its saved rules in place of all others.
_LOADING = ("restart", "try-restart", "condrestart", "reload", "reload-or-restart", "reload-or-try-restart",
            "try-reload-or-restart", "force-reload")


def serve(calls, units, rows, read):
    """Add the rows of `calls` [(origin, path, line, effect)]. The script of a unit may restart another one: there are
    several passes."""
    for _pass in range(_PASSES):
        before = len(rows)
        for origin, path, line, effect in calls:
            _serve(units, rows, read, origin, path, line, effect)
        if len(rows) == before:
            break


def _serve(units, rows, read, origin, path, line, effect):
    unit = units.name_of(effect.unit)
    if unit in _FLUSHING and not units.known(unit) and not rows.of_unit(unit, (START, STOP)):
        if units.in_bundle and effect.verb in _LOADING:
            # A bundle need not hold the unit; a command that runs automatically is there because the unit is.
            rows.take(origin, path, line, effect._replace(families=(IPV4, IPV6), tables=EVERY, confidence=max(
                effect.confidence, LIKELY, key=CONFIDENCES.index)), service=unit)
            return
        # The firewall is not installed; installing it makes this command effective.
        rows.take(origin._replace(live=False, because="%s does not exist" % unit), path, line,
                  effect._replace(tables=EVERY, confidence="possible"), service=unit)
        return
    found = _done_by(units, rows, read, origin, unit, effect.verb)
    if not found:
        return
    families, tables, chains, back, sure = summary(found)
    live, because = origin.live, origin.because
    if (effect.verb in _ONLY_IF_IT_RUNS and live is not False and BY_HAND not in origin.triggers
            and units.runs(unit)[0] is not True):
        live, because = (None, "whether firewalld runs is not known: the bundle does not hold its unit") if (
            unit == _FIREWALLD and not units.known(unit) and units.in_bundle) else units.runs(unit)
    rows.take(origin._replace(live=live, because=because), path, line, effect._replace(
        families=tuple(families), tables=tuple(tables), chains=tuple(chains), comes_back=back,
        confidence=max(effect.confidence, sure, key=CONFIDENCES.index)), service=unit)


def _done_by(units, rows, read, origin, unit, verb):
    """The effects of the unit for `verb`, as rows."""
    acts = acts_of_verb(unit, verb, read) if units.known(unit) else None
    if unit == _FIREWALLD and not units.known(unit) and units.in_bundle and verb in _LOADING and read(FIREWALLD):
        # A bundle need not hold the unit: the settings show what a reload or restart flushes.
        acts = known_program("/usr/sbin/firewalld")(START, read)
    if acts is not None:
        return [act.effect._asdict() for act in acts if act.effect.tables]
    return rows.of_unit(unit, _VERBS[verb]) if origin.unit != unit and verb in _VERBS else []
