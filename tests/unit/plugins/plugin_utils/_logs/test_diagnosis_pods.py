# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that did not start, tied to the cause in the message or to what was written while they waited."""

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._logs import diagnosis

ID = "49233c7821409ba966ed4360a02c89e5a1f913d3b2dc43b5d530a6f776a76395"
LOCK = "Another app is currently holding the xtables lock. Perhaps you want to use the -w option?"
# The text of a plugin that a user of Istio reported (istio/istio issue 58507), as kubelet writes it.
PLUGIN = ('rpc error: code = Unknown desc = failed to setup network for sandbox \\"%s\\": plugin type=\\"istio-cni\\" '
          "failed (add): iptables binary iptables has no loaded kernel support and cannot be used, err: exit status 4 "
          "out: Can't lock /run/xtables.lock: Resource temporarily unavailable")
KUBELET = "2026-11-22T10:%02d:00Z a kubelet[1234]: E1122 11:00:00.1    1234 %s"
SANDBOX = 'kuberuntime_sandbox.go:72] "Failed to create sandbox for pod" err=%s pod="default/web-0"'
TIMEOUT = '"rpc error: code = DeadlineExceeded desc = context deadline exceeded"'
OF_AGENT = "2026-11-22T10:%02d:00.5Z stderr F " + LOCK


def rows(*lines):
    return {row["cause"]: row for row in diagnosis.diagnose(list(lines))}


def tied(row):
    return [(pod["pod"], pod["sandbox"], pod["tied_by"]) for pod in row["pods"]]


@pytest.mark.parametrize("line", [
    SANDBOX % ('"%s"' % PLUGIN % ID),
    SANDBOX % ("<\n\t%s\n\t%s\n >" % (PLUGIN % ID, LOCK)),
    'kuberuntime_manager.go:1170] "CreatePodSandbox for pod failed" err="%s" pod="default/web-0"' % PLUGIN % ID,
    'pod_workers.go:1298] "Error syncing pod, skipping" err="failed to \\"CreatePodSandbox\\" for '
    '\\"web-0_default(5f0c)\\" with CreatePodSandboxError: \\"%s\\"" podUID="5f0c"' % PLUGIN % ID])
def test_kubelet_names_the_pod_and_the_plugin_names_the_lock(line):
    # The journal has an entry for each line of a message.
    lines = (KUBELET % (5, line)).replace("\n", "\n2026-11-22T10:05:00Z a kubelet[1234]: ")
    row = rows(lines)["xtables-lock-timeout"]
    assert (tied(row), row["pod_count"]) == ([("default/web-0", ID, "message")], 1)
    assert row["pods"][0]["time"] == "2026-11-22T10:05:00Z" and "sandbox" in row["pods"][0]["evidence"].lower()


@cases
def test_forms_of_runtimes_and_events(line, pod):
    assert tied(rows(line % (ID, LOCK))["xtables-lock-timeout"]) == [(pod, ID, "message")]


def test_dockershim_names_the_pod_alone():
    line = 'networkPlugin cni failed to set up pod "web-0_default" network: ' + LOCK
    assert tied(rows(line)["xtables-lock-timeout"]) == [("default/web-0", None, "message")]


def test_one_failure_in_several_messages_is_one_pod():
    other = ID[::-1]
    row = rows(KUBELET % (5, '"RunPodSandbox from runtime service failed" err="%s"' % PLUGIN % ID),
               KUBELET % (5, SANDBOX % ('"%s"' % PLUGIN % ID)), KUBELET % (6, SANDBOX % ('"%s"' % PLUGIN % other)),
               KUBELET % (6, SANDBOX.replace("web-0", "web-1") % ('"%s"' % PLUGIN % other[1:].rjust(64, "0"))))
    assert tied(row["xtables-lock-timeout"]) == [
        ("default/web-0", ID, "message"), ("default/web-1", other[1:].rjust(64, "0"), "message")]


