# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter that finds the causes of errors in logs."""

import json
import pathlib
import random

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import is_candidate
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._logs import causes as log_causes, diagnosis, times

FULL = "nf_conntrack: table full, dropping packet"
LOGS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "logs"


def found(logs):
    return {row["cause"]: row["count"] for row in diagnosis.diagnose(logs)}


@cases
def test_captured_logs(name, causes):
    text = (LOGS / name).read_text(encoding="utf-8")
    assert set(found(text)) == set(found([{"source": name, "text": text}])) == causes


def test_repeats_are_counted_with_first_and_last_time():
    lines = ["2026-11-22T0%d:00:00Z stderr F iptables-restore: line 63 failed" % hour for hour in (3, 1, 2)]
    row, = diagnosis.diagnose(lines)
    assert (row["count"], row["first"], row["last"]) == (3, "2026-11-22T01:00:00Z", "2026-11-22T03:00:00Z")
    assert diagnosis.diagnose([{"source": "/x", "text": line} for line in lines])[0]["source"] == "/x"
    repeated = "Nov 22 06:37:30 a kernel: message repeated 4 times: [ nf_conntrack: table full, dropping packet]"
    assert found(repeated) == {"kernel-conntrack-full": 4}


@pytest.mark.parametrize("logged, first, last", [
    (["W1231 23:59:58.000001", "W0101 00:00:01.000001"], "12-31T23:59:58.000001", "01-01T00:00:01.000001"),
    (["W0229 10:00:00.000001", "W0228 10:00:00.000001"], "02-28T10:00:00.000001", "02-29T10:00:00.000001")])
def test_klog_times_without_a_year_are_compared_as_times(logged, first, last):
    row, = diagnosis.diagnose(["%s       1 a.go:1] %s" % (time, FULL) for time in logged])
    assert (row["first"], row["last"]) == (first, last)


@cases
def test_times_of_different_forms_are_compared(earlier, later):
    assert times.is_later(later, earlier) and not times.is_later(earlier, later)


@pytest.mark.parametrize("text", ["", None, "0000-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "13-01T00:00:00",
                                  "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00", "now"])
def test_what_is_no_time(text):
    assert times.moment(text) is None


HINT = ('E1122 10:00:00.000001    1234 kubelet_network_linux.go:80] "Failed to ensure that iptables hint chain exists" '
        'err=<\n\terror creating chain \\"KUBE-IPTABLES-HINT\\": exit status 3: %s v1.8.9 (legacy): can\'t initialize '
        '%s table `mangle\': Table does not exist (do you need to insmod?)\n\tPerhaps your kernel needs to be '
        'upgraded.\n >')
INIT = ('I1008 05:38:38.192213    2825 kubelet_network_linux.go:58] "Failed to initialize iptables rules; some '
        'functionality may be missing." protocol="%s"')
NO_FAMILY = 'I1122 10:00:00.000001    1234 server_linux.go:190] "No iptables support for family" ipFamily="%s"'
HELD = HINT.replace("Perhaps", "Another app is currently holding the xtables lock. Perhaps")
OPENING = 'I1122 06:39:45.5 1 service_health.go:128] "Opening healthcheck" service="edge/lb" port=%d'
IN_USE = ('E1122 06:39:45.6 1 service_health.go:145] "Failed to start healthcheck" err="listen tcp 0.0.0.0:%d: bind: '
          'address already in use" node="worker-a" service="edge/lb" port=%d')
FIRST = [OPENING % 30602, OPENING % 30602, IN_USE % (30602, 30602), OPENING % 30602, IN_USE % (30602, 30602)]


@pytest.mark.parametrize("lines, causes", [
    ('I1122 06:37:59.142456   19736 iptables.go:610] "IPTables canary deleted" table="mangle" chain="X"',
     {"kube-proxy-canary-deleted": 1}),
    # A node without IPv6 is healthy, and kubelet sets up no IPv6 on it.
    (INIT % "IPv6", {}), (INIT % "IPv4", {"kubelet-rules-incomplete": 1}),
    (NO_FAMILY % "IPv6", {}), (NO_FAMILY % "IPv4", {"kube-proxy-family-not-served": 1}),
    (HINT % ("ip6tables", "ip6tables"), {}),
    (HINT % ("iptables", "iptables"), {"iptables-table-not-initialized-missing": 1}),
    (HELD % ("ip6tables", "ip6tables"), {"xtables-lock-timeout": 1}),
    # The second family of dual-stack finds its healthcheck port in use.
    (FIRST, {}), ([*FIRST, OPENING % 30603, IN_USE % (30603, 30603)], {"kube-proxy-healthcheck-port-taken": 1})])
