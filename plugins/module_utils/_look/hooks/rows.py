# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hooks that were found: one row for each command, however many callers lead to it.

The owner of a file, the administrator or a package, without running a package manager.

Most paths identify the owner; below /etc the lists of dpkg do. The databases of rpm are not read, so
there the owner is unknown.
"""

import collections

from ..._host.host import OK
from ..._parse.secrets import masked_text
from ..._script.effect import CONFIDENCES, CONNECTIONS, EVERY
from ..._script.sequence import summary_of

ADMINISTRATOR, PACKAGE, UNKNOWN = "administrator", "package", "unknown"
_INFO = "/var/lib/dpkg/info"
_ADMINISTRATORS = ("/usr/local/", "/opt/", "/root/", "/home/", "/srv/", "/etc/cloud/", "/var/spool/cron/",
                   "/etc/systemd/system.control/")
_PACKAGES = ("/usr/", "/lib/", "/lib64/", "/sbin/", "/bin/")
# Files of the iptables package of Azure Linux and Photon (SPECS/iptables), and of firewalls of RHEL, below /etc.
_BY_NAME = ("/etc/systemd/scripts/iptables", "/etc/systemd/scripts/iptables.stop", "/etc/systemd/scripts/ip4save",
            "/etc/systemd/scripts/ip6save", "/etc/sysconfig/iptables-config", "/etc/sysconfig/ip6tables-config",
            "/etc/firewalld/firewalld.conf", "/etc/default/ufw")
_LISTS_LIMIT = 4 * 1024 * 1024


class Owners:
    """The lists are read when the first file below /etc is looked up: only files with hooks are."""

    def __init__(self, host):
        self._host = host
        self._known, self._status = None, None

    def of(self, path):
        """administrator, package or unknown."""
        if path in _BY_NAME:
            return PACKAGE
        if path.startswith(_ADMINISTRATORS):
            return ADMINISTRATOR
        if path.startswith(_PACKAGES):
            return PACKAGE
        if not path.startswith("/etc/"):
            return UNKNOWN
        if self._known is None:
            self._read()
        if path in self._known:
            return PACKAGE
        return ADMINISTRATOR if self._status == OK or path.startswith("/etc/systemd/system/") else UNKNOWN

    def _read(self):
        """Read which files dpkg packages install below /etc: their lists of configuration files name nearly all."""
        self._status, names = self._host.list_dir(_INFO)
        self._known = set()
        for name in names:
            if name.endswith(".conffiles"):
                for line in self._host.read_text(_INFO + "/" + name, _LISTS_LIMIT).text.splitlines():
                    # dpkg 1.20 marks files that a package gives up with a word in front (man deb-conffiles).
                    self._known.add(line.split(" ", 1)[-1].strip())


BOOT, START, STOP, RESTART, RELOAD = "boot", "start", "stop", "restart", "reload"
PACKAGE_UPGRADE, TIMER, EVENT, BY_HAND = "package_upgrade", "timer", "event", "by_hand"
TRIGGERS = (BOOT, START, STOP, RESTART, RELOAD, PACKAGE_UPGRADE, TIMER, EVENT, BY_HAND)
# Triggers that need no request.
ITSELF = (BOOT, PACKAGE_UPGRADE, TIMER, EVENT)
# Requests to a service (systemctl stop).
REQUESTED = (START, STOP, RESTART, RELOAD)
THROUGH_LIMIT, PLACE_LIMIT = 5, 120
# More rows are cut, and `full` reports the cut.
LIMIT = 1000
_LIVE_RANK = {False: 0, None: 1, True: 2}
_BACK_RANK = ("no", "unknown", "replaced", "saved")
# Data of an instance is fetched again; the settings of a program are for their owner to decide.
_NOT_EDITED = ("/var/lib/cloud/", "/run/")

# How a command is reached: `kind` of the file that starts it, `triggers`, `live` and `because`, the `unit` it runs for,
# `through` (`path:line` of the callers), `chain` (paths of the scripts between). `purpose`: TEARDOWN, LIBRARY or None.
# `after`: what the callers do when the command is done, as of a Run. `directive`: ExecStart or another key of a unit.
Origin = collections.namedtuple("Origin", "kind triggers live because unit through chain purpose after directive")
Origin.__new__.__defaults__ = (None, (), None)
# TEARDOWN: it removes Kubernetes and its rules from the node. LIBRARY: it defines a function that nothing calls.
TEARDOWN, LIBRARY = "teardown", "library"
# What a script writes into files, and connections that it deletes: no rule is changed.
SETTINGS = "settings"
APART = (SETTINGS, CONNECTIONS)
# Keys of a row that stay on the node: the name of a file may hold the value of a variable, which may be a secret.
UNREPORTED = ("directive", "file")


class Rows:
    """Rows by place and command; `all()` in the order in which they matter. `full`: there were more than are kept."""

    def __init__(self, owners):
        self.full = False
        self._owners = owners
        self._rows = {}

    def __len__(self):
        return len(self._rows)

    def take(self, origin, path, line, effect, kind=None, service=None):
        """Record that `effect`, found at `path`, is reached from `origin`. `kind` of the file, if not the origin's."""
        saved_to, restarted, appends = summary_of(origin.after, effect.families)
        restarted = effect.restarted + tuple(program for program in restarted if program not in effect.restarted)
        effect = effect._replace(saved_to=effect.saved_to or saved_to, restarted=restarted,
                                 appends=effect.appends or appends)
        key = (path, line, effect.command, effect.sort, service, effect.file if effect.sort == SETTINGS else None)
        row = self._rows.get(key)
        if row is None:
            self.full = self.full or len(self._rows) >= LIMIT
            if not self.full:
                self._rows[key] = self._row(origin, path, line, effect, kind or origin.kind, service)
            return
        if origin.purpose == LIBRARY:
            return
        for name, values in (("families", effect.families), ("tables", effect.tables), ("chains", effect.chains)):
            # for t in nat filter; do iptables -t $t -F; done
            row[name] += [value for value in values if value not in row[name]]
        row["purpose"] = row["purpose"] if row["purpose"] == origin.purpose else None
        row["saved_to"], row["appends"] = row["saved_to"] or _saved_to(effect), row["appends"] or effect.appends
        row["restarted"] += [program for program in effect.restarted if program not in row["restarted"]]
        row["triggers"] = ordered(set(row["triggers"]) | set(origin.triggers))
        row["through"] = (row["through"] + [caller for caller in origin.through
                                            if caller not in row["through"]])[:THROUGH_LIMIT]
        row["unit"] = row["unit"] or origin.unit
        if row["kind"] in ("script", "unit") and origin.kind not in ("script", "unit") and not kind:
            row["kind"] = origin.kind
        if _LIVE_RANK[origin.live] > _LIVE_RANK[row["live"]]:
            row["live"], row["live_because"] = origin.live, origin.because

    def _row(self, origin, path, line, effect, kind, service):
        owner = self._owners.of(path)
        row = {"path": path, "line": line, "command": _masked(effect.command, kind), "kind": kind, "owner": owner,
               "sort": effect.sort, "families": list(effect.families), "tables": list(effect.tables),
               "chains": list(effect.chains), "comes_back": effect.comes_back, "service": service,
               "verb": effect.verb if service else None, "unit": origin.unit, "triggers": ordered(origin.triggers),
               "through": list(origin.through[:THROUGH_LIMIT]), "live": origin.live, "live_because": origin.because,
               "confidence": effect.confidence, "fix": _fix(kind, owner, path, origin), "saved_to": _saved_to(effect),
               "restarted": list(effect.restarted), "appends": effect.appends, "purpose": origin.purpose,
               "directive": origin.directive if (kind or origin.kind) == "unit" else None, "file": effect.file}
        return dict(row, verb=effect.verb) if effect.sort == SETTINGS else row

    def may_run(self, path):
        """Whether at least one caller of the commands at `path` runs, or may run."""
        return any(row["live"] is not False for row in self._rows.values() if row["path"] == path)

    def of_unit(self, unit, phases):
        """The rows of the commands that run when a unit starts, stops or reloads."""
        return [row for row in self._rows.values()
                if row["unit"] == unit and row["sort"] not in APART and set(phases).intersection(row["triggers"])]

    def units(self):
        """Names of the units that run any of these commands."""
        return {row["unit"] for row in self._rows.values() if row["unit"] and row["sort"] not in APART}

    def all(self):
        """The rows in order: rows that run, then rows for which that is not known, then the rest; in each of these
        groups rows that run automatically come before rows on request."""
        return sorted(self._rows.values(), key=lambda row: (
            -_LIVE_RANK[row["live"]], not set(ITSELF).intersection(row["triggers"]), BY_HAND in row["triggers"],
            CONFIDENCES.index(row["confidence"]), row["path"], row["line"], row["command"]))


