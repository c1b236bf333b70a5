# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the agent of the network plugin runs, and whether its plugin finds it.

The iptables backend that the agent of a network plugin is set to.
"""

import json
import posixpath

from ..._host import container
from ..._host.host import ABSENT, OK
from ..containers import Containers, resources_of, restarts_of, who
from ..processes import find_processes, of_this_network, uptime_seconds

# projectcalico/calico felix/config: the environment overrides its other sources; values are not case-sensitive. Images
# of Rancher choose their iptables programs by the second variable.
_VARIABLES, _BACKENDS = ("FELIX_IPTABLESBACKEND", "IPTABLES_MODE"), ("auto", "legacy", "nft")
# flannel-io/flannel main.go; the second path is the file that k3s writes for its own flannel.
_NET_CONF, _OF_K3S = "/etc/kube-flannel/net-conf.json", "/var/lib/rancher/k3s/agent/etc/flannel/net-conf.json"
_OPTION, _LIMIT = "EnableNFTables", 65536


def backend_of(host, process, network):
    """(auto, legacy, nft, unknown or None, the setting that names it); no other variable of the environment is kept."""
    wanted = _VARIABLES if network == "calico" else _VARIABLES[1:]
    text = host.read_text("/proc/%d/environ" % process.pid)
    if text.status not in (OK, ABSENT):
        return "unknown", wanted[0]
    pairs = [variable.partition("=") for variable in text.text.split("\0")]
    values = {name: value.lower() for name, _equals, value in pairs if name in wanted and value.lower() in _BACKENDS}
    found = next((name for name in wanted if name in values), None)
    if found:
        return values[found], found
    return _of_flannel(host, process) if network == "flannel" else (None, None)


def _of_flannel(host, process):
    """With EnableNFTables flannel writes nftables rules, otherwise it uses the iptables of its image (trafficmngr)."""
    given = posixpath.join("/", process.option("net-config-path") or _NET_CONF)
    path = _OF_K3S if process.name.startswith("k3s") else given
    if process.contained and path != _OF_K3S:
        found, data = container.read_first(process.pid, process.start_time, [path], _LIMIT)
        status = found["status"]
    else:
        status, data = host.read_bytes(path, _LIMIT)
    source = "%s in %s" % (_OPTION, path)
    if status == ABSENT:
        return None, None
    try:
        fields = json.loads(data.decode("utf-8")) if status == OK else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return "unknown", source
    return ("nft", source) if fields.get(_OPTION) is True else (None, None)


# Network -> process names of its agent, any of which counts; k3s contains flannel.
AGENTS = {
    "flannel": ("flanneld", "k3s-server", "k3s-agent"), "calico": ("calico-node", "calico-felix"),
    "cilium": ("cilium-agent",), "weave": ("weaver",), "aws": ("aws-k8s-agent",), "antrea": ("antrea-agent",),
    "kube-router": ("kube-router",), "ovn": ("ovnkube",), "kindnet": ("kindnetd",)}
# Network -> the names of the agent's container in the manifests of its project.
_CONTAINERS = {
    "flannel": ("kube-flannel",), "calico": ("calico-node",), "cilium": ("cilium-agent",), "weave": ("weave",),
    "aws": ("aws-node",), "antrea": ("antrea-agent",), "kube-router": ("kube-router",),
    "ovn": ("ovnkube-controller", "ovnkube-node"), "kindnet": ("kindnet-cni",)}
# Where a plugin finds its agent: flannel-io/cni-plugin flannel.go, projectcalico/calico cni-plugin utils.go
# (nodename_file), cilium pkg/defaults (SockPath), antrea pkg/cni (AntreaCNISocketAddr). Network -> the option of its
# plugin for the file, and its default.
_FILES = {"flannel": ("subnetFile", "/run/flannel/subnet.env"), "calico": ("nodename_file", "/var/lib/calico/nodename")}
_SOCKETS = {"cilium": "/run/cilium/cilium.sock", "antrea": "/run/antrea/cni.sock"}
# An agent that has just started may not have written its file yet.
STARTING_SECONDS = 120
_RESOURCES = ("oom_kills", "oom_killed_recently", "memory_limit_bytes")
_UNIX_LIMIT = 8 * 1024 * 1024
# Flag of a socket that listens: __SO_ACCEPTCON (kernel include/uapi/linux/net.h), as /proc/net/unix has it.
_LISTENS = "00010000"


def agent_of(host, node, name, entries, now):
    """(status of looking for processes, the evidence dict); None for a network without an agent known here. `entries`
    are the settings of its plugins."""
    if name not in AGENTS:
        return ABSENT, None
    status, processes = find_processes(host, AGENTS[name])
    processes = of_this_network(host, processes)
    row = {"name": AGENTS[name][0], "running": bool(processes) if status == OK or processes else None, "pid": None,
           "process": None, "started_seconds_ago": None, "contact": _contact(name, entries), "contact_state": None,
           "backend": None, "backend_source": None, "restarts": None, "previous_started_seconds_ago": None,
           "oom_kills": None, "oom_killed_recently": None, "memory_limit_bytes": None, "outage": None}
    if processes:
        process, container = processes[0], Containers(host).of(processes[0].pid)
        restarts, previous = restarts_of(host, container, now)
        backend, source = backend_of(host, process, name)
        resources = resources_of(host, process, restarts)[1] or {}
        if restarts:
            from ..outage import outage_of_running, with_last_kill
            resources = with_last_kill(host, node, container, resources, now)
            row["outage"] = outage_of_running(host, node, container, restarts,
                                              process.age_seconds(uptime_seconds(host)))
        row.update({key: resources.get(key) for key in _RESOURCES}, name=process.name, pid=process.pid,
                   started_seconds_ago=process.age_seconds(uptime_seconds(host)), restarts=restarts,
                   previous_started_seconds_ago=previous, process=who(process.name, container),
                   backend=backend, backend_source=source)
    elif row["running"] is False:
        from ..outage import outage_of_pods
        row["outage"] = outage_of_pods(host, node, _CONTAINERS[name], now)
    if row["contact"]:
        found = host.presence(row["contact"]) if name in _FILES else _listens(host, row["contact"])
        row["contact_state"] = _state(found, row["started_seconds_ago"])
    return status, row


def _contact(name, entries):
    """File or socket by which the plugin finds the agent. Calico's needs none with nodename_file_optional."""
    if name not in _FILES:
        return _SOCKETS.get(name)
    settings = next((entry for entry in entries if entry["type"] == name), {})
    if settings.get("nodename_file_optional") is True and name == "calico":
        return None
    option, default = _FILES[name]
    own = settings.get(option)
    return own if isinstance(own, str) and own.startswith("/") else default


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
