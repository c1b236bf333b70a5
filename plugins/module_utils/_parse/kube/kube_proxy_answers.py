# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses of kube-proxy at /healthz, /livez and /configz. PRIVATE to the collection.

Source: kubernetes pkg/proxy/healthcheck/proxier_health.go. Up to 1.32 times have the format of Go's time.Time.String();
from 1.33 on it is RFC 3339, and each family has its own state.
"""

import calendar
import json
import re
import time

from .go_duration import parse_go_duration
from .kube_proxy_metrics import FAMILIES

_STATUS = re.compile(r"HTTP/1\.[01] ([0-9]{3})\b")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,9})?(?:Z| \+0000 UTC)")


def split_answer(text):
    """(code or None, body) of a text that may begin with the head of an HTTP answer, as `curl -i` saves it."""
    match = _STATUS.match(text)
    if match is None:
        return None, text
    _head, _blank, body = text.replace("\r\n", "\n").partition("\n\n")
    return int(match.group(1)), body


def parse_healthz(text):
    """`{"node_eligible", "healthy" {family: bool}, "now"}` of the body of /healthz or /livez; None for any other
    body."""
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
