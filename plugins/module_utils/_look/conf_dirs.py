# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration directories with precedence and masking, as kmod and systemd read them.

Files are read in the order of their base names. Of two files with the same base name, the one in the directory of
higher precedence hides the other; an empty file or a link to /dev/null there masks it (kmod man modprobe.d, systemd man
modules-load.d). kmod and systemd skip hidden files and directories (kmod conf_files_filter_out(), systemd
dirent_is_file_with_suffix())."""

import posixpath

from .._host.host import ABSENT, DENIED, LINKS_LIMIT, OK
from .._names import UNCOLLECTED

_PASSED_OVER_LIMIT = 20
_LEFT = (".rpmsave", ".rpmorig", ".rpmnew", "~", ".swp")
# Highest precedence first.
DIRECTORIES = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")


def effective_files(host, name, endings=(".conf",)):
    """(status, [path]) of the files of `name` (`modprobe.d`, `modules-load.d`) that count, in reading order. The status
    is `absent` where no such directory exists and `denied` where one may not be read."""
    chosen, status = {}, ABSENT
    for parent in DIRECTORIES:
        folder = parent + "/" + name
        found, names = host.list_dir(folder)
        if found == DENIED or (found == OK and status in (ABSENT,
                                                          UNCOLLECTED)) or (found, status) == (UNCOLLECTED, ABSENT):
            status = found
        for base in names:
            if base.endswith(endings) and not base.startswith(".") and not host.is_dir(folder + "/" + base):
                chosen.setdefault(base, folder + "/" + base)
    return status, [chosen[base] for base in sorted(chosen) if not is_masked(host, chosen[base])]


def passed_over(host, name, endings=(".conf",)):
    """(path, its text) of files of `name` whose names do not end so: people write them, and no program reads them. What
    packages leave beside the files is left out."""
    paths = [parent + "/" + name + "/" + base for parent in DIRECTORIES[:3]
             for base in host.list_dir(parent + "/" + name)[1]
             if not base.endswith(tuple(endings) + _LEFT) and not base.startswith((".", "README"))]
    found = [(path, host.read_text(path)) for path in sorted(paths)[:_PASSED_OVER_LIMIT] if not host.is_dir(path)]
    return [(path, text.text) for path, text in found if text.ok]


def is_masked(host, path):
    """Whether the links of `path` lead to /dev/null; an image tree need not contain that device."""
    for _step in range(LINKS_LIMIT):
        target = host.read_link(path)
        if target is None:
            return False
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if path == "/dev/null":
            return True
    return False
