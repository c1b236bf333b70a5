# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where systemd finds units: which file, link and drop-in directory counts.

Every directory is listed once; links are read when a name is asked for (systemd src/shared/unit-file.c
unit_file_build_name_map(), src/shared/dropin.c unit_file_find_dropin_paths())."""

import posixpath

from ..._host.host import ABSENT, OK
from ..._parse.systemd.name import filled_in, names_for_drop_ins, parse_unit_name

# Highest first (man systemd.unit "Unit File Load Path"). A distribution with its own /lib reads that before /usr/lib.
DIRECTORIES = (
    "/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient",
    "/run/systemd/generator.early", "/etc/systemd/system", "/etc/systemd/system.attached", "/run/systemd/system",
    "/run/systemd/system.attached", "/run/systemd/generator", "/usr/local/lib/systemd/system", "/lib/systemd/system",
    "/usr/lib/systemd/system", "/run/systemd/generator.late")

# Units of other types can have no second name (unit_type_may_alias()).
_MAY_ALIAS = ("service", "socket", "target", "device", "timer", "path")
# systemd follows no more names than this (FOLLOW_MAX).
_ALIASES_LIMIT = 8
_FOLDERS = (".d", ".wants", ".requires", ".upholds")


class UnitPaths:
    """The directories of one tree. `status` is ok, absent (no systemd here) or that of one that could not be listed."""

    def __init__(self, host):
        self._host = host
        self.status = ABSENT
        self.directories = []
        # {name: [path]} of everything called like a unit, and {"foo.service.d": [path]}; highest first.
        self.candidates, self.folders = {}, {}
        # Paths of units that are links out of these directories; known only for requested units.
        self.links_out = set()
        self._entries, self._fragments, self._searched, self._listed, self._aliases = {}, {}, {}, {}, None
        # {directory of drop-ins or links: why it could not be listed}
        self.unlisted = {}
        for directory in self._distinct():
            found, names = host.list_dir(directory)
            if found == OK:
                self._take(directory, names)
            if found != ABSENT and self.status in (ABSENT, OK):
                self.status = found

    def _distinct(self):
        merged = self._host.tree_path("/lib") == self._host.tree_path("/usr/lib")
        return [directory for directory in DIRECTORIES if not (merged and directory.startswith("/lib/"))]

    def _take(self, directory, names):
        self.directories.append(directory)
        for name in names:
            if parse_unit_name(name):
                self.candidates.setdefault(name, []).append(directory + "/" + name)
            elif name.endswith(_FOLDERS):
                self.folders.setdefault(name, []).append(directory + "/" + name)

    def fragment(self, name):
        """Path of the file of the unit `name`, through aliases and templates, or None."""
        if name not in self._fragments:
            path = self._followed(name)
            if path is None:
                parts = parse_unit_name(name)
                path = self._followed(parts.template) if parts and parts.template else None
            self._fragments[name] = path or None
        return self._fragments[name]

    def _followed(self, name):
        """The path that aliases lead to, None where one is missing, empty where they never end (unit_ids_map_get())."""
        entry = self.entry(name)
        for _step in range(_ALIASES_LIMIT - 1):
            if entry is None or entry.startswith("/"):
                return entry
            parts = parse_unit_name(entry)
            entry = self.entry(entry) or (self.entry(parts.template) if parts.template else None)
        return ""

    def canonical(self, name):
        """The name that systemd uses for the unit `name`; `name` itself where there is no such unit, or where that name
        belongs to another unit."""
        path = self.fragment(name)
        if path is None or path.endswith("/" + name):
            return name
        called = filled_in(posixpath.basename(path), parse_unit_name(name).instance)
        return called if self.fragment(called) == path else name

    def entry(self, name):
        """The meaning of a name in the highest directory that has it: a path, the name that it is an alias of; None."""
        if name not in self._entries:
            found = (self._meaning(path, name) for path in self.candidates.get(name, ()))
            self._entries[name] = next((meaning for meaning in found if meaning), None)
        return self._entries[name]

    def _meaning(self, path, name):
        target = self._host.read_link(path)
        if target is None:
            return None if self._host.is_dir(path) else path
        folder, base = posixpath.split(posixpath.join(posixpath.dirname(path), target))
        if not self._is_searched(folder):
            # A link out of these directories is the unit itself (systemctl link) or its mask.
            self.links_out.add(path)
            return path
        return base if _may_be_alias(name, base) else None

    def is_link(self, path):
        return self._host.read_link(path) is not None

    def destination(self, path):
        """The path of a linked unit file; `path` itself for other files and for masks."""
        target = self._host.read_link(path)
        if target in (None, "/dev/null"):
            return path
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

    def _is_searched(self, folder):
        if folder not in self._searched:
            real = (self._host.tree_path(folder) or posixpath.normpath(folder)) + "/"
            self._searched[folder] = any(real.startswith(directory + "/") for directory in DIRECTORIES)
        return self._searched[folder]

    def aliases(self, name):
        """The other names of the unit that is called `name` (see `canonical`)."""
        if self._aliases is None:
            self._aliases = {}
            for other in sorted(self.candidates):
                if not (self.entry(other) or "/").startswith("/"):
                    self._aliases.setdefault(self.canonical(other), []).append(other)
        names = set(self._aliases.get(name, ()))
        parts = parse_unit_name(name)
        if parts and parts.template:
            others = [filled_in(other, parts.instance) for other in self._aliases.get(parts.template, ())]
            names.update(other for other in others if self.fragment(other) == self.fragment(name))
        return sorted(names - {name})

    def chosen(self, folders, ending):
        """[path] by base name; of equal base names the one in the first folder counts (conf_files_list_strv())."""
        found = {}
        for folder in folders:
            for base in self._names_in(folder):
                if base.endswith(ending) and not base.startswith("."):
                    found.setdefault(base, folder + "/" + base)
        return [found[base] for base in sorted(found)]

    def wanted(self):
        """[path] of all links in `.wants`, `.requires` and `.upholds` directories of this tree."""
        return [folder + "/" + base for name in sorted(self.folders) if not name.endswith(".d")
                for folder in self.folders[name] for base in self._names_in(folder)]

    def links(self):
        """[(path, target)] of all links that give a unit a name or make it wanted."""
        paths = [path for name in sorted(self.candidates) for path in self.candidates[name]]
        found = ((path, self._host.read_link(path)) for path in paths + self.wanted())
        return [(path, target) for path, target in found if target is not None]

    def _names_in(self, folder):
        if folder not in self._listed:
            status, self._listed[folder] = self._host.list_dir(folder)
            if status not in (OK, ABSENT):
                self.unlisted[folder] = status
        return self._listed[folder]

    def folders_of(self, names, ending):
        """Directories with this `ending` (`.d`, `.wants`) that apply to a unit called `names`, the highest first."""
        folders = []
        for name in names:
            levels = [level + ending for level in names_for_drop_ins(name)]
            if any(level in self.folders for level in levels):
                folders += [directory + "/" + level for directory in self.directories for level in levels
                            if directory + "/" + level in self.folders.get(level, ())]
        kind = parse_unit_name(names[0]).kind + ending
        return folders + self.folders.get(kind, [])


def _may_be_alias(name, target):
    """Whether systemd takes a link from one name to the other for an alias (unit_validate_alias_symlink_or_warn())."""
    one, other = parse_unit_name(name), parse_unit_name(target)
    if other is None or one.kind != other.kind or one.kind not in _MAY_ALIAS or name == target:
        return False
    return one.instance == other.instance if one.instance is None or other.instance else other.instance == ""
