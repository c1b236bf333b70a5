#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.iptables_backend_settled."""

DOCUMENTATION = r"""
module: iptables_backend_settled
short_description: Wait until a migration between the backends of iptables is done
version_added: 0.1.0
description:
  - Looks every ten seconds, and ends when the iptables programs use the backend, kubelet and kube-proxy have their
    chains in it, every jump of kube-proxy's mode and version exists, and the other backend holds no rules of
    Kubernetes.
  - Ends with the missing conditions in RV(missing) where that takes longer than O(timeout) seconds. Nothing is changed.
  - Internal to the playbook C(repair).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
options:
  backend:
    description:
      - The backend that was migrated to. Without it, as where
        O(kubenode.netfilter.iptables_backend#module:state=absent) put the groups back to what they were, only the jumps
        of kube-proxy and the chains of both programs are required.
    type: str
    choices: [nft, legacy]
  before:
    description: The section C(node_iptables_backend) from before the reboot. A program that had chains then must have
      chains again.
    type: dict
    default: {}
  timeout:
    description: Seconds to wait.
    type: int
    default: 300
attributes:
  action:
    description: Runs on the controller and calls a module on the node.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    description: Does not wait in check mode, since nothing was migrated.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
    details: Nothing is ever changed.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: full
seealso:
  - module: kubenode.netfilter.iptables_backend
"""

EXAMPLES = r"""
- name: Wait until kubelet and kube-proxy have written their rules
  kubenode.netfilter.iptables_backend_settled:
    backend: nft
    timeout: 600
"""

RETURN = r"""
missing:
  description: The conditions that were not met at the last look, one sentence each.
  returned: always
  type: list
  elements: str
  sample: [kubelet has its IPv4 chains in no backend]
ansible_facts:
  description: The facts of M(kubenode.netfilter.assess) of the last look.
  returned: where the host was looked at
  type: dict
  contains:
    node_assess_findings:
      description: See RV(kubenode.netfilter.assess#module:ansible_facts.node_assess_findings).
      type: list
      elements: dict
      returned: always
    node_assess_summary:
      description: See RV(kubenode.netfilter.assess#module:ansible_facts.node_assess_summary).
      type: dict
      returned: always
"""
