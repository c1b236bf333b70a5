#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.turn."""

DOCUMENTATION = r"""
module: turn
short_description: Decide about a change that nodes make one after the other
version_added: 0.1.0
description:
  - The roles restart, clean and migrate one node after the other. The change itself is a task of theirs; this action
    decides before it whether the node is changed, verifies the result after it, and records a failure in the finding.
  - A role sets a variable of a host whose turn failed. After that no turn of any kind begins on any host of the run. A
    refusal changes nothing on the node, so the turns of other hosts follow.
  - Fails under a strategy in which hosts do not run each task together, such as C(free) and C(host_pinned), unless the
    batch is a single host, as with C(serial=1).
  - Works with the variables of the role that makes the change, and with those of C(node_assess).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
options:
  change:
    description:
      - The change.
      - V(clean_leftovers) and V(migrate) are changes of role C(harden_iptables_backend), V(restart_kubelet) is one of
        C(harden_flush_hooks), and V(restart_kube_proxy) one of C(harden_kube_proxy).
    type: str
    required: true
    choices: [clean_leftovers, migrate, restart_kubelet, restart_kube_proxy]
  step:
    description:
      - V(begin) decides. Before a restart it looks again, because the turns of other nodes take minutes. Where a node
        is left as it is for a reason, RV(failure) has the reason, unless report and gate follow in the playbook.
      - V(verify) waits until a restarted program has written its rules, looks again, and fails where the change is not
        proved. In check mode it neither waits nor looks.
      - V(failed) looks again, except where the node did not answer in time, and records the failed attempt in the
        finding.
    type: str
    choices: [begin, verify, failed]
    default: begin
  answer:
    description: The result of M(kubenode.netfilter.node_cordoned), for V(migrate) with
      C(harden_iptables_backend_kubectl_host).
    type: dict
  result:
    description: The result of the task that changed the node, for the step V(verify), or of the task that failed, for
      V(failed).
    type: dict
attributes:
  action:
    description: Runs on the controller and calls modules on the node.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    description: Can run in check mode and changes nothing then.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: full
seealso:
  - module: kubenode.netfilter.fix
  - module: kubenode.netfilter.kubelet_restart
  - module: kubenode.netfilter.kube_proxy_restart
"""

EXAMPLES = r"""
# The whole turn, with the loop over the hosts and the rescue, is in roles/harden_flush_hooks/tasks.
- name: Look again, and decide whether kubelet is restarted
  kubenode.netfilter.turn:
    change: restart_kubelet
  register: decided

- name: Fail, because kubelet must not be restarted
  ansible.builtin.fail:
    msg: "{{ decided['failure'] }}"
  when: decided['failure'] | length > 0
"""

RETURN = r"""
begins:
  description: Whether the node is changed now; false in other steps than V(begin).
  returned: always
  type: bool
  sample: true
doubt:
  description: Why the node is left as it is, in one sentence; empty where it is changed or needs no change.
  returned: always
  type: str
  sample: the node worker-3 is not cordoned
unit:
  description: The unit that runs kubelet.
  returned: where O(change=restart_kubelet) begins
  type: str
  sample: kubelet.service
backend:
  description: The backend to switch to, for M(kubenode.netfilter.iptables_backend).
  returned: where O(change=migrate) begins
  type: str
  sample: nft
before:
  description: The section RV(kubenode.netfilter.node_facts#module:ansible_facts.node_iptables_backend) from
    before the reboot, for M(kubenode.netfilter.iptables_backend_settled).
  returned: where O(change=migrate) begins
  type: dict
  sample: {"backend": "legacy"}
failure:
  description: What failed, or why the node is left as it is where no gate follows, in one sentence; otherwise empty.
  returned: always
  type: str
  sample: kube-proxy has not written its rules within 180 seconds after its restart
spares_others:
  description: Whether the failure is no reason to leave other nodes, since the node was not changed.
  returned: where O(step=verify) fails
  type: bool
  sample: false
"""