def test_causes_of_lines(lines, causes):
    assert found(lines) == causes


def test_who_has_the_healthcheck_port_is_looked_up_on_the_node_and_not_guessed():
    line = IN_USE % (30602, 30602)
    assert found(line) == {}, "a log without the lines before it"
    taken = {"kube-proxy-healthcheck-port-taken": 1}
    for own, causes in (([30602], {}), ([], taken), ([30603], taken)):
        assert {row["cause"]: row["count"] for row in diagnosis.diagnose(line, own)} == causes
        assert {row["cause"]: row["count"] for row in diagnosis.diagnose([OPENING % 30602, line], own)} == causes


NO_CNI = 'E1122 10:0%d:00.000001       1 kubelet.go:2900] "not ready" err="cni plugin not initialized"'


@pytest.mark.parametrize("end", [
    'I1122 10:05:00.000001       1 kubelet_node_status.go:501] "Fast updating node status as it just became ready"',
    'time="2026-11-22T10:05:00Z" level=info msg="Updated default CNI network name to kindnet"'])
def test_a_node_that_waited_for_its_first_network_plugin_is_healthy(end):
    before, after = NO_CNI % 1, NO_CNI % 9
    assert is_candidate(end)
    assert found([before, end]) == {}
    assert found([end, after]) == found([before, end, after]) == {"containerd-config-missing": 1}


@cases
def test_lines_of_tools(line, cause):
    assert found(line) == {cause: 1}


@cases
def test_severity_of_a_line(line, severity):
    assert [row["severity"] for row in diagnosis.diagnose(line)] == [severity]


@cases
def test_what_healthy_nodes_write(line):
    assert found(line) == {}


@cases
def test_advice_for_a_line(line, fix):
    assert fix in diagnosis.diagnose(line)[0]["fix"]


CONNTRACK = ('E1122 10:00:0%d.1 1 proxier.go:1] "Failed to delete stale service connections" err="exec: '
             '\\"conntrack\\": executable file not found in $PATH"')
RESTORE = 'E1122 10:00:0%d.2 1 proxier.go:1] "Failed to execute iptables-restore" err="exit status 9: the moon is full"'
SYNC = 'I1122 10:00:0%d.3 1 proxier.go:1] "Sync failed" ipFamily="IPv4" retryingTime="30s"'


def test_an_unknown_error_stays_beside_a_known_one_and_keeps_its_effect():
    rows = diagnosis.diagnose([CONNTRACK % 1, RESTORE % 2, SYNC % 2])
    assert [(row["cause"], row["severity"]) for row in rows] == [
        ("kube-proxy-restore-failed", "high"), ("exec-not-found", "medium")]
    assert "the moon is full" in rows[0]["meaning"] and "endpoints" not in rows[1]["meaning"]
    # A message that has no error gives its effect to the cause before it.
    row, = diagnosis.diagnose([CONNTRACK % 1, SYNC % 1])
    assert (row["cause"], row["severity"]) == ("exec-not-found", "high")


def test_an_unknown_error_gets_the_effect_of_the_end_that_it_caused():
    head = "2026-11-22 10:00:0%d.000 [%s][42] felix/ipsets.go 9: "
    row, = diagnosis.diagnose([head % (1, "WARNING") + "Failed to resync with dataplane error=the moon is full",
                               head % (2, "PANIC") + "Failed to update IP sets after multiple retries."])
    assert (row["cause"], row["severity"]) == ("felix-sets-not-read", "high")
    assert "the moon is full" in row["meaning"] and "calico-node panics" in row["meaning"]


CALLED = 'time="2026-11-22T10:00:0%dZ" level=error msg="Command execution failed" error="exit status 4" subsys=iptables'
PRINTED = ('time="2026-11-22T10:00:0%dZ" level=warning msg="Fatal: can\'t open lock file /run/xtables.lock: Is a '
           'directory"')


def test_what_an_agent_logs_of_a_tool_below_its_own_message_is_the_cause_of_it():
    row, = diagnosis.diagnose([CALLED % 1, PRINTED % 1])
    assert (row["cause"], row["severity"]) == ("xtables-lock-file-not-opened", "high")


@pytest.mark.parametrize("other", [PRINTED % 2, "Nov 22 10:00:01 a kernel: nf_conntrack: table full, dropping packet"])
def test_an_error_of_another_moment_or_of_the_kernel_is_not_the_cause_of_a_call_that_failed(other):
    assert "cilium-execution-failed" in [row["cause"] for row in diagnosis.diagnose([CALLED % 1, other])]


