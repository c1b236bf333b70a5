# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The screens of the README: a healthy node, one cause, two causes, printed as in a run."""

import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [path for path in (str(TOP / ".build"), str(TOP / "tests" / "fixtures")) if path not in sys.path]

import golden_run

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks.catalogue import catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.terminal import render_node

README = TOP / "README.md"
# `make docs` writes the text between these lines.
BEGIN, END = "<!-- screens -->\n", "<!-- /screens -->\n"
# The README has few words, so the line about the node is short.
SUMMARY = {"os": "Debian 12", "kernel": "kernel 6.1", "needs": "iptables mode, nft backend"}
WIDTH = 96
# {host: [(check, subject, problem, and the remediation where the screen shows it)]}
NODES = {
    "w01": [],
    "w02": [("CHAIN001", "ipv4 nft nat PREROUTING: KUBE-SERVICES: neither the jump nor the chain exists",
             "A jump or a chain of kube-proxy is missing"),
            ("KPROXY006", "nat of ipv4", "nat of ipv4 does not hold what kube-proxy wrote"),
            ("KPROXY015", "ipv4", "kube-proxy does not restore its rules for ipv4 without a restart"),
            ("HOOK001", "/etc/cron.hourly/site-fw", "/etc/cron.hourly/site-fw flushes rules automatically")],
    "w03": [("XLOCK003", "/run/xtables.lock", "The xtables lock is held by flock (pid 812) for 312 s", "kill 812"),
            ("KPROXY004", "IPv4", "kube-proxy has not programmed a change of IPv4 for 297 s"),
            ("CTRACK001", "the table", "The conntrack table is too full: 262144 of 262144 entries, 100 %")],
}
INTRODUCTIONS = {"w01": "A healthy node:", "w02": "One cause:", "w03": "Two causes:"}


def screen(host):
    """The screen of a node on which the other checks pass."""
    failing = [_finding.finding(catalogue()[check], _finding.FAIL, subject=subject, problem=problem,
                                remediation="".join(fix)) for check, subject, problem, *fix in NODES[host]]
    names = {row["check"] for row in failing}
    passing = [_finding.finding(check, _finding.PASS) for check in catalogue().values() if check.id not in names]
    return render_node(golden_run.report(host, failing + passing, **SUMMARY), WIDTH, False)


def render_readme():
    before, begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _screens, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("README.md has no place for the screens")
    blocks = ["%s\n\n%s\n" % (INTRODUCTIONS[host], "\n".join("    " + line for line in screen(host).splitlines()))
              for host in NODES]
    return before + BEGIN + "\n" + "\n".join(blocks) + "\n" + END + after
