# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the iptables programs of a tree are switched: by groups of alternatives, or by plain links.

On Debian iptables and ip6tables are groups of their own; in the Red Hat family ip6tables is a slave of iptables
(scripts of their packages). Without alternatives (Gentoo, Flatcar, hand-made images) each program links to one of two
binaries."""

import os

from ..._host.host import ABSENT
from ..._parse.program_files import parse_alternatives, parse_choices
from .iptables_backend import ALTERNATIVES, BRIDGE, FAMILIES
from .iptables_builds import MULTI, backend_of

LINKS = "/etc/alternatives"
UPDATE, RED_HAT, PLAIN = "update-alternatives", "alternatives", "links"
_MECHANISMS = dict(zip(ALTERNATIVES, (UPDATE, RED_HAT)))
NAMES = ("iptables", "ip6tables", "arptables", "ebtables")
# The programs that must use one backend; the bridge programs often exist for one backend only.
NEEDED = NAMES[:2]
BACKENDS = ("nft", "legacy")


class Group:
    """Programs that are switched together. `name`, `mechanism`, `programs` of it that the node has, `state_file` (None
    for plain links), `mode` (None for these), `links` {path of a link: where it leads now}, `choices` {backend: {path
    of a link: where it has to lead}}, `backend`: nft, legacy, mixed or unknown; `problem`: why not to switch it."""

    def __init__(self, name, mechanism, programs):
        self.name, self.mechanism, self.programs = name, mechanism, programs
        self.state_file, self.mode, self.links, self.choices = None, None, {}, {}
        self.backend = "unknown"
        self.problem = None

    def state(self):
        """The state that an undo restores."""
        return {"mode": self.mode, "links": dict(self.links)}

    def wanted(self, backend):
        """The state with another backend. The next upgrade of the packages keeps mode manual."""
        return {"mode": self.mode and "manual", "links": dict(self.choices[backend])}


def groups_of(host):
    """The groups of a tree, in the order of `NAMES`; none for a program the tree does not have."""
    found, covered = [], set()
    for name in NAMES:
        if name in covered:
            continue
        group = _alternatives(host, name) or _plain(host, name)
        if group is not None:
            found.append(group)
            covered.update(group.programs)
    return found


def family_of(group):
    """The families whose rules the programs of a group handle."""
    return [family for family in sorted(FAMILIES) if any(program in FAMILIES[family] for program in group.programs)]


def _together(backends):
    return backends[0] if len(set(backends)) == 1 else "mixed" if backends else "unknown"


def _alternatives(host, name):
    for folder in ALTERNATIVES:
        path = "%s/%s" % (folder, name)
        text = host.read_text(path)
        if text.status == ABSENT:
            continue
        alternative = parse_alternatives(text.text) if text.ok else None
        choices = parse_choices(text.text) if alternative else None
        group = Group(name, _MECHANISMS[folder], [name] + sorted(alternative["slaves"]) if alternative else [name])
        group.state_file = path
        if choices is None:
            group.problem = "%s is %s" % (path, "damaged" if text.ok else text.status)
            return group
        group.mode = alternative["mode"]
        _fill(host, group, alternative, choices)
        return group
    return None


def _fill(host, group, alternative, choices):
    names = [group.name] + sorted(alternative["slaves"])
    group.links = {_link(name): host.read_link(_link(name)) for name in names}
    for choice in sorted(choices, key=lambda row: row["priority"]):
        backend = backend_of(host, choice["path"])
        if backend in BACKENDS and host.is_file(choice["path"]):
            # Of several choices of one backend the last one, which has the highest priority, is kept.
            group.choices[backend] = {_link(name): choice["slaves"].get(name) for name in names}
            group.choices[backend][_link(group.name)] = choice["path"]
    group.backend = _together([backend_of(host, _link(name)) for name in names
                               if name in _PROGRAMS and host.exists(_link(name))])
    for name, place in [(group.name, alternative["link"])] + sorted(alternative["slaves"].items()):
        if (name in _PROGRAMS or name == group.name) and host.exists(place) and host.read_link(place) != _link(name):
            group.problem = "%s is not a link to %s, so it was replaced outside of the alternatives" % (place,
                                                                                                        _link(name))


def _link(name):
    return "%s/%s" % (LINKS, name)


_PROGRAMS = frozenset(program for programs in FAMILIES.values() for program in programs) | frozenset(BRIDGE)


def _plain(host, name):
    programs = [program for program in (name, name + "-save", name + "-restore") if host.find_binary(program)]
    if name not in programs:
        return None
    group = Group(name, PLAIN, programs)
    paths = [host.find_binary(program) for program in programs]
    group.links = {path: host.read_link(path) for path in paths}
    group.backend = _together([backend_of(host, path) for path in paths])
    whole = next((path for path in paths if group.links[path] is None), None)
    if whole:
        group.problem = "%s is a program or a wrapper, not a link that can be switched" % whole
    elif any((group.links[path] or "").startswith(LINKS + "/") for path in paths):
        group.problem = "%s is a link into %s, but no state of such a group is kept" % (paths[0], LINKS)
    else:
        for backend in BACKENDS:
            targets = [_other(host, path, program, backend) for path, program in zip(paths, programs)]
            if all(targets):
                group.choices[backend] = dict(zip(paths, targets))
    return group


def _other(host, path, program, backend):
    """The target that the link `path` of a program needs for a backend: the present target if it has that backend,
    otherwise the binary beside the present one; None where that does not exist."""
    if backend_of(host, path) == backend:
        return host.read_link(path)
    folder = os.path.dirname(host.tree_path(path) or path)
    # The legacy bridge tools are programs of their own.
    named = program.partition("-")[0] + "-" + backend + "".join(program.partition("-")[1:])
    for name in (named,) + (MULTI[backend] if backend == "nft" or program not in BRIDGE else ()):
        target = "%s/%s" % (folder, name)
        if host.find_binary(name) and host.is_file(target) and backend_of(host, target) == backend:
            here = host.tree_path(os.path.dirname(path)) == folder
            return name if here and "/" not in (host.read_link(path) or "/") else target
    return None
