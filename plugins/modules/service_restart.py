#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.service_restart."""

DOCUMENTATION = r"""
module: service_restart
short_description: Restart kubelet or kube-proxy, and prove that its rules are back
version_added: 0.1.0
description:
  - Restarts one program of a node by what started it, without the API server and without a client of the container
    runtime. Then it looks every five seconds, until the program has written its rules.
  - A unit of systemd is restarted as a whole. A kube-proxy in a pod gets SIGTERM, exactly that process, and kubelet
    starts its container again.
  - kubelet creates its iptables chains at its start, kube-proxy all its rules. Pods keep running, and rules in the
    kernel stay while the program restarts.
  - The task fails if the rules are not back within O(timeout) seconds.
  - A refusal is no failure. RV(refused) gives the reason and the manual step, as for the kube-proxy of k3s and MicroK8s,
    which is a part of the agent.
  - The module does not judge whether a restart helps. The playbook C(repair) restarts where a check asks for it, one
    node at a time.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.changes
options:
  service:
    description: The program to restart.
    type: str
    required: true
    choices: [kubelet, kube_proxy]
  timeout:
    description:
      - Seconds to wait for the rules after the restart, at most 86400.
      - The wait is at least 75 seconds for kubelet, which is judged after a minute where it has no journal, and at least
        150 seconds for kube-proxy, which is judged after two minutes where its metrics cannot be read.
    type: int
    default: 180
  place:
    description: The kind of place that the node is; V(auto) detects it. Nothing is restarted unless it is V(live).
    type: str
    choices: [auto, live, image, container, bundle]
    default: auto
attributes:
  diff_mode:
    support: none
  idempotent:
    support: none
    details: A restart is a change each time.
notes:
  - Only root may restart these programs.
seealso:
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Restart kube-proxy
  kubenode.netfilter.service_restart:
    service: kube_proxy
  register: restarted

- name: Fail where it was not restarted
  ansible.builtin.assert:
    that: restarted.refused is none
    fail_msg: "{{ restarted.refused }}"
"""

RETURN = r"""
service:
  description: The program, as in O(service).
  returned: success
  type: str
  sample: kube_proxy
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
  description: The process before the restart; null where none runs.
  returned: success
  type: int
  sample: 2211
refused:
  description: Why it is not restarted, in one sentence; null where nothing was refused.
  returned: success
  type: str
  sample: null
proved_seconds:
  description: How many seconds after the restart its rules were back; null in check mode and where nothing was
    restarted.
  returned: success
  type: int
  sample: 12
msg:
  description: What failed, in one sentence.
  returned: failure
  type: str
  sample: kube-proxy has not written its rules within 180 seconds after its restart
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change.service import restart
from ..module_utils._look import tree


def main():
    tree.exit_with_result(AnsibleModule(argument_spec=restart.OPTIONS, supports_check_mode=True), restart.run)


if __name__ == "__main__":
    main()
