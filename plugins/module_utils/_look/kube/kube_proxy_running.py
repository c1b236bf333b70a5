# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a running kube-proxy, from its answers, in addition to its configuration."""

import re
import time

from ... import _errors
from ..._host.host import ABSENT, OK, TIMEOUT, UNPARSED
from ..._host.local_http import Answer, fetch_local, packed_ipv6
from ..._parse.kube.kube_proxy_answers import (
    NO_ANSWER, parse_configz, parse_healthz, parse_kube_proxy_metrics, split_answer,
)
from ..._parse.proc.network_files import ipv6_text
from .kube_proxy_found import HEALTH_PORT, METRICS_PORT
from .kube_proxy_process import api_sockets_again, files_of, is_disconnected, lacks_of, modes_of, process_of

KEPT = "kube-proxy"
# A broken connection is closed after 45 s (client-go health checks of HTTP/2: 30 s, then 15 s).
_WATCH_SECONDS = 60
# A kube-proxy that has not synced by then is not starting but failing.
SETTLED_SECONDS = 120
# So many requests without success are no start that waits for the API server.
_MANY = 20
# A body without the headers of its answer: only a body with this text shows that the status was not 200.
_UNHEALTHY = b'"healthy":false'
_MODES = ("iptables", "ipvs", "nftables")
_COUNTERS = ("restore_failures", "partial_restore_failures", "nftables_failures", "nftables_cleanup_failures")
# Tolerance for clocks of one machine that are read one after the other.
_CLOCK_SECONDS = 2.0
# Source -> path, by the port that serves it (kubernetes cmd/kube-proxy/app/server.go).
PATHS = {METRICS_PORT: (("proxy_mode", "/proxyMode"), ("configz", "/configz"), ("metrics", "/metrics")),
         HEALTH_PORT: (("healthz", "/healthz"), ("livez", "/livez"))}
SOURCES = tuple(source for port in sorted(PATHS) for source, _path in PATHS[port])
# Seconds for all answers of one port together.
SECONDS, LIMIT = 1.5, 4 * 1024 * 1024
_WITH_PORT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]*)):([0-9]{1,5})\Z")
_ANY = ("", "0.0.0.0", "::")


def fill_running(host, node, found, bound, section, window_seconds):
    """Fills in the section of the process `found`; `bound` is {default port: its configured address}."""
    statuses, metrics, health = health_of(ask_all(host, bound, found.listening), time.time())
    asked = time.monotonic()
    process_statuses, process = process_of(host, found.process, frozenset(found.listening), not found.embedded)
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
        from ..outage import outage_of_running, with_last_kill
        section["resources"] = with_last_kill(host, node, section["container"], section["resources"], time.time())
        section["outage"] = outage_of_running(host, node, section["container"], section["restarts"],
                                              section["started_seconds_ago"])
    section["modes"], section["advice"] = modes_of(host, node.get("kernel_release"), section["tools"], version)

    def again():
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
                   "one reading does not show requests over time; confirm: ansible NODE -b -m "
                   "kubenode.netfilter.node_facts -a window_seconds=60")
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


# Whether a kube-proxy has just started and not written its rules yet.
# kube-proxy creates its chains with its first sync, which waits until it has all Services and endpoints of the API
# server. Its metrics count from that sync on: kubeproxy_sync_proxy_rules_last_timestamp_seconds is 0 before (seen with
# 1.30.5). Since 1.33 each family has its own series. Before 1.33 one series covers both families, and one sync covers
# one of them: in a cluster of one family the first two minutes cannot be distinguished from the first sync of the other
# family. kube-proxy 1.34 and 1.36 do not listen at all until they have reached the API server once.
def starting(age, metrics):
    """Why the chains of a kube-proxy may not exist yet, as a sentence, or None; `age` in seconds, `metrics` as
    parse_kube_proxy_metrics() returns them."""
    if age is None or age >= SETTLED_SECONDS:
        return None
    if metrics and any(row["synced"] is None and (row["restore_failures"] or row["nftables_failures"])
                       for row in metrics["families"].values()):
        return None  # It has tried and failed, so it is not starting but failing.
    if metrics and all(row["synced"] is not None for row in metrics["families"].values()):
        one = metrics["families"].get("all")
        if not one or not one["duration"] or one["duration"].count != 1:
            return None
        return "kube-proxy has run for only %d seconds and has written the rules of one family so far" % age
    return "kube-proxy has run for only %d seconds%s" % (
        age, " and has not written its rules yet"
        if metrics else ", and its metrics do not show whether it has written its rules")


