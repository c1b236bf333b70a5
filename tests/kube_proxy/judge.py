# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection finds on the node that this process lives on, by its own collectors and checks."""

import copy

import node_processes
from healthy import SECTIONS

from ansible_collections.kubenode.netfilter.plugins.module_utils._look import node as look_at_node
from ansible_collections.kubenode.netfilter.plugins.module_utils._look import tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_facts import (
    collect_kube_proxy_facts)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _evidence, _policy, _selection

# What rests on kube-proxy and its rules is looked at. The kernel and the disk are those of whoever runs this, so the
# other sections are a healthy node's.
LOOKED_AT = ("iptables_backend", "iptables_chains", "kube_proxy", "kubelet", "xtables_lock")
ABOUT = ("BACKEND", "CHAIN", "KPROXY", "XLOCK")


def judged(window=0):
    """{"failing": {check: first finding in words}, "unknown": the same}, by two readings `window` seconds apart where
    it is not 0."""
    # In a child, since a look is the work of a process that then ends: what it keeps must not serve the next one.
    sections = node_processes.in_child(lambda: look_at_node.collect_from(*tree.open_tree("/", "live"), LOOKED_AT))
    if window:
        sections.update(node_processes.in_child(lambda: _by_two_readings(window)))
    checked, problems = _evidence.checked_sections(sections)
    if problems:
        raise AssertionError(problems)
    checks = _selection.chosen_checks(ABOUT)
    findings, _requirements = _assess.judged(dict(copy.deepcopy(SECTIONS), **checked), _policy.policy_of({}), checks)
    return {status: {row["check"]: "%s: %s" % (row["subject"], row["observed"] or row["reason"])
                     for row in reversed(findings) if row["status"] == status} for status in ("fail", "unknown")}


def _by_two_readings(seconds):
    """The sections that tell more after two readings, as their own modules return them."""
    host, node = tree.open_tree("/", "live")
    return {"node_kube_proxy": collect_kube_proxy_facts(host, node, seconds),
            "node_xtables_lock": collect_xtables_lock(host, node, window_seconds=seconds)}
