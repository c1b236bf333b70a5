# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows what a node runs: commands, the scripts they start, the scripts those start, and services they restart."""

import posixpath
import re

from ..._host.host import OK
from ..._script import nft_script, services
from ..._script.effect import CERTAIN, CONFIDENCES, EVERY, IPV4, IPV6, Effect
from ..._script.rule_files import harmful_rules
from ..._script.script import STATEMENTS_LIMIT, read_script
from ..._script.sysctls import RUNNING, harmful
from .rows import LIBRARY, RESTART, SETTINGS, STOP, TEARDOWN
from .scripts import OTHER, folders_in

# Limits for scripts that start scripts: the depth, and the number of scripts in one look.
DEPTH_LIMIT = 8
READINGS_LIMIT, INCLUDES_LIMIT = 3000, 50
COPIES_LIMIT = 100      # files of rules that scripts copy
COPY_LIMIT = 262144     # characters that are read of one
# For all scripts together: ten times the limit of one script (_script/script.py), about ten seconds.
ALL_STATEMENTS_LIMIT = 500000
# The worst first.
_NFT_SORTS = ("ruleset", "table", "flush", "delete")
# Scripts of distributions that remove Kubernetes from a node (k3s install.sh, rke2 bundle/bin); a user who runs one
# expects that its rules are deleted.
_ENDS_KUBERNETES = ("k3s-killall.sh", "k3s-uninstall.sh", "k3s-agent-uninstall.sh", "rke2-killall.sh",
                    "rke2-uninstall.sh")

# Their arguments are the script.
_SHELLS = ("sh", "bash", "dash", "ash", "busybox", "env")


