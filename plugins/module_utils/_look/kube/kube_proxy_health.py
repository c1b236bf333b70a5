# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence from the answers of kube-proxy: freshness of the rules, failures, requests to the API server. PRIVATE to the
collection.

/healthz returns 200 without any rule, and for the first 60 s of every failure; lastUpdated in its body is the present
time while kube-proxy is healthy. `last_queued > last_synced` of a family shows that a change waits; the pending
counters are 0 in every failure, because the first attempt takes the changes out (seen with 1.30.5, 1.34.9 and 1.36.3).
"""

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.kube.kube_proxy_answers import parse_configz, parse_healthz
from ..._parse.kube.kube_proxy_metrics import NO_ANSWER, parse_kube_proxy_metrics

_MODES = ("iptables", "ipvs", "nftables")
_COUNTERS = ("restore_failures", "partial_restore_failures", "nftables_failures", "nftables_cleanup_failures")
# Tolerance for clocks of one machine that are read one after the other.
_CLOCK_SECONDS = 2.0


def read_answers(answers):
    """({source: status}, metrics, configz, healthz) of {source: Answer}; None for an answer that could not be
    parsed."""
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
    """How many requests of {code: number} failed; 410 (the watch has to list again) and 429 (retry later) are usual and
    do not count."""
    return sum(number for code, number in requests.items()
               if code == NO_ANSWER or code[0] in "45" and code not in ("410", "429"))


def _count(histogram):
    return int(histogram.count) if histogram is not None and histogram.count is not None else None


def _age(then, now):
    """Seconds since then; None where one of the two is not known, or where the clock was set back meanwhile."""
    if then is None or now is None or then > now + _CLOCK_SECONDS:
        return None
    return round(max(0.0, now - then), 1)
