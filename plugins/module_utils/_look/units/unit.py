# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One unit of systemd with its drop-ins, merged as systemd merges them.

Whether units are enabled, as `systemctl is-enabled` prints it.

Follows systemd src/shared/install.c unit_file_lookup_state(), find_symlinks_in_scope() and the functions that it calls.
"""

import collections
import posixpath

from ..._host.host import ABSENT, OK
from ..._parse.systemd.name import filled_in, parse_unit_name
from ..._parse.systemd.unit import filled_specifiers, merge_assignments, parse_exec

EXEC_KEYS = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost")
_YES, _NO = ("1", "yes", "y", "true", "t", "on"), ("0", "no", "n", "false", "f", "off")


class Unit:
    """One unit: `name` (the one systemd uses), `aliases`, `path`, `drop_ins` (paths, in the order they are read),
    `masked`. `unread` is `[(path, status)]` of files that apply and could not be read, `broken` is `[(path, line)]`
    where systemd stops reading a file. In a drop-in the lines before that line apply; a unit whose own file is broken
    cannot be started (`refused`)."""

    def __init__(self, name, path, masked=False):
        self.name, self.path, self.masked = name, path, masked
        self.aliases, self.drop_ins, self.unread, self.broken = [], [], [], []
        self._merged = {}

    def take(self, texts):
        """Merge `[(path, status, UnitText)]`, the unit's own file first."""
        self.unread += [(path, status) for path, status, _text in texts if status not in (OK, ABSENT)]
        self.broken = [(path, text.broken) for path, _status, text in texts if text.broken]
        self._merged = merge_assignments([(path, text.assignments) for path, _status, text in texts])

    @property
    def refused(self):
        return any(path == self.path for path, _line in self.broken)

    def values(self, section, key):
        """[Value] that count, empty assignments applied."""
        return self._merged.get((section, key), [])

    def last(self, section, key, default=None):
        """Text of the last value, which is the one that counts where a key takes only one."""
        values = self.values(section, key)
        return values[-1].text if values else default

    def yes(self, section, key, default=False):
        """A switch: the last value that systemd's parse_boolean() understands."""
        assigned = [word for word in (value.text.lower() for value in self.values(section, key)) if word in _YES + _NO]
        return assigned[-1] in _YES if assigned else default

    def words(self, section, key):
        """The words of all values, as of dependencies: names divided by blanks."""
        return [word for value in self.values(section, key) for word in value.text.split()]

    def exec_lines(self):
        """[ExecLine] of the commands of a service or a socket, in the order of EXEC_KEYS."""
        section = "Socket" if self.name.endswith(".socket") else "Service"
        return [line for key in EXEC_KEYS for value in self.values(section, key)
                for line in parse_exec(key, value, self.name)]


_CONFIG = "/etc/systemd/system"
_GENERATED = ("/run/systemd/generator", "/run/systemd/generator.early", "/run/systemd/generator.late")
_TRANSIENT = "/run/systemd/transient"

# A link in `directory` or in a .wants or .requires directory of it (not `top`), with the base name of its target.
_Link = collections.namedtuple("_Link", "directory top entry target")


def unit_state(units, name):
    """`enabled`, `disabled`, `static`, `masked` and so on; None where there is no such unit."""
    unit = units.unit(name)
    if unit is None:
        return None
    path = units.paths.destination(unit.path)
    folder, base = posixpath.split(path)
    if unit.masked:
        return "masked-runtime" if folder.startswith("/run/") else "masked"
    if name != base and not parse_unit_name(unit.name).instance:
        return "alias"
    if folder in _GENERATED:
        return "generated"
    if folder == _TRANSIENT:
        return "transient"
    install = _as_installed(units, unit)
    known = _known_names(install)
    state = _enabled_where(units, unit, path, known)
    if state:
        return state
    # Links with names that [Install] does not list: the unit may be in use through them.
    if _enabled_where(units, unit, path, None):
        return "indirect"
    if any(install.words("Install", key) for key in ("Alias", "WantedBy", "RequiredBy", "UpheldBy")):
        return "disabled"
    return "indirect" if install.words("Install", "Also") else "static"


def _as_installed(units, unit):
    """The unit as systemctl reads it for [Install]: with its own drop-ins, but without those of its prefix or type."""
    names = [unit.name, parse_unit_name(unit.name).template]
    paths = units.paths.chosen([folder for name in names if name
                                for folder in units.paths.folders.get(name + ".d", ())], ".conf")
    if paths == unit.drop_ins:
        return unit
    installed = Unit(unit.name, unit.path)
    installed.take([(path,) + units.read(path)[:2] for path in [unit.path] + paths])
    return installed


def _known_names(unit):
    """Names of links that `systemctl enable` would make for the unit."""
    known = [unit.name] + [filled_specifiers(word, unit.name) for word in unit.words("Install", "Alias")]
    default = unit.last("Install", "DefaultInstance")
    return known + [filled_in(unit.name, default)] if default else known


def _enabled_where(units, unit, path, known):
    """The state that links with a name in `known` (None: any name) give to a unit at `path`, or None."""
    if units.links is None:
        units.links = _all_links(units.paths)
    links = units.links.get(unit.name)
    if not links:
        return None
    runtime = elsewhere = False
    same_name = set()
    below = False
    for directory in units.paths.directories:
        found = False
        for link in links.get(directory, ()):
            called = unit.name in _names_called(link) and not (link.top and below)
            meant = link.top and link.target == unit.name
            if called and meant:
                same_name.add(directory)
            elif (called or meant) and (known is None or link.entry in known):
                found = True
        if found and directory == _CONFIG:
            return "enabled"
        runtime = runtime or (found and directory.startswith("/run/"))
        elsewhere = elsewhere or (found and not directory.startswith("/run/"))
        # A link of the same name in a lower directory is hidden by the unit itself.
        below = below or path.startswith(directory + "/")
    if runtime:
        return "enabled-runtime"
    if elsewhere and parse_unit_name(unit.name).instance:
        return "static"
    if _CONFIG in same_name:
        return "linked"
    return "linked-runtime" if any(directory.startswith("/run/") for directory in same_name) else None


def _all_links(paths):
    """{name: {directory: [_Link]}} of links that have the name, or whose target has it."""
    found = {}
    for path, target in paths.links():
        directory, entry = posixpath.split(path)
        top = directory in paths.directories
        link = _Link(directory if top else posixpath.dirname(directory), top, entry, posixpath.basename(target))
        for name in set(_names_called(link) + [link.target]):
            found.setdefault(name, {}).setdefault(link.directory, []).append(link)
    return found


def _names_called(link):
    """Names of a link: its own and, where it makes a unit wanted, the name of its template."""
    parts = parse_unit_name(link.entry)
    return [link.entry] if link.top or not (parts and parts.template) else [link.entry, parts.template]
