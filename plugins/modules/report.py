#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.report."""

DOCUMENTATION = r"""
module: report
short_description: Write and show what the assessment found
version_added: 0.1.0
description:
  - Runs once for a batch of hosts, on the controller, and connects to nothing. Writing through a loop of M(ansible.builtin.copy) would cost
    a task for each host.
  - Writes one file for each host that this run has assessed, and C(fleet.json) over all hosts of the play, including those that were not
    reached. Files are replaced as a whole and readable by their owner only.
  - Shows a table for each host of the batch. Colors follow Ansible's settings and the variable C(NO_COLOR).
  - Writes in check mode too, as a report changes no host.
author:
  - kubenode.netfilter contributors (@kubenode)
attributes:
  action:
    description: Runs on the controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  bypass_host_loop:
    description: Runs once for all hosts of a batch.
    support: full
  check_mode:
    description: Can run in check mode; the files on the controller are written then as well.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
    details: No host is ever changed.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
options:
  folder:
    description: Folder on the controller; it is made where it is missing.
    type: str
    required: true
  formats:
    description: What to make of the findings; nothing at all where the list is empty.
    type: list
    elements: str
    choices: [json, terminal]
    default: [json, terminal]
  evidence:
    description: Whether the files also hold the evidence.
    type: bool
    default: false
seealso:
  - module: kubenode.netfilter.assess
"""

EXAMPLES = r"""
- name: Report
  kubenode.netfilter.report:
    folder: ./kubenode-netfilter-report
"""

RETURN = r"""
files:
  description: The files that were written, the roll-up first.
  returned: always
  type: list
  elements: str
  sample: [/srv/audit/fleet.json, /srv/audit/nodes/web-1.json]
totals:
  description:
    - How many hosts are in which state. On a C(healthy) host nothing fails and nothing is unknown, on one that is C(unclear)
      nothing fails.
  returned: always
  type: dict
  sample: {hosts: 4, assessed: 3, healthy: 1, unclear: 1, failing: 1, not_reached: 1, pending: 0}
"""
