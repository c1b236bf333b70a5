# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service that owns the kubelet, and what its restart takes down."""

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.proc.cgroup import parse_cgroup_unit
from ..units.units import seconds_since

PROPERTIES = ("ActiveState", "ActiveEnterTimestampMonotonic", "NRestarts", "KillMode", "RequiredBy", "BoundBy",
              "ConsistsOf")
SECONDS, UNITS_LIMIT = 3.0, 20
# Restarting a unit restarts the units that require it, are bound to it or are part of it (man systemd.unit); a
# target is empty.
_DEPENDANTS = ("RequiredBy", "BoundBy", "ConsistsOf")
_RUNS_SOMETHING = (".service", ".socket", ".mount", ".timer")

_CONTROL_PLANE = ["the API server", "the scheduler", "the controller manager"]
# What stops and starts with kubelet, and whether the unit runs containerd itself, so that the containers' shims are in
# its cgroup. Sources: docs.k3s.io (architecture, upgrades/killall), docs.rke2.io (architecture, logging) and
# ExecStopPost of its units, docs.k0sproject.io (architecture), canonical.com/microk8s/docs/configuring-services.
_PARTS = (
    ("k3s", "agent", ["containerd", "kube-proxy", "the network policies of k3s"], True),
    ("k3s", "", _CONTROL_PLANE + ["the datastore where it is embedded", "containerd", "kube-proxy",
                                  "the network policies of k3s"], True),
    # Its control plane and kube-proxy are static pods.
    ("rke2", "", ["containerd"], True),
    ("k0s", "controller", _CONTROL_PLANE + ["the datastore where it is embedded", "konnectivity", "containerd"], True),
    ("k0s", "", ["containerd"], True),
    ("microk8s", "", _CONTROL_PLANE + ["kube-proxy"], False),
    ("kubelet", "", [], False))
_ANEW = "kubelet admits its pods again: a pod that does not fit this node any more is ended"


def unit_of(host, process, distribution):
    """(status, row) of the unit that runs `process`; (status, None) where no service of systemd runs it."""
    text = host.read_text("/proc/%d/cgroup" % process.pid)
    name = parse_cgroup_unit(text.text)
    if name is None:
        return text.status if not text.ok else ABSENT, None
    status, properties = _show(host, name)
    stops, containers = _parts(distribution, name, process.name, properties.get("KillMode"))
    units = sorted({unit for key in _DEPENDANTS for unit in properties.get(key, "").split()
                    if unit.endswith(_RUNS_SOMETHING)})[:UNITS_LIMIT]
    row = {"name": name, "active_seconds": seconds_since(properties.get("ActiveEnterTimestampMonotonic", ""))
           if properties.get("ActiveState") == "active" else None,
           "restarts": int(properties["NRestarts"]) if properties.get("NRestarts", "").isdigit() else None,
           "kill_mode": properties.get("KillMode") or None, "stops": stops, "units": units, "containers": containers}
    return status, dict(row, effect=_effect(row))


def _show(host, name):
    done = host.run(["systemctl", "show", "--no-pager", "--property=" + ",".join(PROPERTIES), "--", name],
                    timeout=SECONDS)
    if not done.ok:
        return done.status if done.status != OK else UNPARSED, {}
    pairs = [line.partition("=") for line in done.out.splitlines()]
    return OK, {key: value for key, equals, value in pairs if equals and key in PROPERTIES}


def _parts(distribution, unit, comm, kill_mode):
    """(what stops with kubelet, state of the containers: keep_running, stop, or None where that is not known)."""
    stops, own_containerd = next((stops, own) for name, word, stops, own in _PARTS
                                 if name == distribution and (word in unit or word in comm))
    if not own_containerd or kill_mode in ("process", "none"):
        return list(stops), "keep_running"
    # The shims are in the cgroup of the unit: with these modes they are killed with it (man systemd.kill).
    return list(stops), "stop" if kill_mode in ("control-group", "mixed") else None


def _effect(row):
    """One sentence for a user who is about to restart the unit."""
    parts = ["it stops and starts %s with kubelet" % ", ".join(row["stops"])] if row["stops"] else []
    parts += ["systemd restarts %s as well" % ", ".join(row["units"])] if row["units"] else []
    parts.append({"keep_running": "containers keep running",
                  "stop": "KillMode=%s ends all containers of this node" % row["kill_mode"],
                  None: "containers keep running only if its KillMode is process"}[row["containers"]])
    parts.append(_ANEW)
    return "; ".join(parts)
