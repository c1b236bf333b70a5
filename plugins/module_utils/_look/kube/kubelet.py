# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kubelet: which process is the kubelet, which unit runs it, and whether it has created its chains.

Code that only a running kubelet needs is imported when one runs: the sources of a module are compiled on each run."""

import re
import shlex

from ..._host.host import ABSENT, BINARY_DIRECTORIES, OK, UNPARSED
from ..agents import of_this_network
from ..processes import find_processes, uptime_seconds

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
    from .kubelet_settings import settings_of
    from .kubelet_unit import unit_of
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
