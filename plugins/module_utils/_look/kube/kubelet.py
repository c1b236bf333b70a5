# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet: which process is the kubelet, which unit runs it, and whether it has created its chains.

Code that only a running kubelet needs is imported when one runs: the sources of a module are compiled on each run.

The service that owns the kubelet, and what its restart takes down.

The settings of kubelet that concern netfilter.

A flag overrides the files in --config-dir, a later file overrides an earlier one, and these files override --config
(kubernetes cmd/kubelet/app/server.go). A program that contains kubelet does not show the flags of kubelet: its own
configuration is read instead.
"""

import re
import shlex

from ..._host.host import ABSENT, BINARY_DIRECTORIES, DENIED, OK, UNPARSED
from ..._parse.kube.component_config import (
    DEFAULTS, KUBELET_FIELDS, READ_ONLY_PORT_OF_FLAGS, flag_value, parse_kubelet_config,
)
from ..._parse.proc.cgroup import parse_cgroup_unit
from ..processes import find_processes, of_this_network, option_of, uptime_seconds
from ..units.units import seconds_since
from .embedded_arguments import k3s_options, microk8s_arguments

# comm of the process that is, or contains, the kubelet -> distribution. comm holds 15 characters (kernel
# TASK_COMM_LEN).
PROGRAMS = {"kubelet": "kubelet", "k3s-server": "k3s", "k3s-agent": "k3s", "k3s": "k3s", "rke2": "rke2", "k0s": "k0s",
            "kubelite": "microk8s"}
# A distribution that runs kubelet as a child process counts before kubelet.
_ORDER = ("k3s", "rke2", "k0s", "microk8s", "kubelet")
_VERSION = re.compile(r"v(\d+\.\d+\.\d+)")
_DELETED = " (deleted)"
# Where RKE2 and k0s unpack the kubelet that they run.
_OWN_FOLDERS = ("/var/lib/rancher/rke2/", "/var/lib/k0s/bin")


def collect_kubelet(host, node):
    """The evidence dict; outside of a live place nothing runs and only the installed program is looked for."""
    live = node["place"] == "live"
    status, processes = find_processes(host, PROGRAMS) if live else (ABSENT, [])
    processes = of_this_network(host, processes)
    # Any user may give a process this name; kubelet runs as root.
    processes = [process for process in processes if process.is_roots(host)] or processes
    owner = min(processes, key=lambda process: _ORDER.index(PROGRAMS[process.name])) if processes else None
    # RKE2 and k0s run kubelet as a child process, and this child creates the chains.
    kubelet = next((process for process in processes if process.name == "kubelet"), owner)
    found, binary = host.binary("kubelet")
    if binary is None:
        also, binary = host.binary("k3s")
        found = also if also == OK else found
    program, doubt = _program(host, kubelet, binary)
    version, source, version_status = (None, None, ABSENT)
    if live:
        version, source, version_status = _version(host, program) if program else (None, None, found)
    running = bool(processes) if status == OK else None
    section = {"schema": 1, "collected": dict.fromkeys(("config", "journal", "rules", "unit"), ABSENT),
               "running": None if node["place"] == "bundle" else running if live else False,
               "distribution": PROGRAMS[owner.name] if owner else None, "installed": binary, "version": version,
               "version_source": source, "version_doubt": doubt if version else None,
               "pid": kubelet.pid if kubelet else None,
               "started_seconds_ago": kubelet.age_seconds(uptime_seconds(host)) if kubelet else None, "unit": None,
               "config": None, "settings": None, "initialisation": None}
    section["collected"].update(processes=status, version=version_status)
    if kubelet is not None:
        _running(host, node, kubelet, section)
    return section


def _running(host, node, process, section):
    """Fills in the parts of the section that need a running kubelet."""
    from .kubelet_init import initialisation_of
    collected = section["collected"]
    config = settings_of(host, process, section["distribution"])
    collected["config"], section["settings"] = config.pop("status"), config.pop("settings")
    section["config"] = config
    collected["unit"], section["unit"] = unit_of(host, process, section["distribution"])
    section["initialisation"], statuses = initialisation_of(
        host, node, process, section["started_seconds_ago"], section["version"], section["settings"], section["unit"],
        section["distribution"])
    collected.update(statuses)
    for row in section["initialisation"]["families"]:
        row.update(_remedy(section))


def _remedy(section):
    """What has to be restarted, in words that a finding can show."""
    unit = section["unit"]
    if unit is None:
        return {"restart": "restart the program that runs process %d (it belongs to no systemd unit)" % section["pid"],
                "effect": "containers keep running"
                if section["distribution"] == "kubelet" else "a restart also stops the other services that it runs"}
    return {"restart": "systemctl restart %s" % shlex.quote(unit["name"]), "effect": unit["effect"]}


def _program(host, process, binary):
    """(program to ask for its version, why another version may run or None). Any user may give a process the name
    kubelet: a program is run only from folders where only root puts programs."""
    link = host.read_link("/proc/%d/exe" % process.pid) if process is not None and process.contained is False else None
    if link is None:
        return binary, None
    path = link[:-len(_DELETED)] if link.endswith(_DELETED) else link
    replaced = "%s was replaced after kubelet was started: another version runs" % path if path != link else None
    if process.name != "kubelet" or path == binary:
        return binary, replaced
    folder, _slash, name = path.rpartition("/")
    if name == "kubelet" and (folder in BINARY_DIRECTORIES or folder.startswith(_OWN_FOLDERS)) and host.is_file(path):
        return path, replaced
    return binary, "kubelet runs from %s, which is not run for its version" % path


def _version(host, binary):
    answer = host.run([binary, "--version"])
    found = _VERSION.search(answer.out)
    if answer.ok and found:
        return found.group(1), "%s --version" % binary, OK
    return None, None, answer.status if answer.status != OK else UNPARSED


PROPERTIES = ("ActiveState", "ActiveEnterTimestampMonotonic", "NRestarts", "KillMode", "RequiredBy", "BoundBy",
              "ConsistsOf")
SECONDS, UNITS_LIMIT = 3.0, 20
# Restarting a unit restarts the units that require it, are bound to it or are part of it (man systemd.unit);
# targets run nothing.
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


# kubelet reads only files with this ending.
DROP_IN_ENDING = ".conf"
DROP_INS_LIMIT, SHOWN_LIMIT = 50, 10
# The drop-in directory that k3s gives to kubelet since 1.32.
K3S_DROP_INS = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
_ALONE = "--make-iptables-util-chains"


def settings_of(host, process, distribution):
    """`{"status", "file", "directory", "drop_ins", "settings"}` of the process that is, or contains, the kubelet.
    Settings have the value None where a file that may set them could not be read."""
    arguments, status = _arguments(host, process, distribution)
    file, folder = option_of(arguments, "config"), option_of(arguments, "config-dir")
    if distribution == "k3s" and folder is None:
        folder = K3S_DROP_INS
    names, statuses, found = [], [status], {}
    sources = [_read(host, process, file)] if file else []
    if folder:
        listed, names = _drop_ins(host, process, folder)
        sources += [(listed, {})] + [_read(host, process, "%s/%s" % (folder.rstrip("/"), name)) for name in names]
    for read, values in sources:
        statuses.append(read)
        # A file that cannot be read may set any value again.
        found = dict(found, **values) if read == OK else {}
    found = dict(found if status in (None, OK) else {}, **_of_flags(arguments))
    wrong = next((word for word in statuses if word not in (None, OK)), None)
    if wrong is None:
        by_flags_alone = not file and distribution not in ("k3s", "microk8s")
        defaults = dict(DEFAULTS, read_only_port=READ_ONLY_PORT_OF_FLAGS) if by_flags_alone else DEFAULTS
        found = dict(defaults, **found)
    return {"status": wrong or (OK if any(statuses) else ABSENT), "file": file, "directory": folder,
            "drop_ins": names[:SHOWN_LIMIT], "settings": {name: found.get(name) for name in KUBELET_FIELDS}}


def _drop_ins(host, process, folder):
    """(status, [name]) of the files of --config-dir."""
    if process.contained is not False:
        return DENIED, []
    listed, names = host.list_dir(folder)
    names = [name for name in names if name.endswith(DROP_IN_ENDING)]
    if len(names) > DROP_INS_LIMIT:
        host.note(folder, "holds more than %d files" % DROP_INS_LIMIT)
        return UNPARSED, []
    # A missing folder stops kubelet, but k3s creates its own.
    return OK if listed == ABSENT and folder == K3S_DROP_INS else listed, names


def _arguments(host, process, distribution):
    """(arguments of kubelet, status of the file they come from or None)."""
    if process.name == "kubelet" or distribution not in ("k3s", "microk8s"):
        return process.arguments, None if process.status == OK else process.status
    if distribution == "microk8s":
        status, arguments = microk8s_arguments(host, "kubelet")
        return arguments, None if status == ABSENT else status
    status, options = k3s_options(host, ("kubelet-arg",))
    if status != OK:
        return [], None if status == ABSENT else status
    from ..._parse.kube.component_config import passed_on
    return passed_on(options.get("kubelet-arg", [])), OK


def _of_flags(arguments):
    # The value of a bool flag follows `=`; the flag alone means true, whatever comes next (pflag, NoOptDefVal).
    plain = [argument + "=true" if argument == _ALONE else argument for argument in arguments]
    texts = {name: option_of(plain, name.replace("_", "-")) for name in KUBELET_FIELDS}
    values = {name: flag_value(name, text) for name, text in texts.items() if text is not None}
    return {name: value for name, value in values.items() if value is not None}


def _read(host, process, path):
    """(status, values) of one file. A file in a container, and a relative path, cannot be read here."""
    if process.contained is not False or not path.startswith("/"):
        return DENIED, {}
    text = host.read_text(path)
    if not text.ok:
        return text.status, {}
    config = parse_kubelet_config(text.text)
    if config.problem:
        host.note(path, "could not be read: %s" % config.problem)
        return UNPARSED, {}
    return OK, config.fields
