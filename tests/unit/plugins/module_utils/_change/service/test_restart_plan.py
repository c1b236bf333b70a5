# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module service_restart: a restart is proved by what the program has written since, or it fails."""

import pytest
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.service import restart

EVIDENCE = healthy([])
READY = {"kubelet": EVIDENCE["node_kubelet"], "kube_proxy": EVIDENCE["node_kube_proxy"]}
FAMILIES = READY["kubelet"]["initialisation"]["families"]
SYNC = READY["kube_proxy"]["sync"]


class Clock:
    def __init__(self):
        self.now = 0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def changed(monkeypatch):
    """Calls the module; `sections` are what its looks find one after the other, the last one for ever."""
    done = []
    monkeypatch.setattr(restart.tree, "open_asked", lambda params: (params, {"place": params["place"]}))
    monkeypatch.setattr(restart, "restart", lambda _host, plan: done.append(plan.unit))
    monkeypatch.setattr(restart, "time", Clock())

    def run(service, *sections, plan=None, check_mode=False, timeout=180):
        found, made = list(sections), restart._SERVICES[service]
        plan = plan or restart.Plan(None, "unit", "x.service", None)
        fake = restart._Service(
            lambda _host, _node: plan, lambda _host, _node: found.pop(0) if found[1:] else found[0], made.is_ready,
            made.least_seconds, made.overdue)
        monkeypatch.setitem(restart._SERVICES, service, fake)
        try:
            return restart.run({"service": service, "timeout": timeout, "place": "live"}, check_mode)
        finally:
            monkeypatch.setitem(restart._SERVICES, service, made)
    run.restarted = done
    return run


@pytest.mark.parametrize("service, early", [
    ("kubelet", dict(READY["kubelet"], initialisation=None)),
    ("kubelet", dict(READY["kubelet"], initialisation={"families": [dict(FAMILIES[0], state="starting")]})),
    ("kube_proxy", dict(READY["kube_proxy"], running=False)),
    ("kube_proxy", dict(READY["kube_proxy"], starting="it has run for 4 seconds")),
    ("kube_proxy", dict(READY["kube_proxy"], sync=[dict(SYNC[0], never_synced=True)])),
    ("kube_proxy", dict(READY["kube_proxy"], sync=[dict(SYNC[0], family="all")], started_seconds_ago=100)),
])
def test_it_waits_until_the_program_has_written_its_rules(changed, service, early):
    result = changed(service, early, early, READY[service])
    assert (result["changed"], result["proved_seconds"], result["unit"]) == (True, 10, "x.service")
    assert changed.restarted == ["x.service"]
    with pytest.raises(_errors.ChangeFailed, match="within 200 seconds after its restart") as caught:
        changed(service, early, timeout=200)
    assert caught.value.changed


@pytest.mark.parametrize("service, least", [("kubelet", 75), ("kube_proxy", 150)])
def test_a_short_timeout_is_not_shorter_than_the_program_needs(changed, service, least):
    with pytest.raises(_errors.ChangeFailed, match="within %d seconds" % least):
        changed(service, dict(READY[service], running=False), timeout=0)


def test_check_mode_and_a_refusal_restart_nothing(changed):
    announced = changed("kubelet", check_mode=True)
    assert announced["changed"] and announced["proved_seconds"] is None
    refused = changed("kube_proxy", plan=restart.Plan(None, None, None, "it is a part of k3s"))
    assert not refused["changed"] and refused["refused"] == "it is a part of k3s" and changed.restarted == []


def test_a_timeout_out_of_bounds_is_refused():
    with pytest.raises(_errors.BadInput, match="timeout is -1; give 0 to 86400 seconds"):
        restart.run({"service": "kubelet", "timeout": -1, "place": "live"}, False)
