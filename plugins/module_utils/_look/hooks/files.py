# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks grouped by file, as findings name them: a script that flushes may have thirty commands."""

from ..._script import sequence
from ..._script.effect import CONFIDENCES, CONNECTIONS
from ..._script.remedy import remedy, remedy_of_written, shown
from ..._script.rule_files import COPY, DROP, loader_of
from ..._script.sequence import PROGRAMS
from ..._script.sysctls import RUNNING
from .rows import BOOT, BY_HAND, ITSELF, REQUESTED, SETTINGS, TEARDOWN, ordered, summary
from .units import KUBELETS

LINES_LIMIT, WRITTEN_LIMIT = 5, 20
# Kind of a hook without a unit of its own -> the units that run it at boot.
_STARTERS = {
    "rc_local": ("rc-local.service",), "cloud_init": ("cloud-init.service", "cloud-init-network.service"),
    "ifupdown": ("networking.service",)}


def by_file(rows, units, owns):
    """[row] of `rows`, in their order; `owns` as of Tracer. The rows of one file are one row where they run for the
    same unit and are equally live."""
    groups, order = {}, []
    for row in rows:
        early = _before_kubelet(row, units) if BOOT in row["triggers"] else None
        # A flush at boot before kubelet starts does no harm; a flush by a unit is reported for that unit.
        harmless = {BOOT} if early or units.known(row["unit"] or "") else set()
        automatic = bool(set(ITSELF).intersection(row["triggers"]) - harmless)
        key = (row["path"], row["unit"], row["live"], automatic, BY_HAND in row["triggers"],
               row["confidence"] == "possible", row["purpose"])
        if key not in groups:
            order.append(key)
        groups.setdefault(key, []).append((row, early))
    found = [_together([row for row, _early in groups[key]], [early for _row, early in groups[key]], key[3], owns)
             for key in order]
    for row in found:
        row["unit_seconds"] = units.seconds_in_state(units.name_of(row["unit"])) if row["unit"] else None
    return found


def _together(rows, early, automatic, owns):
    first = rows[0]
    triggers = ordered({trigger for row in rows for trigger in row["triggers"]})
    families, tables, _chains, back, _least_sure = summary(rows)
    saved_to = next((row["saved_to"] for row in rows if row["saved_to"]), None)
    restarted = [program for program in PROGRAMS if any(program in row["restarted"] for row in rows)]
    noticed = sequence.notices(rows)
    return {
        "subject": first["path"], "path": first["path"], "line": first["line"],
        "lines": [row["line"] for row in rows[:LINES_LIMIT]], "command": first["command"], "commands": len(rows),
        "counted": "1 command" if len(rows) == 1 else "%d commands" % len(rows),
        "first": ("in line %d" if len(rows) == 1 else "the first in line %d") % first["line"],
        "kind": first["kind"], "owner": first["owner"], "families": families, "tables": tables, "comes_back": back,
        "shown": shown(rows), "remedy": _remedy(rows, owns), "returns": sequence.returns(rows, restarted),
        "saved": sequence.saved(saved_to), "rebuilt": sequence.rebuilt(tables, restarted, noticed),
        "lost": sequence.lost(tables, restarted, noticed),
        "advice": sequence.advice(any(row["appends"] for row in rows), first["purpose"] == TEARDOWN),
        "unit": first["unit"] or first["service"], "triggers": triggers,
        "before_kubelet": False if False in early else True if True in early else None, "automatic": automatic,
        "asked": bool(set(REQUESTED).intersection(triggers)), "by_hand": BY_HAND in triggers, "live": first["live"],
        # One command that certainly flushes is enough, whatever the other ones do.
        "live_because": first["live_because"], "confidence": min((row["confidence"] for row in rows),
                                                                 key=CONFIDENCES.index), "purpose": first["purpose"]}


def _remedy(rows, owns):
    first = rows[0]
    if first["purpose"] != TEARDOWN:
        return remedy(rows, owns)
    return "Remove the line that starts %s%s." % (
        first["path"], " (%s)" % ", ".join(first["through"][:2]) if first["through"] else "")


def _before_kubelet(row, units):
    """Whether every kubelet of this tree starts only after it; None for a tree without a kubelet."""
    from ..units.order import ordered_before
    starters = [name for name in ((row["unit"],) if row["unit"] else _STARTERS.get(row["kind"], ()))
                if units.known(name)]
    kubelets = [name for name in KUBELETS if units.known(name)]
    if not kubelets:
        return None
    return bool(starters) and all(ordered_before(units.all, name, kubelet) for name in starters[:1]
                                  for kubelet in kubelets)


def written(rows, units, replays):
    """[row] for scripts that write harmful settings into modprobe.d or sysctl.d, or harmful rules into files that a
    service loads; `replays` as of Tracer."""
    found = [_loaded(row, units, replays.get(row["file"], ())) for row in rows if row["sort"] == SETTINGS]
    keys = ("path", "line", "command", "file", "triggers", "through", "live", "live_because")
    return [dict({key: row[key] for key in keys}, settings=row["tables"][:LINES_LIMIT], applied=applied,
                 setting_count=len(row["tables"]), by_hand=BY_HAND in row["triggers"], subject=row["path"],
                 remedy=remedy_of_written(row))
            for row, applied in found[:WRITTEN_LIMIT]]


def connections(rows):
    """[row] for commands that delete all tracked connections while pods run."""
    keys = ("path", "line", "command", "triggers", "through", "live", "live_because", "confidence")
    return [dict({key: row[key] for key in keys}, subject=row["path"]) for row in rows
            if row["sort"] == CONNECTIONS and set(ITSELF).difference((BOOT,)).intersection(row["triggers"])
            ][:WRITTEN_LIMIT]


def _loaded(row, units, replays):
    """(row, a sentence on when the file takes effect and what it does then). A file that nothing loads is harmless."""
    loader = loader_of(row["file"])
    if row["file"] == RUNNING:
        return row, "the running kernel then has %s, whatever sysctl.d sets" % ", ".join(row["tables"])
    if loader is None:
        return row, "the next boot applies %s" % row["file"]
    does = (["old rules of Kubernetes come back"] if COPY in row["tables"] else []) + (
        ["rules of Kubernetes are flushed"] if [text for text in row["tables"] if text not in (COPY, DROP)] else []) + (
        ["packets of pods that its forward chain does not accept are dropped"] if DROP in row["tables"] else [])
    live, because = units.runs(loader)
    if row["verb"] == "enable":
        when = "the script enables %s, which loads" % loader
    else:
        others = [who for who, others_live, _triggers in replays if others_live is not False and who != loader]
        when = "%s loads" % (others[0] if others and live is False else loader)
        if live is False and not others:
            row = dict(row, live=False if row["live"] else row["live"], live_because=because)
            when = "%s, %s, loads" % (loader, "where it runs" if units.known(loader) else "where it is installed")
    return row, "%s %s at each boot, start and reload: %s" % (when, row["file"], " and ".join(does))
