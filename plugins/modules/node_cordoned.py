#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.node_cordoned."""

DOCUMENTATION = r"""
module: node_cordoned
short_description: Ask the API server whether a node is cordoned
version_added: 0.1.0
description:
  - Runs C(kubectl get node) on the host that the task is delegated to, in check mode too, and changes nothing.
  - The task does not fail where the API server does not answer; RV(doubt) has the reason.
  - The command comes from the inventory, the play or the command line. Where a fact of the host has the name of a
    variable of this collection, the host is refused.
  - Internal to the playbook C(repair).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
options:
  node:
    description: Name of the node in the cluster.
    type: str
    required: true
  kubectl:
    description: The command, with the arguments that come before C(get node).
    type: list
    elements: str
    required: true
attributes:
  action:
    description: Has a part that runs on the controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    description: Can run in check mode and changes nothing then.
    support: full
    details: The question is asked in check mode too; it changes nothing.
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: full
seealso:
  - module: kubenode.netfilter.iptables_backend
"""

EXAMPLES = r"""
- name: Ask on the admin host
  kubenode.netfilter.node_cordoned:
    node: "{{ inventory_hostname }}"
    kubectl: [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]
  delegate_to: admin
  register: answer
"""

RETURN = r"""
cordoned:
  description: Whether the node is unschedulable in the answer of the API server.
  returned: always
  type: bool
  sample: true
doubt:
  description: Why it is not certain that the node is cordoned, in one sentence; empty where it is.
  returned: always
  type: str
  sample: ''
"""
