#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.lockstep."""

DOCUMENTATION = r"""
module: lockstep
short_description: Fail if the hosts of a play do not run each task together
version_added: 0.1.0
description:
  - For tasks that change one node after the other, such as a reboot. They need a strategy that starts a task only when
    every host has ended the task before it, which C(free) and C(host_pinned) do not.
  - Passes under every strategy where the batch is a single host, as with C(serial=1).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.controller
options:
  turn:
    description: The change that is due. V(restart_kubelet) is, where a finding of this run reports that kubelet lost
      its chains, V(restart_kube_proxy), where one reports that kube-proxy does not restore its rules by itself.
    type: str
    choices: [restart_kubelet, restart_kube_proxy]
"""

EXAMPLES = r"""
- name: Make sure that one node is worked on after the other
  kubenode.netfilter.lockstep:
"""

RETURN = r"""
strategy:
  description: The strategy of the play.
  returned: success
  type: str
  sample: linear
due:
  description: Whether the host needs the O(turn); always true without one.
  returned: success
  type: bool
  sample: true
proved:
  description: Whether the last look of this run proves that the host no longer needs the O(turn); false without one.
  returned: success
  type: bool
  sample: false
"""