def fill_from_files(host, section, paths):
    """Fills in what `{source: path}` hold; ages are those at the time that /healthz reports. Raises BadInput."""
    answers = {source: Answer(ABSENT, None, b"") for source in SOURCES}
    for source, path in sorted(paths.items()):
        text = host.read_text(path, LIMIT)
        if not text.ok:
            raise _errors.BadInput("%s_src %s is %s; give a file of at most %d MB on the host that runs the module" % (
                source, path, text.status, LIMIT >> 20))
        code, body = split_answer(text.text)
        body = body.encode("utf-8")
        answers[source] = Answer(OK, code or (503 if _UNHEALTHY in body.replace(b" ", b"") else 200), body)
    statuses, metrics, found = health_of(answers)
    statuses = {source: statuses[source] for source in paths}
    section.update(found, api_watch=_watch_of_files(found["api_requests"]),
                   rules_because="files of metrics hold no rules")
    section["collected"].update(statuses, version=statuses.get("metrics", section["collected"]["version"]))
    section["version"] = metrics["version"] if metrics else None


def _watch_of_files(requests):
    """One reading shows the state of the watch only where no request was ever answered."""
    failed = failed_requests(requests)
    if failed >= _MANY and not any(code[0] == "2" for code in requests):
        codes = ", ".join("%d times code %s" % (requests[code], code) for code in sorted(requests))
        return {"state": "failing", "because": "no request since its start was answered with success (%s)" % codes}
    return watch_of(None, None)


# Evidence from the answers of kube-proxy: freshness of the rules, failures, requests to the API server. /healthz
# returns 200 without any rule, and for the first 60 s of every failure; lastUpdated in its body is the present time
# while kube-proxy is healthy. `last_queued > last_synced` of a family shows that a change waits; the pending counters
# are 0 in every failure, because the first attempt takes the changes out (seen with 1.30.5, 1.34.9 and 1.36.3).
def read_answers(answers):
    """({source: status}, metrics, configz, healthz) of {source: Answer}; None for one that could not be parsed."""
    statuses, texts = {}, {}
    for source, answer in answers.items():
        texts[source] = answer.body.decode("utf-8", "replace") if answer.status == OK else ""
        # The health server answers 503 as well. 404: an older version has no such path.
        fits = answer.code in ((200, 503) if source in ("healthz", "livez") else (200,))
        statuses[source] = answer.status if answer.status != OK or fits else ABSENT if answer.code == 404 else UNPARSED
    metrics = parse_kube_proxy_metrics(texts["metrics"]) if statuses["metrics"] == OK else None
    healthz, livez = parse_healthz(texts["healthz"]), parse_healthz(texts["livez"])
    configz = parse_configz(texts["configz"])
    mode = texts["proxy_mode"].strip()
    parsed = {"metrics": metrics, "healthz": healthz, "livez": livez, "configz": configz, "proxy_mode": mode in _MODES}
    for source in statuses:
        if statuses[source] == OK and not parsed[source]:
            statuses[source] = UNPARSED
    return statuses, metrics, configz, healthz


def health_of(answers, now=None):
    """({source: status}, metrics, keys of the section) of {source: Answer}; `now` in seconds since 1970, None for the
    time that /healthz reports."""
    statuses, metrics, configz, healthz = read_answers(answers)
    mode = answers["proxy_mode"].body.decode("utf-8", "replace").strip() if statuses["proxy_mode"] == OK else None
    found = {"effective_mode": mode or (configz["mode"] if configz and configz["mode"] in _MODES else None),
             "sync_period_seconds": configz["sync_period_seconds"] if configz else None,
             "health": None, "sync": [], "pending": None, "api_requests": {}}
    if statuses["healthz"] == OK:
        livez = answers["livez"]
        found["health"] = {
            "healthz_code": answers["healthz"].code, "livez_code": livez.code if statuses["livez"] == OK else None,
            "node_eligible": healthz["node_eligible"],
            "unhealthy_families": sorted(family for family, healthy in healthz["healthy"].items() if not healthy)}
    if metrics is not None:
        now = now if now is not None else healthz and healthz["now"]
        found.update(sync=[sync_row(family, row, now) for family, row in sorted(metrics["families"].items())],
                     pending=metrics["pending"], api_requests=metrics["requests"])
    return statuses, metrics, found


