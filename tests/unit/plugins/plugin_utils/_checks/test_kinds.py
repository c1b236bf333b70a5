# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges."""

import pathlib

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.kinds import (judge_each_at_most,
                                                                                       judge_log_causes)


def test_each_at_most_returns_the_rows_that_are_above():
    rows = [{"value": 30, "who": "a"}, {"value": 30.1, "who": "b"}, {"value": 0}]
    assert judge_each_at_most(rows, 30) == [rows[1]]
    assert judge_each_at_most([], 30) == []


def test_a_doubt_is_no_pass_and_no_excuse():
    with pytest.raises(ValueError, match="may be more"):
        judge_each_at_most([{"value": 1, "doubt": "may be more"}], 30)
    above = {"value": 31, "doubt": "may be more"}
    assert judge_each_at_most([above, {"value": 1, "doubt": "may be more"}], 30) == [above]
    assert judge_each_at_most([{"value": 1, "doubt": ""}], 30) == []


@pytest.mark.parametrize("selected", [None, {}, 3, [{"value": None}], [{"value": "3"}], [{"value": True}]])
def test_what_is_no_number_is_no_pass(selected):
    with pytest.raises(ValueError, match="must"):
        judge_each_at_most(selected, 30)


def logs(**change):
    line = "2026-11-22T10:00:00Z a kernel: nf_conntrack: table full, dropping packet"
    return {"severity": "high", "logs": dict({
        "ends": None, "kube_proxy_ports": [], "now": "2026-11-22T10:00:30Z", "utc_offset_seconds": 0,
        "lines": [{"source": "journal", "text": line}]}, **change)}


def test_a_line_counts_while_it_is_recent():
    assert [row["subject"] for row in judge_log_causes(logs(), 30)] == ["kernel-conntrack-full"]
    assert judge_log_causes(logs(), 29) == judge_log_causes(logs(now="2026-11-22T10:02:30Z"), 900) == []
    # A clock that jumped, or a line that lies about its time.
    assert judge_log_causes(logs(now="2026-11-22T09:00:00Z"), 900) == []


@pytest.mark.parametrize("change", [{"now": "soon"}, {"now": ""}, {"utc_offset_seconds": 2 ** 63},
                                    {"utc_offset_seconds": -90000}])
def test_a_node_that_does_not_know_its_time_is_no_pass(change):
    with pytest.raises(ValueError, match="the time of the node is not known"):
        judge_log_causes(logs(**change), 900)


def test_the_last_times_that_python_knows():
    assert judge_log_causes(logs(now="9999-12-31T23:59:59Z", utc_offset_seconds=86400), 900) == []


def captured(name, now):
    """Causes of a real log of kube-proxy, by severity, at a time of the node."""
    text = (pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "logs" / name).read_text(encoding="utf-8")
    section = logs(now=now, lines=[{"source": "/x", "text": text}])
    return {severity: {row["subject"] for row in judge_log_causes(dict(section, severity=severity), 300)}
            for severity in ("high", "medium", "low")}


NOTHING = {"high": set(), "medium": set(), "low": set()}


def test_a_real_log_of_a_held_lock_fails_while_it_is_held():
    name = "lock-held-1.36.txt"
    assert captured(name, "2026-11-22T06:38:30Z") == dict(NOTHING, high={"xtables-lock-timeout"},
                                                          medium={"kube-proxy-lock-waited"})
    # Its last lines are of 06:38:09, and the lock was released at 06:39:05.
    assert captured(name, "2026-11-22T06:41:00Z") == NOTHING


@pytest.mark.parametrize("name", ["healthy-1.36.txt", "healthy-nftables-1.34.txt"])
def test_a_real_log_of_a_healthy_node_passes(name):
    for minute in range(30, 60):
        assert captured(name, "2026-11-22T06:%02d:00Z" % minute) == NOTHING


def test_the_pods_that_do_not_start_are_named():
    def meaning(*pods):
        lines = [{"source": "journal", "text": '2026-11-22T10:00:00Z a kubelet[9]: "Failed to create sandbox for pod" '
                  'err="%s" pod="default/%s"' % ("Another app is currently holding the xtables lock.", pod)}
                 for pod in reversed(pods)]
        return judge_log_causes(logs(lines=lines), 900)[0]["meaning"]

    assert meaning("web-0").endswith("; pod that does not start: default/web-0")
    assert meaning(*"abcdefg").endswith(
        "; pods that do not start: default/a, default/b, default/c, default/d, default/e, and 2 more")