class Tracer:
    """`rows` is filled by `shell`, `program` and, in the end, `finish`. `replays` is {path of a saved rule set: [(who,
    live, triggers)]}; `reached` are paths of scripts that something runs, or may; `cut` is true where there was more
    than could be followed; `read(path)` is the text of a file of settings or rules, or None; `owns` is {path of an nft
    file: own_tables() of it and of what it includes}. A script that is not followed to its end is noted (Host.note)."""

    def __init__(self, host, scripts, units, saved, rows):
        self.replays, self.reached, self.cut, self.owns = {}, set(), False, {}
        self.read = saved.text
        self._host, self._scripts, self._units, self._saved, self._rows = host, scripts, units, saved, rows
        self._readings = {}
        self._left, self._statements = READINGS_LIMIT, ALL_STATEMENTS_LIMIT
        self._services = []
        # {path: harmful_rules() of it}
        self._copies = {}

    def shell(self, origin, path, text, line_of, arguments=None, called=(), folders=()):
        """Follow a shell text in the file `path`; `line_of(line)` is the line of the file, `folders` those it runs
        in."""
        reading = self._reading(text, arguments, called)
        if reading is None:
            return
        if reading.cut:
            self._host.note(path, reading.cut)
        beside = (posixpath.dirname(path),) + tuple(folders) + tuple(folders_in(text))
        for effect in reading.effects:
            self._take(origin, path, line_of(effect.line), self._copied(effect, beside))
        names, outer = self._names_called(reading, called, beside), origin
        for run in reading.runs:
            line = line_of(run.line)
            origin = outer._replace(after=self._after(run, reading, beside) + outer.after)
            if run.how == "unit":
                verb = run.arguments[0] if run.arguments else ""
                command = "systemctl %s %s" % (verb, run.path_or_name)
                self._services.append((origin, path, line, Effect(
                    line, run.span, command, "service", (), (), (), run.path_or_name, verb, None, "unknown", CERTAIN)))
            else:
                self._follow(origin, path, line, run, names, beside)

    def _copied(self, effect, folders):
        """For a copy into a file of rules, what the rules do that are copied."""
        if effect.sort != "copy":
            return effect
        source = self._scripts.find(effect.tables[0], folders) if "/" in effect.tables[0] else next(
            (path for path in (posixpath.join(folder, effect.tables[0]) for folder in folders)
             if self._host.is_file(path)), None)
        if source and source not in self._copies and len(self._copies) >= COPIES_LIMIT:
            self.cut = True
        elif source and source not in self._copies:
            judge = harmful if effect.file == RUNNING else harmful_rules
            self._copies[source] = judge((self.read(source) or "")[:COPY_LIMIT])
        tables = tuple(line for line in self._copies.get(source, ()) if line not in effect.chains)
        return effect._replace(sort=SETTINGS, tables=tables, chains=())

    def _after(self, run, reading, folders):
        """The events of a script after the program that it runs; for a library that it sources, the events after calls
        of the library's functions."""
        if run.how != "source":
            return run.after
        program = self._scripts.find(run.path_or_name, folders)
        script = self._scripts.of(program) if program else None
        library = self._reading(script.text, None, ()) if script else None
        return tuple(event for call in reading.runs if library and call.path_or_name in library.uncalled
                     for event in call.after)

    def _names_called(self, reading, called, folders):
        """Names by which a text can call functions: its own, those of its caller, and those of files that it sources,
        because one library calls functions of another."""
        names = tuple(called) + _names_in(reading)
        sourced = [self._scripts.find(run.path_or_name, folders) for run in reading.runs if run.how == "source"]
        for program in sourced if len(sourced) > 1 else ():
            script = self._scripts.of(program) if program else None
            inner = self._reading(script.text, None, names) if script else None
            names += _names_in(inner) if inner else ()
        return tuple(dict.fromkeys(names))

    def _reading(self, text, arguments, called):
        key = (text, arguments, called)
        if key not in self._readings:
            if self._left <= 0 or self._rows.full:
                self.cut = True
                return None
            self._left -= 1
            limit = min(STATEMENTS_LIMIT, self._statements)
            self._readings[key] = read_script(text, arguments, called, limit)
            self._statements -= self._readings[key].statements
        return self._readings[key]

    def program(self, origin, path, line, program, arguments, called=None, environment=None):
        """Follow a program that the file `path` starts: one of a known service, or a script. `called`: names that its
        caller uses, if the caller sources it; `environment`: variables that a unit sets."""
        acts = services.known_program(program)
        if acts is not None and not (program.endswith(services.READ_FIRST) and self._has_effects(program, arguments)):
            self.acts(origin, path, line, acts(_verb(arguments), self.read, environment))
            return
        script = self._scripts.of(program)
        if script is not None:
            origin = origin._replace(through=("%s:%d" % (path, line),) + tuple(origin.through))
            self.script(origin, script, _given(arguments) if called is None else None, called or ())

    def _has_effects(self, program, arguments):
        script = self._scripts.of(program)
        reading = self._reading(script.text, tuple(arguments), ()) if script is not None else None
        return reading is not None and bool(reading.effects)

    def is_script(self, path):
        """Whether there is a text at a path, whatever its name is, such as `/etc/systemd/scripts/iptables`."""
        script = self._scripts.of(path) if path.startswith("/") else None
        # The kernel runs no other text.
        return script is not None and script.text.startswith("#!") and posixpath.basename(path) not in _SHELLS

    def script(self, origin, script, arguments=None, called=()):
        if script.path in origin.chain or len(origin.chain) >= DEPTH_LIMIT:
            return
        self._reach(origin, script.path)
        if posixpath.basename(script.path) in _ENDS_KUBERNETES:
            origin = origin._replace(purpose=TEARDOWN)
        origin = origin._replace(kind="script", chain=origin.chain + (script.path,))
        if script.language == OTHER:
            self._scripts.other_languages.add(script.path)
        elif script.is_nft:
            self.nft(origin, script.path)
        else:
            self.shell(origin, script.path, script.text, lambda inner: inner, arguments, called)

    def follow_library(self, origin, script):
        """Follow the functions of a script that nothing in it calls."""
        reading = self._reading(script.text, None, ()) if script.language != OTHER and not script.is_nft else None
        if reading is not None and reading.uncalled:
            self.script(origin._replace(purpose=LIBRARY), script, None, reading.uncalled)

    def _reach(self, origin, path):
        if origin.live is not False:
            self.reached.add(path)

    def acts(self, origin, path, line, acts):
        """Add the effects of a service of a distribution; the row points to the setting that causes the effect."""
        for act in acts:
            if act.effect.file:
                self._replayed(origin, path, line, act.effect.file)
            if act.effect.sort == services.LOAD:
                continue
            if act.path:
                inner = origin._replace(through=("%s:%d" % (path, line),) + tuple(origin.through))
                self._rows.take(inner, act.path, act.line, act.effect, act.kind)
            else:
                self._rows.take(origin, path, line, act.effect)

    def nft(self, origin, path):
        """Follow a file of nft's language and what it includes: [Effect]."""
        text = self.read(path) if path not in origin.chain[:-1] and len(origin.chain) <= INCLUDES_LIMIT else None
        if text is None:
            return []
        self._replayed(origin, path, 0, path)
        found = nft_script.read_nft_script(text)
        self.owns[path] = own, shared = nft_script.own_tables(text)
        for effect in found:
            self._rows.take(origin, path, effect.line, effect, "nft_config")
        for run in nft_script.read_nft_includes(text):
            for included in self._included(path, run.path_or_name):
                if included not in origin.chain:
                    caller = "%s:%d" % (path, run.line)
                    inner = origin._replace(through=(caller,) + tuple(origin.through), chain=origin.chain + (included,))
                    found = found + self.nft(inner, included)
                    for those, more in zip((own, shared), self.owns.get(included, ((), ()))):
                        those += [table for table in more if table not in those]
        return found

    def _included(self, path, pattern):
        """Files that an include names; a name without a folder is looked up in nft's own folder (man nft)."""
        pattern = pattern if pattern.startswith("/") else posixpath.join("/etc" if path.startswith("/etc/")
                                                                         else posixpath.dirname(path), pattern)
        if "*" not in pattern and "?" not in pattern:
            return [pattern]
        import fnmatch
        folder, base = posixpath.split(pattern)
        names = self._host.list_dir(folder)[1]
        return [folder + "/" + name for name in fnmatch.filter(names, base)
                if not name.startswith(".")][:INCLUDES_LIMIT]

    def _take(self, origin, path, line, effect):
        if effect.sort == "restore" and effect.file is None and path in services.DATA:
            effect = effect._replace(file=services.DATA[path])
        if effect.sort == SETTINGS and (not effect.tables or effect.file == RUNNING and _is_set_again(origin)):
            return
        if effect.sort == "service":
            self._services.append((origin, path, line, effect))
        elif effect.sort == "apply" and effect.file and not set(effect.families).issubset((IPV4, IPV6)):
            self._applied(origin, path, line, effect)
        elif effect.sort == "restore" and effect.file:
            self._restored(origin, path, line, effect)
        else:
            self._rows.take(origin, path, line, effect)

    def _applied(self, origin, path, line, effect):
        """`nft -f`: the content of the file. In a script the command that loads the file is a hook as well; for a unit
        (nftables.service) only the file is."""
        self._reach(origin, effect.file)
        found = self.nft(origin._replace(through=("%s:%d" % (path, line),) + tuple(origin.through),
                                         chain=origin.chain + (effect.file,)), effect.file)
        if found and origin.kind != "unit":
            worst = min(found, key=lambda inner: _NFT_SORTS.index(inner.sort))
            self._rows.take(origin, path, line,
                            effect._replace(
                                sort=worst.sort, tables=worst.tables, chains=worst.chains, families=worst.families,
                                comes_back=worst.comes_back, confidence=worst.confidence))

    def _restored(self, origin, path, line, effect):
        """A restore destroys the tables that its file contains; that of a file yet to be written is unknown."""
        self._replayed(origin, path, line, effect.file)
        saved, status = self._saved.of(effect.file), self._saved.status(effect.file)
        if saved is not None:
            tables = tuple(table for table in saved.tables if effect.tables in (EVERY, ()) or table in effect.tables)
            if tables:
                self._rows.take(origin, path, line, effect._replace(tables=tables))
        elif status != OK:
            self._rows.take(origin, path, line, effect._replace(tables=effect.tables or EVERY, confidence=max(
                effect.confidence, "likely", key=CONFIDENCES.index)))

    def _replayed(self, origin, path, line, file):
        caller = origin.unit or ("%s:%d" % (path, line) if line else path)
        self.replays.setdefault(file, []).append((caller, origin.live, origin.triggers))

    def _follow(self, origin, path, line, run, names, folders):
        if run.how == "directory":
            folder = run.path_or_name
            for program in self._scripts.in_folder(folder) if folder.startswith("/") else ():
                self.program(origin, path, line, program, run.arguments)
        else:
            program = self._scripts.find(run.path_or_name, folders)
            if program is not None:
                self.program(origin, path, line, program, run.arguments, names if run.how == "source" else None)

    def finish(self):
        """Rows for commands that start, stop or reload services, once all units are known."""
        from .saved import serve
        serve(self._services, self._units, self._rows, self.read)


def _is_set_again(origin):
    """Whether the start behind a command turns sysctls on again: the start of a service that turns them off at its
    stop, as network of initscripts does; k3s and RKE2, which turn these switches on themselves
    (pkg/agent/syssetup), after what their units start before them."""
    return set(origin.triggers).issubset((STOP, RESTART)) or (
        origin.directive in ("ExecCondition", "ExecStartPre") and (origin.unit or "").startswith(("k3s", "rke2")))


def _given(arguments):
    """The arguments of a script; `?` stands for one that is not known (known() of launchers.py)."""
    if "?" not in arguments:
        return tuple(arguments)
    from ..._script.values import NOTHING_KNOWN
    return tuple(NOTHING_KNOWN if word == "?" else word for word in arguments)


def _verb(arguments):
    """The first argument that is no variable and no option of the output."""
    return next((word for word in arguments if not re.match(r"\$|-[vqt]+\d*\Z", word)), "")


def _names_in(reading):
    return tuple(run.path_or_name for run in reading.runs if "/" not in run.path_or_name)
