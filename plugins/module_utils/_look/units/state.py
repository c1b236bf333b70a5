# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether units are enabled, as `systemctl is-enabled` prints it.

Follows systemd src/shared/install.c unit_file_lookup_state(), find_symlinks_in_scope() and the functions that it calls.
"""

import collections
import posixpath

from ..._parse.systemd.exec import filled_specifiers
from ..._parse.systemd.name import filled_in, parse_unit_name
from .unit import Unit

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
