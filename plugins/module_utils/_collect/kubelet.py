# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet: which program is the kubelet here. PRIVATE to the collection."""

import re

from .. import _host
from ._processes import find_processes

# comm of the process that is, or contains, the kubelet -> distribution. comm holds 15 characters (kernel TASK_COMM_LEN).
PROGRAMS = {"kubelet": "kubelet", "k3s-server": "k3s", "k3s-agent": "k3s", "k3s": "k3s", "rke2": "rke2", "k0s": "k0s", "kubelite": "microk8s"}
# A distribution that runs kubelet as a child of its own counts before it.
_ORDER = ("k3s", "rke2", "k0s", "microk8s", "kubelet")
_VERSION = re.compile(r"v(\d+\.\d+\.\d+)")


def collect_kubelet(host, node):
    """The evidence dict; outside of a live place nothing runs and only the installed program is looked for."""
    live = node["place"] == "live"
    status, processes = find_processes(host, PROGRAMS) if live else (_host.ABSENT, [])
    owner = min(processes, key=lambda process: _ORDER.index(PROGRAMS[process.name])) if processes else None
    binary = host.find_binary("kubelet") or host.find_binary("k3s")
    version, source, asked = _version(host, binary) if live else (None, None, _host.ABSENT)
    running = bool(processes) if status == _host.OK else None
    return {
        "schema": 1,
        "collected": {"processes": status, "version": asked},
        "running": running if live else False,
        "distribution": PROGRAMS[owner.name] if owner else None,
        "installed": binary,
        "version": version,
        "version_source": source,
    }


def _version(host, binary):
    if binary is None:
        return None, None, _host.ABSENT
    answer = host.run([binary, "--version"])
    found = _VERSION.search(answer.out)
    if answer.ok and found:
        return found.group(1), "%s --version" % binary, _host.OK
    return None, None, answer.status if answer.status != _host.OK else _host.UNPARSED
