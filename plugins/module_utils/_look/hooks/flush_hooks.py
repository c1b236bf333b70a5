# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_flush_hooks: what on this node flushes the firewall, and when.

The parsers of scripts are imported only when a file holds a word of the firewall, as each run compiles sources."""

import contextlib
import posixpath

from ..._host import walk as host_walk
from ..._host.host import ABSENT, BINARY_DIRECTORIES, DENIED, OK, TIMEOUT, UNPARSED
from ..._names import UNCOLLECTED
from ..._parse.commands.embedded import FIRST_BOOT, line_in_file
from ..._parse.search_directories import checked_directories
from ..._script.words import mentions
from ..processes import status_of_notes, unread_rows
from . import files as hooks_files, units
from .live import has_unit, unit_of_script
from .places import PLACES, SOURCES, unread_part
from .rows import APART, BOOT, BY_HAND, EVENT, PACKAGE_UPGRADE, START, STOP, TIMER, UNREPORTED, Origin, Owners, Rows
from .saved import SavedSets
from .scripts import OTHER, Scripts, language_of
from .units import HookUnits, distinct

DIRECTORIES = ("/usr/local/bin", "/usr/local/sbin")
DEPTH = 6
# Words of the parsers -> triggers.
_WHEN = {"boot": BOOT, FIRST_BOOT: BOOT, "timer": TIMER, "event": EVENT, "package_upgrade": PACKAGE_UPGRADE,
         "start": START, "stop": STOP}
# Arguments of init scripts.
_ARGUMENTS = {"boot": "start"}
# A file without the execute permission and without a first line `#!` is a script if its name has one of these endings.
_SCRIPT_NAMES = (".sh", ".bash", ".ksh", ".dash")
_DOCUMENTS = (".md", ".txt", ".rst", ".adoc", ".html", ".htm", ".json", ".yml", ".yaml", ".xml", ".conf", ".cfg",
              ".log", ".csv")
# All unit files of a node have a few hundred KiB together; in a tree with more they are read again when needed.
_KEPT_LIMIT = 8 * 1024 * 1024
_WORST = (DENIED, UNPARSED, TIMEOUT, OK, UNCOLLECTED, ABSENT)


def collect_flush_hooks(host, node, directories=DIRECTORIES):
    """The evidence dict; `directories` are searched for scripts that people run. Raises BadInput."""
    look = _Look(host, node, checked_directories(directories))
    look.search()
    return look.section()


class _Look:
    """One search of a tree. Used by live.py: `host`, `node`, `units`, `is_debian()`."""

    def __init__(self, host, node, directories):
        self.host, self.node = host, node
        # {source: notes on its parts that could not be read}
        self._unread = {}
        with self._reading("systemd"):
            self.units = HookUnits(host, node)
        self._directories = directories
        self._walk = host_walk.Walk(host)
        # This walk has limits of its own, so that large directories given by a user do not stop the search for commands
        # that run automatically. A script that people run is recognised by its first line or its name; a large text
        # without them is not a script.
        self._search = host_walk.Walk(host, worth=lambda path: path.lower().endswith(_SCRIPT_NAMES))
        self._scripts = Scripts(host, self._walk, self.is_debian)
        self._saved = SavedSets(host)
        self._rows = Rows(Owners(host))
        self._collected = dict.fromkeys(SOURCES + ("directories", "saved_rules"), ABSENT)
        self._collected["systemd"] = self.units.status
        self._debian, self._tracer, self._unit_files = None, None, None

    def is_debian(self):
        if self._debian is None:
            self._debian = self.host.exists("/etc/debian_version")
        return self._debian

    @contextlib.contextmanager
    def _reading(self, source):
        """Record everything that cannot be read in the block as unread for `source`: a file of it, a script that is
        started there, a folder of the path."""
        with self.host.noting() as notes:
            yield
        if notes:
            self._unread.setdefault(source, {}).update(notes)

    def search(self):
        with self._reading("systemd"):
            done = self._trace_units(())
        # A unit that starts another unit that flushes, or a program by its bare name, has no word of the firewall
        # itself.
        self._scripts.know(name.partition(".")[0].partition("@")[0] for name in self._rows.units())
        with self._reading("directories"):
            by_hand = self._in_directories()
        self._scripts.know(posixpath.basename(found.path) for found in by_hand
                           if posixpath.dirname(found.path) in BINARY_DIRECTORIES)
        with self._reading("systemd"):
            if self._scripts.names:
                self._trace_units(done)
        for place in PLACES:
            with self._reading(place.source):
                for found in self._at(place):
                    self._trace_place(place, found)
        with self._reading("directories"):
            for found in by_hand:
                self._trace_by_hand(found)
        with self._reading("systemd"):
            if self._tracer:
                self._tracer.finish()

    def _trace_units(self, done):
        """Follow the units whose files are worth parsing, except the names in `done`; returns the names of both."""
        names = [name for name in self.units.names_at(self._unit_paths()) if name not in done]
        if names or not done:
            self.units.ask_active(names)
        if names:
            from .units import trace_units
            trace_units(self._tracing(), self.units, names)
        return tuple(done) + tuple(names)

    def _unit_paths(self):
        """Paths of the unit files and drop-ins that are worth parsing. Many are links to one file, whose text is judged
        once."""
        size = [0]

        def is_kept(data):
            size[0] += len(data)
            return size[0] <= _KEPT_LIMIT or self._scripts.is_wanted(data)

        files = self._unit_files
        if files is None:
            files = [found for folder in self.units.folders() for found in self._below("systemd", folder, 1, is_kept)]
            self._unit_files = files if size[0] <= _KEPT_LIMIT else None
        texts = {found.data for found in files}
        wanted = {data for data in texts if self._scripts.is_wanted(data)}
        return [found.path for found in files if found.data in wanted]

    def _tracing(self):
        if self._tracer is None:
            from .trace import Tracer
            self._tracer = Tracer(self.host, self._scripts, self.units, self._saved, self._rows)
        return self._tracer

    def _in_directories(self):
        found = []
        for folder in distinct(self.host, self._directories):
            status, hits = self._search.below(folder, self._scripts.is_script_wanted, DEPTH)
            self._note("directories", status)
            found += hits
        return found

    def _at(self, place):
        """Files of a place that are worth parsing."""
        found = []
        for path in place.files:
            real = self.host.tree_path(path)
            if real and real not in place.files[:place.files.index(path)]:
                status, hit = self._walk.read(real, None if place.whole else self._scripts.is_wanted,
                                              packed=place.whole)
                self._note(place.source, status)
                found += [hit] if hit and self._walk.whole(hit) else []
        for folder in distinct(self.host, place.folders):
            if place.kind == "init":
                # systemd does not start a script that has a unit; a program that calls the script by its path is
                # followed from the caller.
                found += [each for each in self._below(place.source, folder, place.depth, bool)
                          if (self._scripts.names_a_hit if has_unit(self, each.path)
                              else self._scripts.is_wanted)(each.data)]
            else:
                found += self._below(place.source, folder, place.depth)
        return found

    def _below(self, source, folder, depth, wanted=None):
        status, found = self._walk.below(folder, wanted or self._scripts.is_wanted, depth)
        self._note(source, status)
        return found

    def _note(self, source, status):
        self._collected[source] = min(self._collected[source], status, key=_WORST.index)

    def _trace_place(self, place, found):
        from ..._script import services
        text = found.data[:200].decode("utf-8", "replace")
        if text.startswith("#!") and language_of(text) == OTHER:
            if mentions(found.data):
                self._scripts.other_languages.add(found.path)
            return
        tracer, unit = self._tracing(), self._unit_of(place, found.path)
        # The name of a link decides whether it is run; the target of the link is the script.
        path = self.host.tree_path(found.path) or found.path
        tracer.reached.update((found.path, path))
        problem = unread_part(place, found.data)
        if problem:
            self.host.note(found.path, "could not be read: %s" % problem)
        for command in place.read(found.data, found.path):
            live, because = place.runs(self, found.path, found.mode, command.when)
            origin = Origin(place.kind, (_WHEN[command.when],), live, because, unit, (), (path,))
            arguments = (_ARGUMENTS.get(command.when, command.when),) if place.kind == "init" else None
            acts = services.known_program(found.path) or services.openrc_program(found.path, found.data)
            if acts is None:
                tracer.shell(origin, path, command.text, lambda line, command=command: line_in_file(command, line),
                             arguments)
            else:
                tracer.acts(origin, path, 1, acts(arguments[0] if arguments else "", tracer.read))

    def _unit_of(self, place, path):
        """systemd makes a unit of a script in init.d, unless there is one of that name (man systemd-sysv-generator)."""
        return (unit_of_script(path)
                if place.kind == "init" and "/init.d/" in path and not has_unit(self, path) else None)

    def _trace_by_hand(self, found):
        tracer, script = self._tracing(), self._scripts.of(found.path)
        if script is None or (script.path in tracer.reached and self._rows.may_run(script.path)):
            return
        if _is_script(found):
            origin = Origin("script", (BY_HAND,), None,
                            "no unit, timer, cron job or hook runs it; a person or another program may", None, (), ())
            # Functions that a script never calls are followed only if nothing runs the script.
            uses = script.path in tracer.reached
            tracer.script(origin, script)
            if not uses:
                tracer.follow_library(origin, script)

    def section(self):
        every = self._rows.all()
        rows = [row for row in every if row["sort"] not in APART]
        replays = self._tracer.replays if self._tracer else {}
        with self._reading("saved_rules"):
            saved, saved_left_out = self._saved.rows(replays, self.units)
            firewalld, ufw = self._firewalld(), self._ufw()
        with self._reading("systemd"):
            files = hooks_files.by_file(rows, self.units, self._tracer.owns if self._tracer else {})
            written = hooks_files.written(every, self.units, replays)
            unordered, waiting = units.unordered(rows, self.units), units.waiting(rows, self.units)
        walks = (self._walk, self._search)
        if saved:
            self._note("saved_rules", OK)
        for source, notes in self._unread.items():
            self._note(source, status_of_notes(notes))
        skipped, skipped_count = unread_rows(self.host, self._unread)
        if self.node["place"] == "bundle":
            self._collected.update((source, UNCOLLECTED) for source, status in self._collected.items()
                                   if status == ABSENT)
        if self._tracer and (self._tracer.cut or self._rows.full):
            self._note("directories", TIMEOUT)
        hooks = [{key: value for key, value in row.items() if key not in UNREPORTED} for row in rows]
        return {
            "schema": 1, "collected": self._collected, "hooks": hooks, "hook_count": len(rows), "hooks_left_out": 0,
            "files": files, "file_count": len(files), "saved_rule_sets": saved, "written": written,
            "connections": hooks_files.connections(every),
            "saved_left_out": saved_left_out, "unordered": unordered, "waiting": waiting, "firewalld": firewalld,
            "ufw": ufw, "scanned": {
                "files": sum(walk.files for walk in walks), "bytes": sum(walk.bytes for walk in walks),
                "skipped": skipped, "skipped_count": skipped_count,
                "other_languages": sorted(self._scripts.other_languages)[:10]}}

    def _firewalld(self):
        from ..._script.service_settings import firewalld_settings
        return self._with_live(firewalld_settings(self._saved.text, self._names_in), "firewalld.service")

    def _names_in(self, folder):
        status, names = self.host.list_dir(folder)
        return names if status in (OK, ABSENT) else None

    def _ufw(self):
        from ..._script.service_settings import ufw_settings
        return self._with_live(ufw_settings(self._saved.text), "ufw.service")

    def _with_live(self, settings, name):
        """The settings of a service, and whether it starts: a bundle may hold them without the unit."""
        if settings is not None:
            held = self.node["place"] != "bundle" or self.units.known(name)
            settings["live"], settings["live_because"] = (
                self.units.runs(name) if held else (None, "the bundle does not contain %s" % name))
        return settings


def _is_script(found):
    """Whether the file may be started: a manual that shows commands is not a script."""
    if found.data.startswith(b"#!"):
        return True
    name = found.path.lower()
    return name.endswith(_SCRIPT_NAMES) or (found.mode & 0o111 and not name.endswith(_DOCUMENTS))
