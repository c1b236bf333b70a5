# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the agent of the network plugin runs, and whether its plugin finds it. PRIVATE to the collection."""

from ..._host.host import ABSENT, OK
from ..agents import of_this_network
from ..containers import Containers, who
from ..processes import find_processes, uptime_seconds

# Network -> names of its agent, any of which will do; k3s contains flannel.
AGENTS = {
    "flannel": ("flanneld", "k3s-server", "k3s-agent"), "calico": ("calico-node", "calico-felix"),
    "cilium": ("cilium-agent",), "weave": ("weaver",), "aws": ("aws-k8s-agent",), "antrea": ("antrea-agent",),
    "kube-router": ("kube-router",), "ovn": ("ovnkube",),
}
# What the plugin asks the agent by: flannel-io/cni-plugin flannel.go, projectcalico/calico cni-plugin utils.go
# (nodename_file), cilium pkg/defaults (SockPath), antrea pkg/cni (AntreaCNISocketAddr).
_FILES = {"flannel": "/run/flannel/subnet.env", "calico": "/var/lib/calico/nodename"}
_SOCKETS = {"cilium": "/run/cilium/cilium.sock", "antrea": "/run/antrea/cni.sock"}
# An agent that has just started may not have written its file yet.
STARTING_SECONDS = 120
# projectcalico/calico felix/config: the environment goes before its other sources; names of values in any case.
_BACKEND, _BACKENDS = "FELIX_IPTABLESBACKEND=", ("auto", "legacy", "nft")
_UNIX_LIMIT = 8 * 1024 * 1024
# Flag of a socket that listens: __SO_ACCEPTCON (kernel include/uapi/linux/net.h), as /proc/net/unix has it.
_LISTENS = "00010000"


def agent_of(host, name):
    """(status of looking for processes, the evidence dict); None for a network without an agent known here."""
    if name not in AGENTS:
        return ABSENT, None
    status, processes = find_processes(host, AGENTS[name])
    processes = of_this_network(host, processes)
    row = {"name": AGENTS[name][0], "running": bool(processes) if status == OK or processes else None, "pid": None,
           "process": None, "started_seconds_ago": None, "contact": _FILES.get(name) or _SOCKETS.get(name),
           "contact_state": None, "backend": None}
    if processes:
        process = processes[0]
        row.update(name=process.name, pid=process.pid, started_seconds_ago=process.age_seconds(uptime_seconds(host)),
                   process=who(process.name, Containers(host).of(process.pid)),
                   backend=_backend_of(host, process) if name == "calico" else None)
    if row["contact"]:
        found = host.presence(row["contact"]) if name in _FILES else _listens(host, row["contact"])
        row["contact_state"] = _state(found, row["started_seconds_ago"])
    return status, row


def _backend_of(host, process):
    """The iptables backend that Felix is set to; nothing else of its environment is kept."""
    text = host.read_text("/proc/%d/environ" % process.pid)
    if text.status not in (OK, ABSENT):
        return "unknown"
    values = [variable[len(_BACKEND):].lower() for variable in text.text.split("\0") if variable.startswith(_BACKEND)]
    return values[-1] if values and values[-1] in _BACKENDS else None


def _state(found, age):
    if found == ABSENT and (age is None or age >= STARTING_SECONDS):
        return "missing"
    return {OK: "present", ABSENT: "starting"}.get(found, "unknown")


def _listens(host, path):
    """ok where a socket of this network listens at `path`. /var/run is a link to /run, in containers as well."""
    text = host.read_text("/proc/net/unix", _UNIX_LIMIT)
    if not text.ok:
        return text.status if text.status != ABSENT else "unknown"
    rows = [line.split(None, 7) for line in text.text.splitlines()]
    return OK if any(len(row) == 8 and row[3] == _LISTENS and row[7].strip() in (path, "/var" + path)
                     for row in rows) else ABSENT
