# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/PID/cgroup: the systemd service of a process. PRIVATE to the collection.

Sample:
    1:name=systemd:/system.slice/kubelet.service
    0::/system.slice/k3s.service
systemd keeps its units in the hierarchy of its name, or in the unified hierarchy if there is no other (man 7 cgroups).
Below the `.slice` directories the first directory is the unit; a unit with Delegate= manages the directories below it
itself.
"""

import re

_UNIT = re.compile(r"_?([A-Za-z0-9:_.\\@-]{1,255}\.service)\Z")


def parse_cgroup_unit(text):
    """Name of the service of the system's own systemd, or None: a scope, a container, a user's service, or no systemd
    at all."""
    paths = {}
    for line in text.splitlines():
        _number, _colon, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and controllers in ("name=systemd", ""):
            paths[controllers] = path
    path = paths.get("name=systemd", paths.get("", ""))
    below = [part for part in path.split("/") if part and not part.endswith(".slice")]
    match = _UNIT.match(below[0]) if below else None
    # user@1000.service is the manager of a user's services; it must not be restarted for one of them.
    return match.group(1) if match and not match.group(1).startswith("user@") else None
