#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.kube_proxy_restart."""

DOCUMENTATION = r"""
module: kube_proxy_restart
short_description: Restart the kube-proxy of a node
version_added: 0.1.0
description:
  - Restarts kube-proxy by what started it, without the API server and without a client of the container runtime. At
    its start kube-proxy writes all its rules. Rules in the kernel stay while it restarts.
  - Where it is the main process of a unit of systemd, that unit is restarted. Where it runs in a pod, SIGTERM is sent to
    exactly that process, and kubelet starts its container again.
  - A refusal is no failure. RV(refused) gives the reason and the manual step, as in k3s and MicroK8s, where kube-proxy
    is a part of the agent.
  - The module does not judge whether a restart mends anything. Role C(harden_kube_proxy) looks before it, and proves
    the result.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
attributes:
  diff_mode:
    support: none
  idempotent:
    support: none
    details: A restart is a change each time.
notes:
  - Only root may restart kube-proxy, and in a V(live) place only.
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.kubelet_restart
"""

EXAMPLES = r"""
- name: Restart kube-proxy
  kubenode.netfilter.kube_proxy_restart:
  register: restarted

- name: Fail where it was not restarted
  ansible.builtin.assert:
    that: restarted.refused is none
    fail_msg: "{{ restarted.refused }}"
"""

RETURN = r"""
method:
  description: How it is restarted, V(unit) or V(signal), or null where it is not.
  returned: success
  type: str
  sample: signal
unit:
  description: The unit that is restarted; null for none.
  returned: success
  type: str
  sample: null
pid:
  description: The process of kube-proxy before the restart; null where none runs.
  returned: success
  type: int
  sample: 2211
refused:
  description: Why it is not restarted, in one sentence; null where nothing was refused.
  returned: success
  type: str
  sample: null
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change import ending
from ..module_utils._change.kube_proxy import call


def main():
    ending.end(AnsibleModule(argument_spec=call.OPTIONS, supports_check_mode=True), call.change)


if __name__ == "__main__":
    main()