def test_that_an_agent_tries_again_is_no_error():
    again = "E0303 17:33:29.8 1 route_linux.go:117] Failed to initialize iptables: exit status 2 - will retry in 2s"
    row, = diagnosis.diagnose([again.replace("exit status 2", "Couldn't load target `NOTRACK'"), again])
    assert row["cause"] == "iptables-target-not-loaded"


def test_a_fix_has_no_name_that_a_shell_reads_as_more():
    row, = diagnosis.diagnose("Fatal: can't open lock file /run/x;reboot: Is a directory")
    assert "/run/x;reboot" in row["meaning"] and "reboot" not in row["fix"] and "rmdir FILE" in row["fix"]


def test_evidence_is_one_masked_line_without_control_characters():
    text = json.dumps({"msg": "Another app is currently holding the xtables lock", "token": "abc\u001b[31m"})
    row, = diagnosis.diagnose(text)
    assert "abc" not in row["evidence"] and "\x1b" not in row["evidence"] and row["check"]


def test_damaged_messages_have_a_meaning_and_a_fix_without_control_characters():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    for row in rng.sample(log_causes.rows(), 150):
        text = row.example
        for _damage in range(4):
            at, end = sorted(rng.randint(0, len(text)) for _edge in range(2))
            piece = rng.choice(["", "\0", "\x1b[31m", "{0}", "{chain}", "\\\"", "\udcff", text[at:end] * 2, "\n", "%s"])
            text = text[:at] + piece + rng.choice([text[at:], text[end:]])
        for found_row in diagnosis.diagnose(text):
            texts = [found_row[key] for key in ("meaning", "fix", "evidence")]
            assert all(part.strip() and part.isprintable() for part in texts), (text, texts)


@cases
def test_a_time_is_one_or_null(line, time):
    row, = diagnosis.diagnose(line)
    assert (row["cause"], row["first"], row["last"]) == ("kernel-conntrack-full", time, time)


def test_a_source_has_no_control_characters():
    row, = diagnosis.diagnose([{"source": "/var/log/\x1b[2J\n" + "x" * 5000, "text": FULL}])
    assert "\x1b" not in row["source"] and "\n" not in row["source"] and len(row["source"]) < 1000


@pytest.mark.parametrize("logs", [3, None, {"a": 1}, [3], [{"source": "x"}], ["x", 3],
                                  [{"source": ["x"], "text": "a"}]])
def test_what_is_no_log_is_refused(logs):
    with pytest.raises(BadInput, match="^needs a text"):
        diagnosis.diagnose(logs)


@pytest.mark.parametrize("text", ["", "\0" * 5000, "\ufffd" * 5000, "{" * 5000, "[" * 5000, '{"a":' * 3000])
def test_garbage_has_no_cause(text):
    assert diagnosis.diagnose(text) == []


def test_the_last_line_of_a_program_that_no_row_knows_is_named_and_gives_way_to_every_other_row():
    line = "F1122 10:00:00.000000       1 main.go:88] failed to open the frobnicator: unexpected end of input"
    found, = diagnosis.diagnose(line)
    assert (found["cause"], found["severity"]) == ("program-ended", "low") and "frobnicator" in found["meaning"]
    found, = diagnosis.diagnose("```" + line + "```")
    assert found["cause"] == "program-ended"
    known, = diagnosis.diagnose(line.replace("unexpected end of input", "no space left on device"))
    assert known["cause"] == "errno-enospc"
    assert diagnosis.diagnose(line.replace("F1122", "I1122")) == []


def test_the_end_of_another_component_is_not_taken_for_that_of_kube_proxy():
    line = 'E1122 10:00:00.000001       1 run.go:74] "command failed" err="context deadline exceeded"'
    assert [row["cause"] for row in diagnosis.diagnose(line)] == ["kube-proxy-command-failed"]
    etcd = 'W1122 10:00:00.000001       1 logging.go:59] [core] connection error: dial tcp 127.0.0.1:2379: refused'
    assert "kube-proxy-command-failed" not in [row["cause"] for row in diagnosis.diagnose([etcd, line])]
    named = 'I1122 10:00:00.000001       1 config.go:1] "Using" server="https://kube-apiserver.example:6443"'
    assert [row["cause"] for row in diagnosis.diagnose([named, line])] == ["kube-proxy-command-failed"]
