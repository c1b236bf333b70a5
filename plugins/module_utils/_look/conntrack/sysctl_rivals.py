# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that set sysctls after sysctl.d was read: ufw, docker and tuned. PRIVATE to the collection.

ufw applies the files that IPT_SYSCTL of /etc/default/ufw names after its rules, where ENABLED is yes (ufw
src/ufw-init-functions ufw_start()); its rules load nf_conntrack. dockerd turns forwarding on unless it is configured
not to (moby libnetwork/drivers/bridge).
"""

import re

from ..._conntrack.predict import Write, number
from ..._conntrack.keys import FORWARD
from ..._parse.assignments import parse_assignments
from ..._parse.sysctl_conf import parse_sysctl_conf

_OF_RULES = "net/netfilter/"
# Links that systemctl enable makes for all three.
_WANTED = "/etc/systemd/system/multi-user.target.wants/%s.service"


def rival_writes(host, loader):
    """[Write] in the order in which they come."""
    writes = _ufw(host) if _starts(host, loader, "ufw") else []
    if _starts(host, loader, "docker"):
        writes += _dockerd(host)
    if _starts(host, loader, "tuned"):
        from .sysctl_tuned import tuned_writes
        writes += tuned_writes(host)
    return writes


def _starts(host, loader, service):
    """Whether a boot starts it, as far as links tell."""
    if loader == "systemd":
        return host.read_link(_WANTED % service) is not None
    return host.exists("/etc/init.d/" + service)


def _ufw(host):
    if parse_assignments(host.read_text("/etc/ufw/ufw.conf").text).get("ENABLED") not in ("yes", "YES"):
        return []
    writes = []
    for path in parse_assignments(host.read_text("/etc/default/ufw").text).get("IPT_SYSCTL", "").split():
        for row in parse_sysctl_conf(host.read_text(path).text) if path[0] == "/" else ():
            if row.value is not None:
                writes.append(Write(row.key, "ufw (%s:%d)" % (path, row.line), _always(number(row.value)),
                                    row.key.startswith(_OF_RULES)))
    return writes


def _always(value):
    return lambda before: value


def _dockerd(host):
    if re.search(r'"ip-forward"\s*:\s*false', host.read_text("/etc/docker/daemon.json").text):
        return []
    return [Write(FORWARD, "docker", _always(1), True)]
