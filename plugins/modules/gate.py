#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.gate."""

DOCUMENTATION = r"""
module: gate
short_description: Fail a host whose findings do not pass
version_added: 0.1.0
description:
  - Judges the findings of M(kubenode.netfilter.assess) in this run, host by host, on the controller, without a
    connection.
  - A host that this run has not assessed, or could not look at, does not pass unless O(unreached) allows it. The same is
    true of a host whose answer lacks a part, or has a value that no module of this collection returns.
  - With C(run_once) the task is refused, unless the batch is a single host.
  - An option that a task leaves out is that of role C(node_gate), such as the variable C(node_gate_mode) of the host
    for O(mode).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.controller
options:
  mode:
    description: V(fail) fails a host that does not pass, V(warn) only prints a warning with the reasons, V(never) does
      neither.
    type: str
    choices: [fail, warn, never]
    default: fail
  severity:
    description: The lowest severity of a failed check that blocks.
    type: str
    choices: [info, low, medium, high]
    default: medium
  unknown:
    description: Unknown findings at or above that severity, whatever O(classes) is. V(fail) blocks, V(warn) prints a
      warning, V(ignore) does neither.
    type: str
    choices: [fail, warn, ignore]
    default: warn
  unreached:
    description: A host without evidence, or with evidence that lacks a part or is not as documented. V(fail) blocks,
      V(warn) prints a warning, V(ignore) does neither.
    type: str
    choices: [fail, warn, ignore]
    default: fail
  waived:
    description: Waived findings at or above that severity. V(fail) blocks, V(warn) prints a warning, V(ignore) does
      neither.
    type: str
    choices: [fail, warn, ignore]
    default: ignore
  classes:
    description:
      - Classes of fixes. A finding that fails blocks only if the fix of its check is of one of these; otherwise it is a
        warning. An empty list is refused. Findings that are unknown are left to O(unknown).
      - With V(safe) alone a pipeline stops only for faults that C(preflight) mends by itself.
    type: list
    elements: str
    choices: [safe, guarded, disruptive]
    default: [safe, guarded, disruptive]
  baseline:
    description:
      - An earlier report of the hosts, best kept in version control. A finding that it has does not block, unless its
        severity is higher now, or it has a cause now that the report does not have. Set the variable
        C(node_gate_baseline) rather than this option, so that the verdict of the report is the same.
      - The name of a run of the report folder, or a path with a slash of the folder of a run (C(fleet.json) and
        C(nodes)), or of the report of a host (C(nodes/web-1.json)). A relative path is relative to the inventory. A
        report that cannot be read, or is of other hosts, is refused.
      - An empty text is no baseline.
    type: str
    default: ''
  baseline_expires:
    description: Last day of the baseline, such as V(2027-01-31), in UTC. After it the baseline counts no more, and the
      message names this date. O(baseline) needs it.
    type: str
    default: ''
  baseline_owner:
    description: Who renews the baseline. O(baseline) needs it.
    type: str
    default: ''
  folder:
    description: Folder of the report of this run. RV(gate.report) names the host's file in it.
    type: str
seealso:
  - module: kubenode.netfilter.assess
  - module: kubenode.netfilter.rollout
"""

EXAMPLES = r"""
- name: Gate
  kubenode.netfilter.gate:
    severity: high
    unknown: fail
"""

RETURN = r"""
gate:
  description: The result for programs. The rest is in the report, and in the facts of M(kubenode.netfilter.assess).
  returned: always
  type: dict
  contains:
    blocked:
      description: Whether the host does not pass, also where O(mode) is V(warn) or V(never).
      returned: always
      type: bool
      sample: true
    state:
      description: The verdict. V(blocked) by findings, V(fit) for traffic, V(not_known) if checks could not look,
        V(no_node) for a container without kubelet, or V(not_reached).
      returned: always
      type: str
      sample: blocked
    checks:
      description: Ids of the checks that block, the worst first. Empty where the host is blocked because it was not
        reached, not assessed or not assessed in full.
      returned: always
      type: list
      elements: str
      sample: [KMOD001, KMOD014]
    warned:
      description: Ids of the checks that are a warning.
      returned: where the host is not failed
      type: list
      elements: str
      sample: [CTRACK014]
    known:
      description: How many failing findings do not count because the baseline has them.
      returned: with a baseline
      type: int
      sample: 5
    mended:
      description: How many findings of the baseline were judged again and do not fail.
      returned: with a baseline
      type: int
      sample: 2
    report:
      description: The file of the host in O(folder).
      returned: where this file exists
      type: str
      sample: /srv/audit/nodes/web-1.json
msg:
  description: The verdict in one sentence, as the report has it, the same on every ansible-core; empty if O(mode) is
    V(never).
  returned: always
  type: str
  sample: "web-1 is not fit for traffic: the kernel lacks a required module"
"""
