# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy from files with saved answers of /metrics and /healthz. PRIVATE to the collection."""

from ... import _errors
from ..._host.host import ABSENT, OK
from ..._host.local_http import Answer
from ..._parse.kube.kube_proxy_answers import split_answer
from .kube_proxy_asked import LIMIT, SOURCES
from .kube_proxy_health import failed_requests, health_of
from .kube_proxy_running import watch_of

# So many requests without success are no start that waits for the API server.
_MANY = 20
# A body without the headers of its answer: only a body with this text shows that the status was not 200.
_UNHEALTHY = b'"healthy":false'


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
    section.update(found, api_watch=_watch_of(found["api_requests"]), rules_because="files of metrics hold no rules")
    section["collected"].update(statuses, version=statuses.get("metrics", section["collected"]["version"]))
    section["version"] = metrics["version"] if metrics else None


def _watch_of(requests):
    """One reading shows the state of the watch only where no request was ever answered."""
    failed = failed_requests(requests)
    if failed >= _MANY and not any(code[0] == "2" for code in requests):
        codes = ", ".join("%d times code %s" % (requests[code], code) for code in sorted(requests))
        return {"state": "failing", "because": "no request since its start was answered with success (%s)" % codes}
    return watch_of(None, None)
