# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From findings about hooks to the options of the module flush_hooks."""

from case_rows import cases
from fix_runs import facts

from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _finding
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix import flush_hooks
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._fix.outcomes import FAILED, REFUSED, Refusal
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

SETTINGS = dict(policies.role_settings("harden_flush_hooks", {}, lambda _name, value: value),
                hook_directories=["/usr/local/bin"])


def to_fix(known, only=(), up_to=None):
    return flush_hooks.work(known, dict(SETTINGS, only=only), up_to).options.get("only", [])


def hooks(*findings):
    """Facts of a host of which these (check, subject, status) were found."""
    known = facts()
    rows = [dict(known["node_assess_findings"][0], check=check, subject=subject, status=status)
            for check, subject, status in findings]
    return dict(known, node_assess_findings=rows,
                node_assess_summary=dict(known["node_assess_summary"], **_finding.summarise(rows)))


@cases
def test_hooks_that_are_to_be_fixed(findings, only, up_to, summary, fixed):
    known = hooks(*findings)
    known["node_assess_summary"].update(summary)
    assert to_fix(known, only, up_to) == fixed


def test_what_was_left_is_told_by_file_and_by_unit():
    rows = [{"path": "/etc/nftables.conf", "unit": "nftables.service", "msg": "it stays", "action": None,
             "failed": False},
            {"path": "/opt/a", "unit": None, "msg": "", "action": "removed", "failed": False},
            {"path": "/opt/b", "unit": None, "msg": "left to the boot", "action": "ordered", "failed": False},
            {"path": "/opt/c", "unit": None, "msg": "no room", "action": None, "failed": True}]
    assert flush_hooks.refusals({"hooks": rows}, []) == [
        Refusal("/etc/nftables.conf", REFUSED, "it stays"), Refusal("/opt/c", FAILED, "no room"),
        Refusal("nftables.service", REFUSED, "it stays")]
    assert flush_hooks.refusals({"failed": True, "msg": "x"},
                                [{"subject": "/opt/a"}]) == [Refusal("/opt/a", FAILED, "x")]
