# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers of a running kube-proxy to HTTP requests, where it listens. PRIVATE to the collection."""

import re
import time

from ..._host.host import ABSENT, TIMEOUT
from ..._host.local_http import Answer, fetch_local, packed_ipv6
from ..._parse.proc.net_tcp import ipv6_text
from .kube_proxy_found import HEALTH_PORT, METRICS_PORT

# Source -> path, by the port that serves it (kubernetes cmd/kube-proxy/app/server.go).
PATHS = {METRICS_PORT: (("proxy_mode", "/proxyMode"), ("configz", "/configz"), ("metrics", "/metrics")),
         HEALTH_PORT: (("healthz", "/healthz"), ("livez", "/livez"))}
SOURCES = tuple(source for port in sorted(PATHS) for source, _path in PATHS[port])
# Seconds for all answers of one port together.
SECONDS, LIMIT = 1.5, 4 * 1024 * 1024
_WITH_PORT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]*)):([0-9]{1,5})\Z")
_ANY = ("", "0.0.0.0", "::")


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
    address = _as_listed(address)
    own = listening.get(port, ())
    # The listening sockets decide; if the table of sockets could not be read, the configured address is used.
    places = [place for place in own if address in _ANY or place == address] or [address]
    for candidate in [each for place in places for each in (("127.0.0.1", "::1") if place in _ANY else (place,))]:
        answer = fetch_local(candidate, port, path, max(0.05, deadline - time.monotonic()), LIMIT, own)
        if answer.status != ABSENT:
            break
    return answer


def _as_listed(address):
    """An address as the table of sockets prints it; fd00::5 is one of several forms of an IPv6 address."""
    packed = packed_ipv6(address)
    return ipv6_text(packed) if packed else address
