# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses of kube-proxy at /healthz, /livez, /configz and /metrics. PRIVATE to the collection.

Source: kubernetes pkg/proxy/healthcheck/proxier_health.go. Up to 1.32 times have the format of Go's time.Time.String();
from 1.33 on it is RFC 3339, and each family has its own state.

Samples of the Prometheus text format 0.0.4, for selected metrics.
"""

import calendar
import json
import math
import re
import time

from .component_config import parse_go_duration

LINE_LIMIT = 4096
SAMPLES_LIMIT = 5000
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})?[ \t]+(\S+)(?:[ \t]+-?[0-9]+)?[ \t]*\Z")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"[ \t]*(?:,|\Z)')
# float() takes underscores and digits of other scripts as well, which Prometheus never writes.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|Inf)\Z")


def parse_metrics(text, names):
    """`{name: [({label: value}, number)]}` of the metrics in `names`, in the order of the text.

    A sample that is NaN has no number and is left out, like a line that is not a sample. At most `SAMPLES_LIMIT`
    samples are read.
    """
    found, taken = {}, 0
    for line in text.split("\n"):
        if line[:1] in ("#", "") or len(line) > LINE_LIMIT or line.partition(" ")[0].partition("{")[0] not in names:
            continue
        match = _SAMPLE.match(line)
        labels = _labels(match.group(2) or "") if match else None
        if labels is None or not _NUMBER.match(match.group(3)):
            continue
        found.setdefault(match.group(1), []).append((labels, float(match.group(3))))
        taken += 1
        if taken == SAMPLES_LIMIT:
            break
    return found


def _labels(text):
    """{label: value}, None where the text between the braces is no list of labels."""
    labels, place = {}, 0
    while text[place:].strip(" \t"):
        match = _LABEL.match(text, place)
        if match is None:
            return None
        labels[match.group(1)] = match.group(2)
        place = match.end()
    return labels


class Histogram:
    """The buckets of one series, `{upper bound: observations up to it}`, with the number of all observations.

    `count`: None if the buckets contradict each other; then there are no quantiles.
    """

    def __init__(self, buckets, count=None):
        self.bounds = sorted(bound for bound in buckets if not math.isinf(bound))
        self._counts = [buckets[bound] for bound in self.bounds]
        # A truncated text may lack the last bucket; the count of all observations is the same number.
        self.count = buckets.get(math.inf, count)
        steps = self._counts + [self.count] if self.count is not None else []
        if not steps or min(steps) < 0 or steps != sorted(steps) or math.isinf(steps[-1]):
            self.count = None

    def above_percent(self):
        """Percent of the observations above the largest finite bound; None without observations or bound."""
        if not self.count or not self.bounds:
            return None
        return round(100.0 * (self.count - self._counts[-1]) / self.count, 2)

    def quantile(self, share):
        """The value below which `share` (0 to 1) of the observations are, interpolated as histogram_quantile() does.

        None above the largest finite bound: the buckets do not show how far above.
        """
        if not self.count or not self.bounds:
            return None
        rank, below, lower = share * self.count, 0.0, 0.0
        for bound, count in zip(self.bounds, self._counts):
            if count >= rank and count > below:
                return round(lower + (bound - lower) * (rank - below) / (count - below), 4)
            below, lower = count, bound
        return None


def histogram(samples, name, fits):
    """The Histogram of `name` in parsed `samples` whose labels make `fits(labels)` true; None without one."""
    buckets = {float(labels["le"]): number for labels, number in samples.get(name + "_bucket", ())
               if fits(labels) and _NUMBER.match(labels.get("le", ""))}
    count = next((number for labels, number in samples.get(name + "_count", ()) if fits(labels)), None)
    return Histogram(buckets, count) if buckets or count is not None else None


_STATUS = re.compile(r"HTTP/1\.[01] ([0-9]{3})\b")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?(?:Z| \+0000 UTC)")
FAMILIES = {"IPv4": "ipv4", "IPv6": "ipv6"}
# The family of series without that label: up to 1.32.
ALL = "all"
TABLES = ("filter", "mangle", "nat", "raw")
_SYNC = "kubeproxy_sync_proxy_rules_"
_QUEUED, _SYNCED = _SYNC + "last_queued_timestamp_seconds", _SYNC + "last_timestamp_seconds"
_RULES, _NO_LOCAL = _SYNC + "iptables_total", _SYNC + "no_local_endpoints_total"
_FAILURES = {
    "restore_failures": _SYNC + "iptables_restore_failures_total",
    "partial_restore_failures": _SYNC + "iptables_partial_restore_failures_total",
    "nftables_failures": _SYNC + "nftables_sync_failures_total",
    "nftables_cleanup_failures": _SYNC + "nftables_cleanup_failures_total"}
_DURATIONS = {"duration": _SYNC + "duration_seconds", "programming": "kubeproxy_network_programming_duration_seconds"}
_PENDING = {"services": _SYNC + "service_changes_pending", "endpoints": _SYNC + "endpoint_changes_pending"}
_REQUESTS, _BUILD, _STARTED = "rest_client_requests_total", "kubernetes_build_info", "process_start_time_seconds"
_WANTED = frozenset(
    [_QUEUED, _SYNCED, _RULES, _NO_LOCAL, _REQUESTS, _BUILD, _STARTED] + list(_FAILURES.values())
    + list(_PENDING.values()) + [name + end for name in _DURATIONS.values() for end in ("_bucket", "_count")])
_VERSION = re.compile(r"v([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})")
_CODE = re.compile(r"[0-9]{3}\Z")
# client-go counts a request that got no answer with this code (kubernetes client-go tools/metrics).
NO_ANSWER = "none"
CODES_LIMIT = 20


def split_answer(text):
    """(code or None, body) of a text that may begin with the head of an HTTP answer, as `curl -i` saves it."""
    match = _STATUS.match(text)
    if match is None:
        return None, text
    _head, _blank, body = text.replace("\r\n", "\n").partition("\n\n")
    return int(match.group(1)), body


def parse_healthz(text):
    """`{"node_eligible", "healthy" {family: bool}, "now"}` of the body of /healthz or /livez, or None."""
    body = _json(text)
    if body is None or "currentTime" not in body:
        return None
    status = body.get("status") if isinstance(body.get("status"), dict) else {}
    healthy = {FAMILIES[name]: row.get("healthy") is True for name, row in status.items()
               if name in FAMILIES and isinstance(row, dict)}
    eligible = body.get("nodeEligible")
    return {"node_eligible": eligible if isinstance(eligible, bool) else None, "healthy": healthy,
            "now": _seconds(body["currentTime"])}


def parse_configz(text):
    """`{"mode", "sync_period_seconds"}` of the body of /configz; None for any other body.

    Up to 1.34 the keys are the names of the Go fields, from about 1.31 on the period is beside the modes, from 1.36 on
    the body is a KubeProxyConfiguration (seen with 1.30.5, 1.34.9 and 1.36.3).
    """
    body = _lower((_json(text) or {}).get("kubeproxy.config.k8s.io"))
    if not body:
        return None
    mode, period = body.get("mode"), body.get("syncperiod", _lower(body.get("iptables")).get("syncperiod"))
    return {"mode": mode if isinstance(mode, str) else None,
            "sync_period_seconds": parse_go_duration(period) if isinstance(period, str) else None}


def _lower(block):
    return {key.lower(): value for key, value in block.items()} if isinstance(block, dict) else {}


def _json(text):
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _seconds(text):
    """Seconds since 1970 of a time in UTC, in either form; None for another zone."""
    match = _TIME.match(text) if isinstance(text, str) else None
    try:
        return calendar.timegm(time.strptime(" ".join(match.groups()), "%Y-%m-%d %H:%M:%S")) if match else None
    except ValueError:
        return None


# The metrics of kube-proxy 1.20 to 1.36.
# Source: kubernetes pkg/proxy/metrics/metrics.go. From 1.33 on each family has series of its own (label ip_family);
# before, both families of a dual-stack cluster write the same series. A counter that has not counted anything yet has
# no series from 1.33 on, and a metric of another proxy mode has none from 1.31 on.
def parse_kube_proxy_metrics(text):
    """The metrics of kube-proxy, or None where the text has none of them.

    `version`, `started` (seconds since 1970, as all times), `pending` {services, endpoints}, `requests` {code: number},
    and `families`: for `ipv4` and `ipv6`, or for `all` together, `queued` and `synced` (the last time a sync was
    requested and done; None before the first), the counters of `_FAILURES`, `rules` {table: number} or None,
    `no_local_endpoints` {internal, external}, `duration` and `programming` (Histogram or None).
    """
    samples = parse_metrics(text, _WANTED)
    if not any(name.startswith("kubeproxy_") for name in samples) and _BUILD not in samples:
        return None
    labelled = {FAMILIES[labels["ip_family"]] for name in samples for labels, _number in samples[name]
                if labels.get("ip_family") in FAMILIES}
    return {
        "version": _version(samples), "started": _time(_first(samples, _STARTED, _any)),
        "pending": {name: _whole(_first(samples, metric, _any)) for name, metric in _PENDING.items()},
        "requests": _requests(samples),
        "families": {family: _family(samples, family) for family in sorted(labelled) or (ALL,)}}


def _family(samples, family):
    """The series of one family; a counter without a series has counted nothing."""
    def fits(labels):
        return FAMILIES.get(labels.get("ip_family"), ALL) == family

    row = {name: _whole(_first(samples, metric, fits)) or 0 for name, metric in _FAILURES.items()}
    row.update((name, histogram(samples, metric, fits)) for name, metric in _DURATIONS.items())
    row["queued"], row["synced"] = (_time(_first(samples, metric, fits)) for metric in (_QUEUED, _SYNCED))
    rules = {labels.get("table"): _whole(number) for labels, number in samples.get(_RULES, ()) if fits(labels)}
    row["rules"] = {table: rules[table] for table in TABLES if rules.get(table) is not None} or None
    policies = {labels.get("traffic_policy"): _whole(number) for labels, number in samples.get(_NO_LOCAL, ())
                if fits(labels)}
    row["no_local_endpoints"] = {policy: policies.get(policy) for policy in ("external", "internal")}
    return row


def _any(_labels):
    return True


def _first(samples, name, fits):
    return next((number for labels, number in samples.get(name, ()) if fits(labels)), None)


def _whole(number):
    """A non-negative whole number; None for any other value."""
    return int(number) if number is not None and 0 <= number < 2 ** 53 else None


def _time(number):
    """Seconds since 1970; None for 0, which stands for never up to 1.32."""
    return number if number is not None and 0 < number < 2 ** 40 else None


def _version(samples):
    found = (_VERSION.match(labels.get("git_version", "")) for labels, _number in samples.get(_BUILD, ()))
    return next((match.group(1) for match in found if match), None)


def _requests(samples):
    """{code: number of requests} to the API server, over all hosts and methods."""
    found = {}
    for labels, number in samples.get(_REQUESTS, ()):
        code = labels.get("code", "")
        code = code if _CODE.match(code) else NO_ANSWER
        if _whole(number) and (code in found or len(found) < CODES_LIMIT):
            found[code] = found.get(code, 0) + int(number)
    return found
