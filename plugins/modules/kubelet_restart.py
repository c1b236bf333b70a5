#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.kubelet_restart."""

DOCUMENTATION = r"""
module: kubelet_restart
short_description: Restart the unit that runs kubelet
version_added: 0.1.0
description:
  - Restarts one unit with M(ansible.builtin.systemd_service) and returns only the documented keys of the node's answer.
  - A restart of kubelet makes it create its iptables chains again. Pods keep running.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
options:
  unit:
    description: The unit, as RV(kubenode.netfilter.node_facts#module:ansible_facts.node_kubelet.unit) names it.
    type: str
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
    details: Returns what would be restarted.
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: none
    details: A restart is a change each time.
seealso:
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Restart kubelet
  kubenode.netfilter.kubelet_restart:
    unit: kubelet.service
"""

RETURN = r"""
name:
  description: The unit that was restarted.
  returned: success
  type: str
  sample: kubelet.service
state:
  description: State of the unit afterwards.
  returned: success
  type: str
  sample: started
"""
