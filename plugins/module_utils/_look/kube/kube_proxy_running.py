# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a running kube-proxy, in addition to its configuration. PRIVATE to the collection."""

import time

from ..._host.host import OK, UNPARSED
from ..._parse.kube.kube_proxy_metrics import parse_kube_proxy_metrics
from .kube_proxy_asked import ask_all, ask_metrics
from .kube_proxy_health import failed_requests, health_of, window_of
from .kube_proxy_image import files_of, lacks_of
from .kube_proxy_modes import modes_of
from .kube_proxy_process import api_sockets_again, is_disconnected, process_of
from .kube_proxy_start import starting

KEPT = "kube-proxy"
# A broken connection is closed after 45 s (client-go health checks of HTTP/2: 30 s, then 15 s).
_WATCH_SECONDS = 60


def fill_running(host, node, found, bound, section, window_seconds):
    """Fills in the section of the process `found`; `bound` is {default port: its configured address}."""
    statuses, metrics, health = health_of(ask_all(host, bound, found.listening), time.time())
    asked = time.monotonic()
    process_statuses, process = process_of(host, found.process, frozenset(found.listening),
                                           not found.embedded)
    section["collected"].update(statuses, **process_statuses)
    section.update(health, found_by=found.by, **process)
    version = metrics and metrics["version"]
    section["version"] = version
    section["collected"]["version"] = OK if version else UNPARSED if statuses["metrics"] == OK else statuses["metrics"]
    section["starting"] = starting(section["started_seconds_ago"], metrics)
    if not found.embedded and found.process.status == OK:
        section["files"] = files_of(host, found.process)
        section["lacks"] = lacks_of(section["files"], section["effective_mode"] or section["mode"], version,
                                    any(not row["never_synced"] for row in section["sync"]))
    if section["restarts"]:
        from ..last_container import with_last_kill
        section["resources"] = with_last_kill(host, node, section["container"], section["resources"], time.time())
        from ..outage import outage_of_running
        section["outage"] = outage_of_running(host, node, section["container"], section["restarts"],
                                              section["started_seconds_ago"])
    section["modes"], section["advice"] = modes_of(host, node.get("kernel_release"), section["tools"], version)

    def again():
        """The present metrics, or None."""
        answer = ask_metrics(host, bound, found.listening)
        return parse_kube_proxy_metrics(answer.body.decode("utf-8", "replace")) if answer.code == 200 else None

    if window_seconds and metrics:
        time.sleep(window_seconds)
        # On a busy node one answer may miss its deadline, and the time of the window would be lost.
        after = again() or again()
        section["window"] = window_of(metrics, after, time.monotonic() - asked) if after else None
        metrics = after or metrics
    sockets = section["api_sockets"]
    # A kube-proxy that starts connects first; a process that answers on no port may not be kube-proxy.
    if (sockets and not sockets["established"] and not section["starting"]
            and OK in (statuses["metrics"], statuses["healthz"])):
        section["api_sockets"] = api_sockets_again(host, found.process.pid, frozenset(found.listening), sockets)
    section["api_watch"] = watch_of(section["window"], section["api_sockets"], bool(window_seconds and metrics))
    host.kept[KEPT] = metrics, again


def watch_of(window, sockets, twice=False):
    """`{"state", "because"}` of the watch of the API server: working, failing, disconnected (no reading of its sockets
    shows a connection) or unknown; `twice`: two readings of its metrics were requested. A working watch sends no
    request for minutes; a watch without a server sends one at least every 30 s (client-go reflector)."""
    connected = None if sockets is None else "%d connections to the API server are established" % sockets["established"]
    if window is None and is_disconnected(sockets):
        return {"state": "disconnected", "because": "none of %d readings within %d s shows an established connection "
                                                    "to the API server" % (sockets["readings"], sockets["seconds"])}
    if window is None:
        because = ("the second reading of its metrics got no answer" if twice else
                   "one reading does not show requests over time; run node_facts with window_seconds")
        return {"state": "unknown", "because": "; ".join(part for part in (because, connected) if part)}
    failed = failed_requests(window["api_requests"])
    answered = sum(number for code, number in window["api_requests"].items() if code[0] == "2")
    counted = "%d requests were answered and %d failed in %d s" % (answered, failed, window["seconds"])
    because = "; ".join(part for part in (counted, connected) if part)
    if failed and not answered:
        return {"state": "failing", "because": because}
    if answered or (window["seconds"] >= _WATCH_SECONDS and sockets and sockets["established"]):
        return {"state": "working", "because": because}
    return {"state": "unknown", "because": because}
