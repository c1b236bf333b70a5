# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that a finding rests on: few, short, in one line each, and of this finding."""

import report_runs
from healthy import healthy

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, basis, catalogue

CHECKS = catalogue.catalogue()


def findings(check, modules=None, **sections):
    evidence = healthy(report_runs.POLICY.module_names, modules or {})
    for name, values in sections.items():
        evidence[name].update(values)
    return assess.judged(evidence, report_runs.POLICY, [CHECKS[check]])[0]


def lines(finding):
    return (finding["evidence"] or "").splitlines()


def test_values_of_the_row_and_of_the_paths():
    module, = findings("KMOD003", {"nf_conntrack": "loadable"})
    assert {"state: loadable", "release: 6.1.0-49-amd64"} <= set(lines(module))
    assert "node_host.place: live" in lines(module)
    table, = findings("CTRACK001", node_conntrack={"used_percent": 91.6, "count": 120000, "max": 131072})
    assert {"node_conntrack.used_percent: 91.6", "node_conntrack.count: 120000"} <= set(lines(table))
    # The row repeats these; a value is there once.
    assert sum("120000" in line for line in lines(table)) == sum("91.6" in line for line in lines(table)) == 1


def test_what_passes_or_is_skipped_has_none():
    found = [row for check in CHECKS for row in findings(check)]
    assert {row["status"] for row in found if row["evidence"]} <= {_finding.FAIL, _finding.UNKNOWN}
    assert {_finding.PASS, _finding.SKIP} <= {row["status"] for row in found}


def test_an_unknown_names_the_sources_that_were_not_read():
    rows = findings("KMOD007", node_kernel_modules={"collected": {"modules_directory": "ok", "modprobe_conf": "denied",
                                                                  "modules_load": "ok", "proc_modules": "ok"}})
    unknown, = (row for row in rows if row["status"] == _finding.UNKNOWN)
    assert lines(unknown)[0] == "node_kernel_modules.collected.modprobe_conf: denied"


def test_a_value_that_is_not_known_reads_so():
    unknown, = findings("CTRACK001", node_conntrack={"used_percent": None, "count": None, "max": None})
    assert "node_conntrack.used_percent: not known" in lines(unknown)


def test_lines_are_few_short_and_inert():
    check = CHECKS["KMOD002"]
    named = basis._named(check.select, check.subject, check.problem, check.observed)
    row = dict.fromkeys(named, "\x1b[2J\n\u202e" + "x" * 5000)
    row["blocks"] = [{"file": "/etc/%d" % number, "line": number} for number in range(2000)]
    text = basis.basis_of(check, {"node_kernel_modules": {"judged_release": "y" * 5000}}, row)
    assert len(text.splitlines()) == 8 and max(map(len, text.splitlines())) <= 160
    assert all(char.isprintable() or char == "\n" for char in text)
    assert basis.basis_of(check, {}, {"blocks": row["blocks"], "state": True}) == (
        "blocks: file /etc/0 line 0, file /etc/1 line 1, file /etc/2 line 2 and 1997 more\nstate: true")


def test_damaged_evidence_has_no_values():
    assert basis.basis_of(CHECKS["CTRACK001"], {"node_conntrack": ["x"], "node_host": "y"}) is None
