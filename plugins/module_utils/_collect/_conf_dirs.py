# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration directories with precedence and masking, as kmod and systemd read them. PRIVATE to the collection.

Files are taken in the order of their base names; of two with the same base name the one in the higher directory hides
the other; an empty file or a link to /dev/null there masks it (kmod man modprobe.d, systemd man modules-load.d).
"""

from .. import _host

# Highest first.
DIRECTORIES = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")


def effective_files(host, name):
    """(status, [path]) of the C(*.conf) files of C(name) (C(modprobe.d), C(modules-load.d)) that count, in reading order.

    The status is C(absent) where no such directory exists and C(denied) where one may not be read.
    """
    chosen, status = {}, _host.ABSENT
    for parent in DIRECTORIES:
        folder = parent + "/" + name
        found, names = host.list_dir(folder)
        if found == _host.DENIED or (found == _host.OK and status == _host.ABSENT):
            status = found
        for base in names:
            if base.endswith(".conf"):
                chosen.setdefault(base, folder + "/" + base)
    return status, [chosen[base] for base in sorted(chosen) if host.read_link(chosen[base]) != "/dev/null"]
