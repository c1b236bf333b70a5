# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the texts of a support bundle are, which of them are logs, and how the checks judge logs."""

import pathlib
import time

import bundles
import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.iptables.dump_forms import read_forms
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import convert, file_kinds
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle.source import Item

LOGS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "logs"
LSMOD = "Module                  Size  Used by\nnf_conntrack          176128  1 xt_conntrack\n"
UNAME = "Linux n1 6.1.0-49-amd64 #1 SMP x86_64\n"


def taken(text):
    return file_kinds.taken(Item("paste", text.encode()))[0]


@cases
def test_kinds_of_pastes(text, kinds):
    assert [path or kind for _part, kind, path in taken(text)] == kinds


@pytest.mark.parametrize("read", [
    lambda: taken("\n" * 250000), lambda: taken(" -A KUBE-a" * 25000), lambda: taken("\u2502" + "\u2500" * 80000),
    lambda: taken('{"stdout": [\n' * 20000), lambda: read_forms("*nat\n" + "x y\n" * 100000, "x"),
    lambda: read_forms(("@:" * 400 + "\n") * 100, "x"),
    lambda: read_forms("".join("Chain KUBE-%d (1 references)\n" % number for number in range(20000)), "x"),
    lambda: convert.nf_conntrack_stat("cpu=0 drop=1 " + "a" * 200000),
    lambda: convert.alternatives_state("a - auto mode\n/x - priority 5\n" + "\n" * 100000)],
    ids=["lines", "rules", "frames", "braces", "lines in a table", "prompts", "chains", "counters", "alternatives"])
def test_the_time_for_a_hostile_text_grows_with_its_length(read):
    begun = time.process_time()
    read()
    assert time.process_time() - begun < 5


def logs_judged(tmp_path, files):
    """({check: subjects that fail}, checks that pass, the section) of a bundle whose logs are read."""
    found, evidence = bundles.judged(bundles.folder(tmp_path / "bundle", files))
    failing = {check: rows for check, rows in bundles.told(found, "fail").items() if check.startswith("LOG")}
    return failing, [check for check in bundles.told(found, "pass") if check.startswith("LOG")], evidence["node_logs"]


HELD = (LOGS / "lock-held-1.36.txt").read_text(encoding="utf-8")
HEALTHY_LOG = (LOGS / "healthy-1.36.txt").read_text(encoding="utf-8")
LATER = 'I1122 07:30:00.000001   19736 bounded_frequency_runner.go:296] "SyncProxyRules complete"\n'


def test_logs_of_a_bundle_are_judged_up_to_their_end(tmp_path):
    failing, passed, section = logs_judged(tmp_path, {"logs/kube-proxy.log": HELD})
    assert failing == {"LOG001": ["xtables-lock-timeout"], "LOG002": ["kube-proxy-lock-waited"]}
    assert passed == ["LOG003"]
    assert section["ends"] == [{"source": "/logs/kube-proxy.log", "time": "11-22T06:38:09.159033"}]
    assert section["read"] == ["/logs/kube-proxy.log"] and section["collected"]["files"] == "ok"


@pytest.mark.parametrize("files", [{"kube-proxy.log": HELD + LATER}, {"kube-proxy.log": HEALTHY_LOG}])
def test_what_is_over_at_the_end_of_a_log_is_no_failure(tmp_path, files):
    assert logs_judged(tmp_path, files)[:2] == ({}, ["LOG001", "LOG002", "LOG003"])


def test_the_journal_of_a_bundle_names_the_pods(tmp_path):
    journal = ("Nov 22 10:00:00 n1 kernel: nf_conntrack: nf_conntrack: table full, dropping packet\n"
               'Nov 22 10:00:05 n1 kubelet[9]: "Failed to create sandbox for pod" err="Another app is currently holding '
               'the xtables lock." pod="default/web-0"\n')
    assert logs_judged(tmp_path, {"sos_commands/logs/journalctl_--no-pager": journal})[0]["LOG001"] == [
        "kernel-conntrack-full", "xtables-lock-timeout"]


@pytest.mark.parametrize("tag", ["3f2a9c1b7d5e", "k8s.gcr.io/kube-proxy:v1.36.3/k8s_kube-proxy_kube-proxy-abcde_"
                                 "kube-system_0d5c2b8e-5a0b-4c39-9c4e-2f6a41d0a7f1_0/3f2a9c1b7d5e"])
def test_the_journal_of_a_bundle_has_lines_of_containers_of_docker(tmp_path, tag):
    lines = HELD.replace("\t", " " * 8).splitlines()
    dump = "".join("Nov 22 06:38:09 n1 %s[812]: %s\n" % (tag, line) for line in lines)
    assert logs_judged(tmp_path, {"journalctl.txt": dump})[0] == {
        "LOG001": ["xtables-lock-timeout"], "LOG002": ["kube-proxy-lock-waited"]}


@pytest.mark.parametrize("path", [
    "var/log/pods/default_web-0_5f0c/web/0.log", "namespaces/default/pods/web-0/web/web/logs/current.log",
    "fix.sh", "etc/systemd/system/a.service"])
def test_what_is_no_log_of_an_agent_is_not_read(tmp_path, path):
    failing, passed, section = logs_judged(tmp_path, {path: HELD, "lsmod": LSMOD})
    assert (failing, passed, section["read"]) == ({}, [], []) and section["collected"]["files"] == "uncollected"


def test_the_log_of_an_agent_in_a_pod_is_read(tmp_path):
    path = "namespaces/kube-system/pods/kube-proxy-x/kube-proxy/kube-proxy/logs/current.log"
    assert logs_judged(tmp_path, {path: HELD})[2]["read"] == ["/" + path]


@pytest.mark.parametrize("name", ["a\nb.log", "\x1b[2J.log", "{{ x }}.log", "../../kube-proxy.log", "x" * 250])
def test_a_log_with_a_hostile_name(tmp_path, name):
    bundle = bundles.archive(tmp_path / "n1.tar", {name: HELD, "lsmod": LSMOD})
    found, evidence = bundles.judged(bundle)
    read = evidence["node_logs"]["read"]
    assert all(path.startswith("/") and path.isprintable() and ".." not in path for path in read)
    assert not any("\x1b" in row["problem"] for rows in found.values() for row in rows if row["problem"])
