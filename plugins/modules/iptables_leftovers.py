#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.iptables_leftovers."""

DOCUMENTATION = r"""
module: iptables_leftovers
short_description: Remove chains of kubelet and kube-proxy from the iptables backend that is not in use
version_added: 0.1.0
description:
  - Removes the chains of kubelet and kube-proxy, by their exact names, and the jumps to them from the iptables backend
    that is not in use. The node is not rebooted.
  - Chains are removed only where every jump that the mode and version of kube-proxy have exists in the backend in use,
    and two readings find the other backend unchanged. Chains of other programs stay, such as those of kube-router.
    Policies and counters of built-in chains stay too.
  - Before the first chain is removed, a rollback process is started on the node. After O(rollback_seconds) it puts back
    exactly what was removed. A second run with O(rollback_token) cancels it.
  - A refusal is no failure. RV(refused) gives the reason in one sentence. Of two runs at once the second is refused,
    and RV(refused) names the process of the first.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
attributes:
  diff_mode:
    support: full
    description: Every rule that is removed is shown. Of more than 200 rules of one table the rest is counted.
options:
  backend:
    description:
      - The backend in use, which must be the backend of the node's iptables programs. V(auto) is that backend.
    type: str
    choices: [auto, nft, legacy]
    default: auto
  rollback_seconds:
    description:
      - Seconds after which the removed rules are put back unless O(rollback_token) cancels that, from 10 to 3600.
    type: int
    default: 60
  rollback_token:
    description:
      - The rollback to cancel, as RV(rollback.token) of the run that removed chains. This run removes nothing.
      - Give it over a B(new) connection, since one that is already open does not prove that the node can be reached.
    type: str
  window_seconds:
    description:
      - Seconds between the two readings of the rules, from 1 to 300.
      - Packets still pass through stale rules, so counters may rise in between. A counter that falls shows that rules
        were rewritten.
    type: int
    default: 5
  proxy_mode:
    description: The mode of kube-proxy, where it cannot be found out.
    type: str
    choices: [iptables, ipvs]
  kubernetes_version:
    description: The version of Kubernetes, such as V(1.30), where it cannot be found out.
    type: str
notes:
  - Rules are listed, and containers looked into, by root only, and in a V(live) place only.
seealso:
  - module: kubenode.netfilter.iptables_backend
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.iptables_chain_audit
"""

EXAMPLES = r"""
- name: Remove chains of kubelet and kube-proxy from the backend that is not in use
  kubenode.netfilter.iptables_leftovers:
    rollback_seconds: 120
  register: leftovers

- name: Begin a new connection
  ansible.builtin.meta: reset_connection

- name: Cancel the rollback
  kubenode.netfilter.iptables_leftovers:
    rollback_token: "{{ leftovers.rollback.token }}"
  when: leftovers.rollback.token is not none
"""

RETURN = r"""
backend:
  description: The backend in use. Null where it is not known, and with O(rollback_token).
  returned: always
  type: str
  sample: nft
backend_because:
  description: Why it is that one.
  returned: always
  type: str
  sample: the node's iptables programs use it
refused:
  description: Why nothing was done, in one sentence; null where nothing was refused.
  returned: always
  type: str
  sample: null
left:
  description: Chains whose names begin with C(KUBE-) in the backend that is not in use, before any is removed.
  returned: always
  type: list
  elements: dict
  contains:
    backend: {description: V(nft) or V(legacy)., type: str, returned: always, sample: legacy}
    family: {description: V(ipv4) or V(ipv6)., type: str, returned: always, sample: ipv4}
    chains: {description: How many chains., type: int, returned: always, sample: 34}
    rules: {description: How many rules in them., type: int, returned: always, sample: 71}
removed:
  description: Chains that are removed, with the jumps to them.
  returned: always
  type: list
  elements: dict
  contains:
    family: {description: V(ipv4) or V(ipv6)., type: str, returned: always, sample: ipv4}
    table: {description: The table., type: str, returned: always, sample: nat}
    chain: {description: The chain., type: str, returned: always, sample: KUBE-SERVICES}
    rules: {description: How many rules it held., type: int, returned: always, sample: 12}
sampled:
  description: What the two readings found; null where there were none.
  returned: always
  type: dict
  contains:
    seconds: {description: How many seconds passed between them., type: int, returned: always, sample: 5}
    packets:
      description: How many packets the rules of that backend counted meanwhile.
      type: int
      returned: always
      sample: 118
rollback:
  description:
    - The process that puts back what was removed. All of it is null where none was armed, except for C(seconds) in
      check mode.
  returned: always
  type: dict
  contains:
    token: {description: The value for O(rollback_token)., type: str, returned: always, sample: 5f0c2a9d1e3b4c67}
    seconds: {description: After how many seconds it acts., type: int, returned: always, sample: 60}
    pid: {description: Its process on the node., type: int, returned: always, sample: 4711}
    state: {description: V(armed) or V(confirmed)., type: str, returned: always, sample: armed}
    path:
      description: File that gets its result, or the note that it was confirmed.
      type: str
      returned: always
      sample: /var/lib/kubenode-netfilter/iptables_backend/rollback/5f0c2a9d1e3b4c67.restored
confirmed:
  description: Whether the rollback was cancelled, by this run or before it.
  returned: always
  type: bool
  sample: false
conflicts:
  description: Builds of iptables in containers that do not go with the backend. They are never changed.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The container, or the process where it has no name.
      type: str
      returned: always
      sample: kube-router
    pod: {description: Its pod., type: str, returned: always, sample: kube-router-x7k2p}
    namespace: {description: Its namespace., type: str, returned: always, sample: kube-system}
    path: {description: The program inside the container., type: str, returned: always, sample: /sbin/iptables}
    version: {description: Its version; null where it is not known., type: str, returned: always, sample: 1.8.7}
    backend:
      description: V(nft), V(legacy) or V(wrapper); null where it is not known.
      type: str
      returned: always
      sample: legacy
    because:
      description: Why it conflicts.
      type: str
      returned: always
      sample: its iptables is of the legacy backend, whatever the node's own is
msg:
  description: What failed, in one sentence.
  returned: failure
  type: str
  sample: this node has no rollback with the token 5f0c2a9d1e3b4c67
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change import ending
from ..module_utils._change.leftovers import call


def main():
    ending.end(AnsibleModule(argument_spec=call.OPTIONS, supports_check_mode=True, **call.RULES), call.change)


if __name__ == "__main__":
    main()
