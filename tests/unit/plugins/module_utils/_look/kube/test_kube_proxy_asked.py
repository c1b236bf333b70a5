# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses at which a running kube-proxy is asked, and the requests that are skipped after one slow answer."""

from case_rows import cases
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.local_http import Answer
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube import kube_proxy_asked

FINE, SLOW = Answer("ok", 200, b"x"), Answer("timeout", None, b"")


def asked(monkeypatch, answers, bound=(), listening=()):
    """(the statuses of all answers, what was asked)."""
    requests = []

    def fetch(address, port, path, _seconds, _limit, _own):
        requests.append((address, port, path))
        return answers.get(path, FINE)

    monkeypatch.setattr(kube_proxy_asked, "fetch_local", fetch)
    found = kube_proxy_asked.ask_all(Host("/"), dict(bound), dict(listening))
    return {source: answer.status for source, answer in found.items()}, requests


@cases
def test_a_slow_answer_leaves_those_before_it(slow, timeouts, monkeypatch):
    statuses = asked(monkeypatch, {slow: SLOW})[0]
    assert sorted(source for source, status in statuses.items() if status == "timeout") == timeouts
    assert sorted(statuses) == sorted(kube_proxy_asked.SOURCES)


@cases
def test_an_address_is_found_among_those_that_listen(bound, own, place, monkeypatch):
    """An address that is not among them is not asked (local_http.fetch_local)."""
    requests = asked(monkeypatch, {}, {10249: bound}, {10249: [own]})[1]
    assert requests[0] == (place, 10249, "/proxyMode")
