# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved rule sets of a node: their content, and the programs that load and write them.

The effects of a command that starts, stops or reloads a service: those of the commands of its unit.
"""

from ..._host.host import OK
from ..._script.effect import CONFIDENCES, EVERY, IPV4, IPV6, LIKELY
from ..._script.rule_files import IPTABLES, LOADERS, SIZE_LIMIT, family_of, read_saved
from ..._script.service_settings import savers
from ..._script.services import FIREWALLD, OPENRC, acts_of_verb, known_program
from .rows import BOOT, BY_HAND, RELOAD, START, STOP, summary

ROWS_LIMIT, WHO_LIMIT = 20, 5
_FILES = ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6", "/etc/iptables/iptables.rules",
          "/etc/iptables/ip6tables.rules", "/etc/iptables.rules", "/etc/ip6tables.rules", "/etc/iptables.up.rules",
          "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables", "/etc/sysconfig/iptables.save",
          "/etc/sysconfig/ip6tables.save", "/etc/sysconfig/iptables.fallback", "/etc/sysconfig/ip6tables.fallback",
          "/etc/systemd/scripts/ip4save", "/etc/systemd/scripts/ip6save", "/var/lib/iptables/rules-save",
          "/var/lib/ip6tables/rules-save", "/etc/iptables/rules-save", "/etc/iptables/rules6-save",
          "/etc/nftables.conf", "/etc/sysconfig/nftables.conf", "/etc/nftables.nft")
# The link that `systemctl enable` creates.
_WANTED = "/etc/systemd/system/multi-user.target.wants/"
# Flatcar and Gentoo (net-firewall/iptables): unit -> the file it writes when the node goes down.
_STORES = (("iptables-store.service", "/var/lib/iptables/rules-save"),
           ("ip6tables-store.service", "/var/lib/ip6tables/rules-save"))


class SavedSets:
    """Files that hold rules, each read once. `text(path)` returns None for a file that cannot be read."""

    def __init__(self, host):
        self._host = host
        self._texts, self._sets = {}, {}

    def text(self, path):
        return self._read(path)[1]

    def status(self, path):
        return self._read(path)[0]

    def _read(self, path):
        if path not in self._texts:
            status, data = self._host.read_bytes(path, SIZE_LIMIT)
            self._texts[path] = (status, data.decode("utf-8", "replace") if status == OK else None)
        else:
            self._host.note(path, self._texts[path][0])
        return self._texts[path]

    def of(self, path):
        """`Saved` of a file, None where it holds no rules."""
        text = self.text(path)
        if path not in self._sets:
            self._sets[path] = read_saved(text, family_of(path)) if text else None
        return self._sets[path]

    def rows(self, replays, units):
        """The saved rule sets, those with chains of Kubernetes first: (rows, how many were left out)."""
        writers = self._writers(units)
        found = []
        for path in sorted(set(_FILES) | set(replays) | set(writers)):
            saved = self.of(path)
            # A configuration file of nft looks like a dump; it counts as a dump only if it contains chains of
            # Kubernetes.
            if path in writers or (saved and (saved.format == IPTABLES or saved.kubernetes)):
                row = self._row(path, replays.get(path, ()), sorted(set(writers.get(path, ()))))
                found.append(self._with_loader(row, units))
        found.sort(key=lambda row: (-min(row["kubernetes"], 1), not row["replayed_by"], row["path"]))
        return found[:ROWS_LIMIT], len(found[ROWS_LIMIT:])

    def _with_loader(self, row, units):
        """The row with the service that loads such a file, of which a bundle may show that it is enabled without its
        unit; without both, whether the file is loaded at boot is not known."""
        loader = LOADERS.get(row["path"])
        if not units.in_bundle or not loader or row["replayed_by"] or units.known(loader):
            return row
        if self._host.read_link(_WANTED + loader) is not None:
            return dict(row, replayed_by=[loader], at_boot=True)
        return dict(row, at_boot=None)

    def _row(self, path, replays, writers):
        saved = self.of(path)
        who = sorted({name for name, _live, _triggers in replays})
        at_boot = [live for _name, live, triggers in replays if BOOT in triggers]
        return {"path": path, "format": saved.format if saved else None,
                "family": saved.family if saved else family_of(path), "tables": saved.tables if saved else [],
                "owners": saved.owners if saved else {}, "rules": saved.rules if saved else 0,
                "kubernetes": saved.kubernetes if saved else 0, "replayed_by": who[:WHO_LIMIT],
                "at_boot": True if True in at_boot else None if None in at_boot else False,
                "saved_by": writers[:WHO_LIMIT]}

    def _writers(self, units):
        found = {}
        for path, who in savers(self.text):
            if who.startswith(OPENRC) or units.runs(path.rpartition("/")[2] + ".service")[0] is not False:
                found.setdefault(path, []).append(who)
        for unit, path in _STORES:
            if units.known(unit) and (units.all.state(unit) or "").startswith("enabled"):
                found.setdefault(path, []).append(unit)
        return found


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
