# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees of tests/looks/rules, whose programs print rules, and the rules that are read of each."""

import pytest
import looks
from fake_tools import LIVE, ToolNode
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.expected import expected_rows
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.rules.rule_sets import (
    read_files, read_live, save_command)


def evidence(rules, host):
    """`rules` as evidence, with the number of rules of each table and the programs that ran."""
    rows = {name: getattr(rules, name) for name in ("collected", "unread", "source", "nf_tables", "helpers_peak_bytes")}
    held = {"%s/%s" % (found.family, found.backend): {
        name: sum(table.rule_counts().values()) for name, table in found.tables.items()} for found in rules.rule_sets}
    notices = [[notice["source"], notice["kind"], notice["count"]] for notice in rules.notices]
    return dict(rows, held=held, notices=notices, ran=host.ran)


def live(tree, place, root_user=True):
    host = ToolNode(tree, root_user)
    return evidence(read_live(host, dict(LIVE, place=place)), host)


def saved(tree, _place, src):
    host = ToolNode(tree)
    return evidence(read_files(host, src), host)


def programs(tree, _place):
    host = ToolNode(tree)
    return dict({backend: save_command(host, "iptables-save", backend) for backend in ("nft", "legacy")}, ran=host.ran)


def expected(tree, place, young=False):
    host, node = ToolNode(tree), dict(LIVE, place=place)
    rules = read_live(host, node)
    if not young:
        rules.read_at = "2100-01-01T00:00:00Z"  # Long after the files of this tree were written.
    return expected_rows(host, node, rules)


@pytest.mark.parametrize("case", looks.cases("rules"), ids=str)
def test_look(case, tmp_path):
    looks.check(case, tmp_path, {"live": live, "saved": saved, "programs": programs, "expected": expected})
