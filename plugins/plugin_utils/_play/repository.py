# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of the run's inventory in its repository, and its folders. PRIVATE to the collection."""

import os
import pathlib
import re

from .._plain import plain

# SARIF readers refuse a whole file if one result has no path, so this is the path if there is no inventory file.
NO_FILE = "inventory"
# The last label of a DNS name is not a number.
_NAME = re.compile(r"(?:[\w-]+\.)*[\w-]*[^\W\d_][\w-]*\Z")


def path_in_repository(sources) -> str:
    """The first file among the inventory sources, relative to its repository or, outside of a repository, to the
    working folder; NO_FILE if it is in neither."""
    for source in sources or ():
        found = _file_of(pathlib.Path(str(source)).absolute())
        if found:
            return _relative(found)
    return NO_FILE


def folders_of(sources) -> list:
    """The folders of the inventory sources; the working folder where no source is a file or a folder."""
    # A long list of hosts (-i a,b,...) is no name of a file; pathlib raises there.
    paths = [pathlib.Path(str(source)).absolute() for source in sources or () if os.path.exists(str(source))]
    found = [path if path.is_dir() else path.parent for path in paths]
    return list(dict.fromkeys(found)) or [pathlib.Path.cwd()]


def names_of(inventory: list, play: list, hostvars) -> dict:
    """`{name: host}`: the hosts of the inventory, and the names in `ansible_host` of the hosts of the play. A name that
    several hosts share, such as the name of a jump host, maps to itself."""
    names = {}
    for host in play:
        name = plain(hostvars.raw_get(host).get("ansible_host"))
        if isinstance(name, str) and _NAME.match(name) and name != "localhost":
            names.setdefault(name, []).append(host)
    found = {name: hosts[0] if len(hosts) == 1 else name for name, hosts in names.items()}
    return dict(found, **{host: host for host in inventory})


def _file_of(path):
    """A file itself; of a folder, its first file."""
    try:
        if path.is_dir():
            return min((part for part in path.iterdir() if part.is_file() and not part.name.startswith(".")),
                       default=None)
        return path if path.is_file() else None
    except OSError:
        return None


def _relative(path):
    repository = next((folder for folder in path.parents if (folder / ".git").exists()), pathlib.Path.cwd())
    return path.relative_to(repository).as_posix() if repository in path.parents else NO_FILE
