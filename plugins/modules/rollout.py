#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.rollout."""

DOCUMENTATION = r"""
module: rollout
short_description: Decide after a batch whether the next batch may begin
version_added: 0.1.0
description:
  - Runs once for a batch, after the gate, on the controller, without a connection. Give C(run_once=true).
  - Counts the hosts of the batch that are blocked, failed or unreachable. Where they are more than
    O(max_fail_percentage), or those of all batches so far more than O(max_hosts), RV(ended) is true, and C(fleet.json)
    lists the hosts of later batches as not reached by the rollout. C(meta=end_play) ends the play.
  - Ansible's own C(max_fail_percentage) ends a batch at the task in which a host fails, so that report and gate are
    missing for the other hosts, and does not count unreachable hosts.
  - Ansible ends a play that loses a whole batch, whatever the limits are; RV(ended) is true then, too.
  - Put it into the C(always) section of a block around the gate. There it also runs if every host of the batch is
    blocked. End the play after that block. Only hosts that passed run the tasks there. If no host passed, Ansible ends
    the play.
  - An option that a task leaves out is that of role C(node_report) or C(node_gate), such as the variable
    C(node_gate_max_hosts) of the host for O(max_hosts).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
  - kubenode.netfilter.common.controller
options:
  max_fail_percentage:
    description:
      - Percent of the hosts of a batch that may be blocked, failed or unreachable; V(0) to V(100).
      - The default is V(0), and V(100) where O(max_hosts) is set.
    type: raw
  max_hosts:
    description: How many hosts of the play may be blocked, failed or unreachable in all batches so far, as a number or
      as a percentage such as V(10%). An empty text is no limit.
    type: raw
  folder:
    description: Folder of the report on the controller.
    type: str
  formats:
    description: The formats of the report. Nothing is written where V(terminal) alone is one of them.
    type: list
    elements: str
    choices: [json, terminal, csv, html, junit, markdown, prometheus, sarif]
  baseline:
    description: As O(kubenode.netfilter.report#module:baseline).
    type: str
  group_by:
    description: As O(kubenode.netfilter.report#module:group_by).
    type: list
    elements: str
seealso:
  - module: kubenode.netfilter.gate
  - module: kubenode.netfilter.report
"""

EXAMPLES = r"""
- name: Gate and rollout
  block:
    - name: Gate
      kubenode.netfilter.gate:
  always:
    - name: Decide whether the next batch may begin
      kubenode.netfilter.rollout:
        folder: ./kubenode-netfilter-report
      run_once: true
      register: rollout

- name: End the rollout
  ansible.builtin.meta: end_play
  when: rollout.ended
"""

RETURN = r"""
ended:
  description: Whether the rollout ends with this batch. It is false for the last batch.
  returned: always
  type: bool
  sample: true
blocked:
  description: The hosts of the batch that are blocked, failed or unreachable.
  returned: always
  type: list
  elements: str
  sample: [web-2]
ansible_stats:
  description: Custom statistics of the run. C(kubenode_netfilter_rollout) has RV(ended), how many hosts of the play are
    blocked, failed or unreachable, at most 100 of their names, and how many were not rolled out to.
  returned: always
  type: dict
  sample:
    data: {kubenode_netfilter_rollout: {ended: true, blocked: 1, blocked_hosts: [web-2], not_rolled_out: 2}}
    per_host: false
    aggregate: false
not_reached:
  description: The hosts of later batches, where the rollout ends.
  returned: always
  type: list
  elements: str
  sample: [web-3, web-4]
msg:
  description: The decision, in one or two sentences.
  returned: when the rollout ends
  type: str
  sample: >-
    The rollout ends with this batch: 1 of its 2 hosts blocked, failed or unreachable (web-2), and max_fail_percentage
    is 0. Not reached by the rollout: web-3, web-4.
"""