def sync_row(family, row, now):
    """One family of parsed metrics, with ages in place of times."""
    found = {"family": family, "never_synced": row["synced"] is None, "syncs": _count(row["duration"]),
             "queued_seconds_ago": _age(row["queued"], now), "synced_seconds_ago": _age(row["synced"], now),
             "waiting": is_waiting(row),
             "waiting_seconds": 0.0 if is_waiting(row) is False else _age(row["queued"], now),
             "behind_seconds": round(row["queued"] - row["synced"], 3) if row["synced"] and is_waiting(row) else None,
             "no_local_endpoints": row["no_local_endpoints"]}
    found.update((name, row[name]) for name in _COUNTERS)
    for name in ("duration", "programming"):
        histogram = row[name]
        found.update(("%s_p%d_seconds" % (name, percent), histogram.quantile(percent / 100.0) if histogram else None)
                     for percent in (50, 95, 99))
        found[name + "_above_percent"] = histogram.above_percent() if histogram else None
    return found


def is_waiting(row):
    """Whether a change was requested since the last sync that succeeded: it waits, or a sync is running. None where the
    metrics do not have the time of the request: kube-proxy sets it before the first sync, so they are an excerpt."""
    return None if row["queued"] is None else row["synced"] is None or row["queued"] > row["synced"]


def window_of(before, after, seconds):
    """What happened between two readings of metrics; a counter that is lower than before was reset in between."""
    def grown(old, new):
        return new if old is None or new < old else new - old

    restarted = before["started"] != after["started"]
    rows = [(row, before["families"].get(family)) for family, row in sorted(after["families"].items())]
    syncs = sum(grown(_count(old and old["duration"]), _count(row["duration"]) or 0) for row, old in rows)
    failures = sum(grown(old and old[name], row[name]) for row, old in rows for name in _COUNTERS)
    requests = {code: grown(before["requests"].get(code), number) for code, number in after["requests"].items()}
    return {"seconds": round(seconds, 1), "restarted": restarted, "syncs": syncs, "failures": failures,
            "syncs_per_minute": round(60.0 * syncs / seconds, 2) if seconds > 0 else None,
            "api_requests": {code: number for code, number in requests.items() if number}}


def failed_requests(requests):
    """How many requests of {code: number} failed; 410 (the watch lists again) and 429 (retry later) do not count."""
    return sum(number for code, number in requests.items()
               if code == NO_ANSWER or code[0] in "45" and code not in ("410", "429"))


def _count(histogram):
    return int(histogram.count) if histogram is not None and histogram.count is not None else None


def _age(then, now):
    """Seconds since then; None where one of the two is not known, or where the clock was set back meanwhile."""
    if then is None or now is None or then > now + _CLOCK_SECONDS:
        return None
    return round(max(0.0, now - then), 1)


def ask_all(host, bound, listening):
    """{source: Answer}; `bound` is {default port: the configured address, empty for the default}, `listening` is {port:
    [address]} of this network."""
    answers = {}
    for default in sorted(PATHS):
        deadline = time.monotonic() + SECONDS
        for source, path in PATHS[default]:
            answers[source] = _ask(host, bound.get(default) or "", default, listening, path, deadline)
            if answers[source].status == TIMEOUT:
                # No time is left for the other sources of this port.
                for rest, _path in PATHS[default]:
                    answers.setdefault(rest, answers[source])
                break
    return answers


def ask_metrics(host, bound, listening):
    """The Answer of /metrics alone: a second reading."""
    return _ask(host, bound.get(METRICS_PORT) or "", METRICS_PORT, listening, "/metrics", time.monotonic() + SECONDS)


def _ask(host, bound, default, listening, path, deadline):
    """The Answer of the first address that does not refuse the connection."""
    answer = Answer(ABSENT, None, b"")
    if not host.commands:
        return answer
    found = _WITH_PORT.match(bound)
    address, port = (found.group(1) or found.group(2), int(found.group(3))) if found else (bound, default)
    # As the table of sockets prints it; fd00::5 is one of several forms of an IPv6 address.
    packed = packed_ipv6(address)
    address = ipv6_text(packed) if packed else address
    own = listening.get(port, ())
    # The listening sockets decide; if the table of sockets could not be read, the configured address is used.
    places = [place for place in own if address in _ANY or place == address] or [address]
    for candidate in [each for place in places for each in (("127.0.0.1", "::1") if place in _ANY else (place,))]:
        answer = fetch_local(candidate, port, path, max(0.05, deadline - time.monotonic()), LIMIT, own)
        if answer.status != ABSENT:
            break
    return answer
