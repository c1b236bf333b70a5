# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when a node has no kube-proxy, and whether another program takes its place."""

import re
import time

from ..._host import container as host_container
from ..._host.host import ABSENT, OK
from ..._parse.kube.go_values import parse_go_bool
from ..agents import of_this_network
from ..outage import NONE, outage_of_pods
from ..processes import Process, find_processes, named_processes, option_of
from .kube_proxy_found import ARGUMENT

NAMES = ("kube-proxy",)
# Programs that can do the work of kube-proxy; OVN-Kubernetes and OpenShift SDN always do.
_OTHERS = ("antrea-agent", "calico-felix", "calico-node", "cilium-agent", "kube-ovn-daemon", "kube-router",
           "openshift-sdn-n", "ovnkube")
# cilium/cilium pkg/option: all values of kube-proxy-replacement; partial and probe leave it open.
_CILIUM, _CILIUM_VALUES = "/tmp/cilium/config-map/kube-proxy-replacement", {
    "true": True, "strict": True, "false": False, "disabled": False}
_ANTREA, _PROXY_ALL = "/etc/antrea/antrea-agent.conf", re.compile(r"^[ ]+proxyAll:[ ]*true\b", re.MULTILINE)
# Maps of Felix's BPF mode, which has one for each version of its layout (projectcalico/calico felix/bpf/nat/maps.go).
_FELIX, _FELIX_MAPS = "FELIX_BPFENABLED=", ["/sys/fs/bpf/tc/globals/cali_v%d_nat_fe%s" % (family, version)
                                            for family in (4, 6) for version in ("", "2", "3", "4")]
_UNIT = "kube-proxy.service"
_UNIT_FOLDERS = ("/etc/systemd/system/", "/run/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/")
_ARGUMENTS_LIMIT = 128 * 1024


def replacement_of(host):
    """(name of a program that replaces kube-proxy, or None; why it is not known whether one does, or None)."""
    doubt = None
    for process in of_this_network(host, find_processes(host, _OTHERS)[1]):
        replaces = _replaces(host, process)
        if replaces:
            return process.name, None
        if replaces is None:
            doubt = "%s runs, which can replace kube-proxy, and its setting for that could not be read" % process.name
    return None, doubt


def _replaces(host, process):
    """Whether this program does the work of kube-proxy; None where that is not known."""
    if process.name in ("ovnkube", "openshift-sdn-n"):
        return True
    if process.status != OK:
        return None
    if process.name == "kube-router":
        given = option_of(process.arguments, "run-service-proxy")
        alone = "--run-service-proxy" in process.arguments
        return parse_go_bool("true" if given is None or alone else given)
    if process.name in ("calico-node", "calico-felix"):
        return _felix(host, process)
    if process.name == "kube-ovn-daemon":
        return None
    path = _CILIUM if process.name == "cilium-agent" else _ANTREA
    status, text = _file_of(host, process, path)
    if process.name == "antrea-agent":
        return bool(_PROXY_ALL.search(text)) if status == OK else None
    return _CILIUM_VALUES.get(text.strip() if status == OK else option_of(process.arguments, "kube-proxy-replacement"))


def _felix(host, process):
    environment = host.read_text("/proc/%d/environ" % process.pid)
    given = [part[len(_FELIX):] for part in environment.text.split("\0") if part.startswith(_FELIX)]
    if given and parse_go_bool(given[-1]):
        return True
    seen = {host.presence(path) for path in _FELIX_MAPS}
    if host.root == "/" and process.contained:
        found = host_container.stat_in(process.pid, process.start_time, _FELIX_MAPS)
        seen |= {row[0] for row in found.values()}
    return True if OK in seen else False if seen == {ABSENT} and environment.ok else None


def _file_of(host, process, path):
    if process.contained is False:
        text = host.read_text(path)
        return text.status, text.text
    if not process.contained or host.root != "/":
        return None, ""
    return host_container.look_into(process.pid, process.start_time, [path], [])["texts"][path]


def switched_off_outage(process):
    """That of a node whose server of k3s runs no kube-proxy."""
    return dict(NONE, state="disabled", because="%s runs with disable-kube-proxy" % process.name)


def outage_of(host, node, doubt):
    """The outage of a node on which no kube-proxy runs and no known program replaces it."""
    seconds, because = _unit(host)
    found = outage_of_pods(host, node, NAMES, time.time(), (seconds, because) if because else None)
    doubt = doubt or _other_name(host)
    return dict(found, state="unknown", because=doubt) if doubt else found


def _other_name(host):
    """Why a process may be a kube-proxy under another name, such as hyperkube, or a container of Docker alone."""
    with host.noting():
        for pid, name in named_processes(host)[1]:
            arguments = host.read_text("/proc/%d/cmdline" % pid, _ARGUMENTS_LIMIT).text.split("\0")
            if any(map(ARGUMENT.match, arguments[:2])) and of_this_network(host, [Process(host, pid, name)]):
                return "process %d (%s) may be a kube-proxy under another name" % (pid, name)
    names = {name for _pid, name in named_processes(host)[1]}
    if "dockerd" in names and "cri-dockerd" not in names:
        return "Docker runs here, and its containers are not searched for a kube-proxy"
    return None


def _unit(host):
    """(seconds since the unit of kube-proxy stopped or None, its state in words); (None, None) without such a unit."""
    if not any(host.exists(folder + _UNIT) for folder in _UNIT_FOLDERS):
        return None, None
    keys = ("ActiveState", "ExecMainStatus", "InactiveEnterTimestampMonotonic", "NRestarts", "Result")
    done = host.run(["systemctl", "show", "--no-pager", "--property=" + ",".join(keys), "--", _UNIT])
    held = dict(line.partition("=")[::2] for line in done.out.splitlines()) if done.ok else {}
    if held.get("ActiveState") not in ("inactive", "failed"):
        return None, "%s is %s" % (_UNIT, held.get("ActiveState", "not readable"))
    since = held.get("InactiveEnterTimestampMonotonic", "")
    words = "%s is %s (%s, exit code %s, %s restarts)" % tuple([_UNIT] + [held.get(key, "") for key in (
        "ActiveState", "Result", "ExecMainStatus", "NRestarts")])
    return time.monotonic() - int(since) / 1e6 if re.match(r"[1-9][0-9]{0,18}\Z", since) else None, words
