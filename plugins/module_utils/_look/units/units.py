# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units of systemd in a tree, each with its drop-ins, as systemd itself reads them.

Reads files only, so it works for an image as for a live node; only `running` queries the running systemd."""

import collections
import copy
import re
import stat
import time

from ..._host.host import ABSENT, OK
from ..._names import UNCOLLECTED
from ..._parse.systemd.name import parse_unit_name
from ..._parse.systemd.unit import parse_unit
from ..conf_dirs import is_masked
from ..host.place import LIVE
from .paths import UnitPaths
from .unit import Unit

# The most names in one call of systemctl.
_ACTIVE_LIMIT = 500
# systemd answers at once, but not while a slow machine boots; without an answer the active units are unknown.
_ANSWER_SECONDS = 20.0
# This directory exists where systemd is the init of the machine (man sd_booted).
_BOOTED = "/run/systemd/system"
_PROPERTIES = ("ActiveState", "StateChangeTimestampMonotonic")

# ActiveState, and since when it has that state in seconds; None where systemd does not tell.
Running = collections.namedtuple("Running", "state seconds")


class Units:
    """All units of one tree; the files of a unit are read once, when it is requested. `status` of listing all
    directories."""

    def __init__(self, host, node):
        self._host = host
        self._live = node["place"] == LIVE
        self.paths = UnitPaths(host)
        self.status = self.paths.status
        self._texts, self._units, self._added = {}, {}, {}
        # Units that a boot starts, activators (boot.py) and links (state.py), computed at the first call.
        self.started, self.activations, self.links = None, None, None

    def names(self, ending=".service"):
        """Names of units, sorted: files, templates and the instances that a unit wants; no aliases."""
        known = set(self.paths.candidates)
        known.update(path.rpartition("/")[2] for path in self.paths.wanted())
        found = {self.paths.canonical(name) for name in known if name.endswith(ending) and self.paths.fragment(name)}
        return sorted(name for name in found if self.paths.fragment(name) not in self.paths.links_out
                      or self.unit(name))

    def unit(self, name):
        """`Unit` behind a name or an alias; None where no file is found for it."""
        path = self.paths.fragment(name)
        if path is None:
            return None
        name = self.paths.canonical(name)
        if name not in self._units:
            self._units[name] = self._load(name, path)
        return self._units[name]

    def _load(self, name, path):
        status, text, size = self.read(path)
        if not size and self._is_null(path):
            return Unit(name, path, masked=True)
        if status == ABSENT:
            return None  # A broken link.
        unit = Unit(name, path)
        unit.aliases = self.paths.aliases(name)
        folders = self.paths.folders_of([name] + unit.aliases, ".d")
        unit.drop_ins = self.paths.chosen(folders, ".conf")
        unit.unread = [(folder, self.paths.unlisted[folder]) for folder in folders if folder in self.paths.unlisted]
        texts = [(path, status, text)] + [(drop_in,) + self.read(drop_in)[:2] for drop_in in unit.drop_ins]
        added = self._added.get(name) or self._added.get(parse_unit_name(name).template)
        if added:
            texts.append((None, OK, parse_unit(added.encode("utf-8"))))
        unit.take(texts)
        return unit

    def with_drop_ins(self, texts):
        """These units with `{name: text}` as drop-ins that are read last (with `path` None); no file is read twice."""
        changed = copy.copy(self)
        changed.started = changed.activations = None
        changed._added = {self.paths.canonical(name): text for name, text in texts.items()}
        changed._units = {name: unit for name, unit in self._units.items()
                          if name not in changed._added and parse_unit_name(name).template not in changed._added}
        return changed

    def wants(self, path):
        """Whether an entry in a .wants or .requires directory counts: a link, and no mask."""
        return self.paths.is_link(path) and not self._is_null(path)

    def read(self, path):
        """(status, UnitText, size) of a unit file or drop-in."""
        if path not in self._texts:
            status, data = self._host.read_bytes(path)
            status = ABSENT if status == UNCOLLECTED else status
            self._texts[path] = (status, parse_unit(data), len(data))
        return self._texts[path]

    def _is_null(self, path):
        """Whether a file is a mask: empty, a device, or a link to /dev/null, which need not exist in an image."""
        if is_masked(self._host, path):
            return True
        found = self._host.stat(path)
        return found is not None and (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
                                      or (stat.S_ISREG(found.st_mode) and found.st_size == 0))

    def state(self, name):
        from .unit import unit_state
        return unit_state(self, name)

    def starts_at_boot(self, name):
        from .order import starts_at_boot
        return starts_at_boot(self, name)

    def activated_by(self, name):
        from .order import activated_by
        return activated_by(self, name)

    def running(self, names):
        """{name: Running} from the running systemd, in one query; empty in other places and where systemd does not
        answer. Where another init runs, no unit is active, regardless of its files."""
        names = [name for name in names
                 if parse_unit_name(name) and parse_unit_name(name).instance != ""][:_ACTIVE_LIMIT]
        if not self._live or not names:
            return {}
        if not self._host.is_dir(_BOOTED):
            return dict.fromkeys(names, Running("inactive", None))
        answer = self._host.run(["systemctl", "show", "--property=" + ",".join(_PROPERTIES), "--"] + names,
                                timeout=_ANSWER_SECONDS)
        units = [dict(line.partition("=")[::2] for line in text.splitlines())
                 for text in re.split(r"\n{2,}", answer.out.strip("\n"))]
        if not answer.ok or len(units) != len(names) or not all(unit.get("ActiveState") for unit in units):
            return {}
        return {name: Running(unit["ActiveState"], seconds_since(unit.get(_PROPERTIES[1], "")))
                for name, unit in zip(names, units)}


def seconds_since(microseconds):
    """How long ago a time of systemd was, which counts microseconds of CLOCK_MONOTONIC; None for 0, which is never."""
    if not re.match(r"[1-9][0-9]{0,17}\Z", microseconds):
        return None
    return round(max(0.0, time.monotonic() - int(microseconds) / 1e6), 1)