def test_a_timeout_is_tied_by_time_to_who_waited_for_the_lock_meanwhile():
    waited = KUBELET % (5, SANDBOX % TIMEOUT)
    logs = [{"source": "journal", "text": waited}, {"source": "/flannel.log", "text": OF_AGENT % 3}]
    found = {row["cause"]: row for row in diagnosis.diagnose(logs)}
    assert tied(found["xtables-lock-timeout"]) == [("default/web-0", None, "time")]
    assert found["xtables-lock-timeout"]["source"] == "/flannel.log"
    assert "DeadlineExceeded" in found["xtables-lock-timeout"]["pods"][0]["evidence"]
    assert tied(found["kubelet-sandbox-timeout"]) == [("default/web-0", None, "message")]


@pytest.mark.parametrize("lock, sandbox", [
    (OF_AGENT % 0, SANDBOX % TIMEOUT),  # Five minutes before it.
    (OF_AGENT % 6, SANDBOX % TIMEOUT),  # Afterwards.
    (OF_AGENT % 4, SANDBOX % '"no space left on device"'),  # Another error, without a wait.
    (OF_AGENT % 4, SANDBOX % '"i/o timeout: no IP addresses available in range set"'),  # It has a cause of its own.
    (LOCK, SANDBOX % TIMEOUT),  # No time.
    ("I1122 10:04:00.000001       1 a.go:1] " + LOCK, SANDBOX % TIMEOUT),  # A time without a zone beside one with it.
])
def test_what_is_not_tied(lock, sandbox):
    found = rows(lock, KUBELET % (5, sandbox))
    assert tied(found["xtables-lock-timeout"]) == [] and found["xtables-lock-timeout"]["pod_count"] == 0


def test_times_without_a_zone_or_a_year_are_compared_with_each_other():
    before, after = ("E%s 23:59:50.5       1 a.go:1] %s", "E%s 00:01:00.5    1234 %s")
    row = rows(before % ("1231", LOCK), after % ("0101", SANDBOX % TIMEOUT))["xtables-lock-timeout"]
    assert tied(row) == [("default/web-0", None, "time")]


@pytest.mark.parametrize("pod", ["{{ lookup('pipe', 'id') }}/x", "a/\x1b[2J", "../etc/passwd", "a/b\nc", "A/b"])
def test_only_names_of_kubernetes_are_names(pod):
    row = rows(KUBELET % (5, SANDBOX.replace("default/web-0", pod) % ('"%s"' % PLUGIN % ID)))["xtables-lock-timeout"]
    assert [each["pod"] for each in row["pods"]] == [None]
    assert not any(ord(character) < 32 for each in row["pods"] for character in each["evidence"])


def test_many_pods_are_counted():
    lines = [KUBELET % (5, SANDBOX.replace("web-0", "web-%d" % number) % ('"%s"' % LOCK)) for number in range(9)]
    row = rows(*lines)["xtables-lock-timeout"]
    assert (len(row["pods"]), row["pod_count"], row["count"]) == (5, 9, 9)


def test_the_edges_of_time_and_very_many_lines_are_no_trouble():
    lines = ["9999-12-31T23:59:59Z a k[1]: " + LOCK, "0001-01-01T00:00:00Z a k[1]: " + SANDBOX % TIMEOUT,
             "9999-12-31T23:59:59Z a k[1]: " + SANDBOX.replace("web-0", "web-1") % TIMEOUT]
    assert tied(rows(*lines)["xtables-lock-timeout"]) == [("default/web-1", None, "time")]
    pods = (SANDBOX.replace("web-0", "web-%d" % number) % TIMEOUT for number in range(5000))
    row = rows(*("20%02d-11-22T10:00:00Z a k[1]: %s" % (number % 90, each)
                 for number, pod in enumerate(pods) for each in (LOCK, pod)))["xtables-lock-timeout"]
    assert (row["count"], row["pod_count"]) == (5000, 5000)
