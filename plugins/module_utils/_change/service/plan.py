# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module service_restart: its options, the restart and its proof."""

import collections
import time

from ... import _errors
from ..._look import tree
from ..._look.kube.kube_proxy import collect_kube_proxy
from ..._look.kube.kubelet import collect_kubelet
from .restart import plan_of_kube_proxy, plan_of_kubelet, restart

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
