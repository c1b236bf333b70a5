# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges."""

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.kinds import (judge_each_at_most,
                                                                                       judge_log_causes)


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


def test_the_pods_that_do_not_start_are_named():
    def meaning(*pods):
        lines = [{"source": "journal", "text": '2026-11-22T10:00:00Z a kubelet[9]: "Failed to create sandbox for pod" '
                  'err="%s" pod="default/%s"' % ("Another app is currently holding the xtables lock.", pod)}
                 for pod in reversed(pods)]
        return judge_log_causes(logs(lines=lines), 900)[0]["meaning"]

    assert meaning("web-0").endswith("; pod that does not start: default/web-0")
    assert meaning(*"abcdefg").endswith(
        "; pods that do not start: default/a, default/b, default/c, default/d, default/e, and 2 more")