def _masked(command, kind):
    """A statement of an nft file is shown as the command of nft that it would be."""
    return masked_text("nft " + command)[len("nft "):] if kind == "nft_config" else masked_text(command)


def ordered(triggers):
    return [trigger for trigger in TRIGGERS if trigger in triggers]


def _saved_to(effect):
    place = effect.saved_to
    return masked_text(place, PLACE_LIMIT) if place and "/" in place else place


def _fix(kind, owner, path, origin):
    """The smallest change that removes the danger, or None where a program should not decide it."""
    if origin.purpose:
        return None
    if kind == "service_config" or path.startswith(_NOT_EDITED):
        return None
    if kind == "unit":
        return "drop_in"
    if kind == "nft_config" or owner != PACKAGE:
        return "remove_command" if owner == ADMINISTRATOR or path.startswith("/etc/") else None
    return "drop_in" if origin.unit else "divert"


def summary(effects):
    """(families, tables, chains, comes_back, confidence) of several rows together."""
    families = sorted({family for row in effects for family in row["families"]})
    tables = sorted({table for row in effects for table in row["tables"]})
    chains = sorted({chain for row in effects for chain in row["chains"]})
    back = min((row["comes_back"] for row in effects), key=_BACK_RANK.index)
    sure = max((row["confidence"] for row in effects), key=CONFIDENCES.index)
    return families, list(EVERY) if "*" in tables else tables, list(EVERY) if "*" in chains else chains, back, sure
