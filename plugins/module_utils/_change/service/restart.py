# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts kubelet and kube-proxy through the program that started them.

systemd restarts the unit of kubelet, with all that runs in it, and that of kube-proxy. A kube-proxy in a pod gets
SIGTERM, which the runtime also sends, and kubelet starts it again: pods of a DaemonSet and static pods always have
restartPolicy Always. Neither needs the API server or a client of the runtime. A Go program ends on SIGTERM even as
process 1 of its namespace (runtime/signal_unix.go, dieFromSignal).

The module service_restart: its options, the restart and its proof.
"""

import collections
import time

from ... import _errors
from ..._host.run import terminate
from ..._look import tree
from ..._look.containers import Containers, who
from ..._look.kube.kube_proxy import collect_kube_proxy
from ..._look.kube.kube_proxy_found import find_kube_proxy
from ..._look.kube.kubelet import PROGRAMS, collect_kubelet
from ..._look.processes import Process, find_processes, of_this_network
from ..._parse.proc.cgroup import parse_cgroup_unit

UNIT, SIGNAL = "unit", "signal"
RESTART_SECONDS, END_SECONDS, _PAUSE = 120, 30, 0.1
_SHOW_SECONDS = 10
_NOT_HERE = "this is not a live node, so no %s runs here"
_NOT_ROOT = "restarting %s needs root; run with become"
_NO_UNIT = "no systemd unit runs kubelet here: restart the program that runs process %d"
_EMBEDDED = "kube-proxy is a part of %s, and its restart restarts that program: %s"
_OTHER_MAIN = ("kube-proxy is not the main process of %s, whose restart may restart other programs: run systemctl "
               "restart %s")
_NO_POD = "%s belongs to no pod, so kubelet does not start it again: restart it with its container runtime"
_NO_KUBELET = "no kubelet runs here, and only kubelet starts %s again: start kubelet first"
_NO_OWNER = "neither a unit nor a pod runs %s: restart it as it was started"


class Plan(collections.namedtuple("Plan", "process method unit refused")):
    """`method`: None where `refused` has the reason."""

    @property
    def pid(self):
        return self.process.pid if self.process else None


def plan_of_kubelet(host, node):
    """The Plan of restarting the unit that is, or contains, the kubelet of this node."""
    refused = _not_here(host, node, "kubelet")
    if refused:
        return Plan(None, None, None, refused)
    section = collect_kubelet(host, node)
    if not section["running"]:
        return Plan(None, None, None, "no kubelet runs here")
    if section["unit"] is None:
        return Plan(None, None, None, _NO_UNIT % section["pid"])
    return Plan(Process(host, section["pid"], "kubelet"), UNIT, section["unit"]["name"], None)


def plan_of_kube_proxy(host, node):
    """The Plan of restarting the kube-proxy of this node."""
    refused = _not_here(host, node, "kube-proxy")
    if refused:
        return Plan(None, None, None, refused)
    found = find_kube_proxy(host)
    process = found.process
    if process is None:
        return Plan(None, None, None, "no kube-proxy runs here")
    unit = parse_cgroup_unit(host.read_text("/proc/%d/cgroup" % process.pid).text)
    if found.embedded:
        command = "run systemctl restart %s" % unit if unit else "restart it by hand"
        return Plan(process, None, None, _EMBEDDED % (process.name, command))
    container = Containers(host).of(process.pid)
    name = "process %d (%s)" % (process.pid, who(process.name, container))
    if container is None:
        return _of_unit(host, process, unit, name)
    if not container["pod_uid"]:
        return Plan(process, None, None, _NO_POD % name)
    if not of_this_network(host, find_processes(host, PROGRAMS)[1]):
        return Plan(process, None, None, _NO_KUBELET % name)
    return Plan(process, SIGNAL, None, None)


def _not_here(host, node, name):
    if node["place"] != "live":
        return _NOT_HERE % name
    return None if host.is_root() else _NOT_ROOT % name


def _of_unit(host, process, unit, name):
    if unit is None:
        return Plan(process, None, None, _NO_OWNER % name)
    shown = host.run(["systemctl", "show", "--property=MainPID", "--", unit], _SHOW_SECONDS)
    if not shown.ok:
        return Plan(process, None, None, "systemctl show of %s failed: %s" % (unit, _reason_of(shown)))
    if shown.out.strip() != "MainPID=%d" % process.pid:
        return Plan(process, None, None, _OTHER_MAIN % (unit, unit))
    return Plan(process, UNIT, unit, None)


def restart(host, plan):
    """Restarts it. Raises ChangeFailed."""
    if plan.method == UNIT:
        done = host.run(["systemctl", "restart", "--", plan.unit], RESTART_SECONDS)
        if not done.ok:
            raise _errors.ChangeFailed("systemctl restart of %s failed: %s" % (plan.unit, _reason_of(done)),
                                       changed=True)
    else:
        end(host, plan.process)


def end(host, process, seconds=END_SECONDS):
    """Send SIGTERM to exactly this process and wait for its end. Raises ChangeFailed."""
    same, refused = terminate(process.pid, lambda: process.is_the_same(host))
    if not same:
        raise _errors.ChangeFailed("process %d ended during the look; run it again" % process.pid)
    if refused:
        raise _errors.ChangeFailed("SIGTERM cannot be sent to process %d: %s" % (process.pid, refused))
    deadline = time.monotonic() + seconds
    while True:
        now = Process(host, process.pid, process.name)
        if now.start_time != process.start_time or now.ended:
            return
        if time.monotonic() > deadline:
            raise _errors.ChangeFailed("process %d (state %s) did not end within %d s after SIGTERM" % (
                process.pid, now.state, seconds), changed=True)
        time.sleep(_PAUSE)


def _reason_of(done):
    return (done.err or done.out).strip()[:200] or done.status


OPTIONS = {"service": {"type": "str", "required": True, "choices": ["kubelet", "kube_proxy"]},
           "timeout": {"type": "int", "default": 180}, "place": tree.TREE_OPTIONS["place"]}
PAUSE_SECONDS, _MOST_SECONDS = 5, 86400


def _kubelet_is_ready(section):
    families = (section["initialisation"] or {}).get("families") or []
    return section["running"] and bool(families) and all(row["state"] in ("done", "unused") for row in families)


def _kube_proxy_is_ready(section):
    """Before 1.33 one metric of both families shows the first sync of either, so lost rules of the other one are
    unknown for two minutes."""
    families = [row["family"] for row in section["sync"]]
    return (section["running"] and section["starting"] is None
            and not any(row["never_synced"] for row in section["sync"])
            and ("all" not in families or (section["started_seconds_ago"] or 0) > 120))


# How a service is restarted, and when it has written its rules. `least_seconds`: without a journal a kubelet is judged
# when it has run for a minute, a kube-proxy whose metrics cannot be read after two.
_Service = collections.namedtuple("_Service", "plan_of look is_ready least_seconds overdue")
_SERVICES = {
    "kubelet": _Service(plan_of_kubelet, collect_kubelet, _kubelet_is_ready, 75,
                        "kubelet has not set up its chains within %d seconds after its restart"),
    "kube_proxy": _Service(plan_of_kube_proxy, collect_kube_proxy, _kube_proxy_is_ready, 150,
                           "kube-proxy has not written its rules within %d seconds after its restart")}


def run(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    if not 0 <= params["timeout"] <= _MOST_SECONDS:
        raise _errors.BadInput("timeout is %d; give 0 to %d seconds" % (params["timeout"], _MOST_SECONDS))
    params, service = dict(params, root="/"), _SERVICES[params["service"]]
    host, node = tree.open_asked(params)
    plan = service.plan_of(host, node)
    seconds = None
    if plan.method and not check_mode:
        restart(host, plan)
        seconds = _proved(params, service)
    return {"changed": plan.method is not None, "service": params["service"], "method": plan.method, "unit": plan.unit,
            "pid": plan.pid, "refused": plan.refused, "proved_seconds": seconds}


def _proved(params, service):
    """After how many seconds the service had written its rules. Raises ChangeFailed where it does not."""
    began, limit = time.monotonic(), max(params["timeout"], service.least_seconds)
    while True:
        # Opened anew: nothing that an earlier look kept may answer for this one.
        if service.is_ready(service.look(*tree.open_asked(params))):
            return int(time.monotonic() - began)
        if time.monotonic() - began >= limit:
            raise _errors.ChangeFailed(service.overdue % limit, changed=True)
        time.sleep(PAUSE_SECONDS)
