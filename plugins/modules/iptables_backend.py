#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.iptables_backend."""

DOCUMENTATION = r"""
module: iptables_backend
short_description: Switch all iptables programs of a node to one backend, reversibly
version_added: 0.1.0
description:
  - Switches C(iptables), C(ip6tables), C(arptables) and C(ebtables) with their C(-save) and C(-restore) companions as
    one set, by the distribution's own mechanism. These are C(update-alternatives) (Debian, openSUSE), C(alternatives)
    (the Red Hat family), or links to C(xtables-nft-multi) and C(xtables-legacy-multi) that are replaced by a rename.
    Where one group fails, all are put back.
  - In an image nothing is run. The state files and links are written that the tools would leave.
  - Where Kubernetes has chains in the backend that would be left, nothing is done unless O(live=true). A running
    program keeps writing to that backend until the node is rebooted, so switching alone would only hide the fault until
    then.
  - A refusal is no failure. RV(refused) gives the reason in one sentence, for example a system without such a backend,
    a kernel without legacy tables, an immutable system, or a state that was changed since the switch that should be
    undone.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
attributes:
  diff_mode:
    support: full
    description: Every link that changes is shown, and every file that rules are saved to.
options:
  state:
    description:
      - V(present) switches.
      - V(absent) puts every group back as it was before the first switch, V(auto) mode included. Where one was changed
        since, none is put back.
    type: str
    choices: [present, absent]
    default: present
  backend:
    description:
      - The backend to switch to. V(auto) is what kubelet and kube-proxy use. Where neither has chains it is what the
        node's programs are already, and where these differ V(nft) if the kernel has it.
    type: str
    choices: [auto, nft, legacy]
    default: auto
  live:
    description:
      - Whether to go on where Kubernetes has chains in the backend that is left. All rules of both backends and
        families are saved first, and RV(reboot_needed) is true then.
      - Only for a node that is cordoned, and rebooted right afterwards.
    type: bool
    default: false
notes:
  - Rules are listed, and containers looked into, by root only, and in a V(live) place only.
  - The next upgrade of a package may put back the plain links that it owns.
  - C(arptables) and C(ebtables) stay as they are where the system has them of one backend only.
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.iptables_chain_audit
"""

EXAMPLES = r"""
- name: Align a fresh node
  kubenode.netfilter.iptables_backend:

- name: Make an image use the nft backend
  kubenode.netfilter.iptables_backend:
    backend: nft
    root: /srv/images/node
"""

RETURN = r"""
backend:
  description: The backend that is switched to. Null where it is not known, or is not needed.
  returned: always
  type: str
  sample: nft
backend_because:
  description: Why it is that one.
  returned: always
  type: str
  sample: kubelet (ipv4) and kube-proxy (ipv4) have chains in it
groups:
  description: Groups that are switched together.
  returned: always
  type: list
  elements: dict
  contains:
    name: {description: Name of the group., type: str, returned: always, sample: iptables}
    programs: {description: The programs in it., type: list, elements: str, returned: always,
               sample: [iptables, iptables-restore, iptables-save]}
    mechanism: {description: 'V(update-alternatives), V(alternatives) or V(links).', type: str, returned: always,
                sample: update-alternatives}
    before:
      description: The backend before, V(mixed) where its programs differ, V(unknown) where they do not tell.
      type: str
      returned: always
      sample: legacy
    after: {description: The backend afterwards., type: str, returned: always, sample: nft}
    mode_before: {description: 'V(auto) or V(manual); null for links.', type: str, returned: always, sample: auto}
    mode_after: {description: The same afterwards., type: str, returned: always, sample: manual}
    msg: {description: Why it stays as it is., type: str, returned: always, sample: ''}
refused:
  description: Why nothing was done, in one sentence; null where nothing was refused.
  returned: always
  type: str
  sample: null
live_rules:
  description: Whether it was refused for chains of Kubernetes in the backend that would be left, which O(live=true)
    allows.
  returned: always
  type: bool
  sample: false
left:
  description: Chains of Kubernetes, by all names that begin with C(KUBE-), in the backend that is left.
  returned: always
  type: list
  elements: dict
  contains:
    backend: {description: V(nft) or V(legacy)., type: str, returned: always, sample: legacy}
    family: {description: V(ipv4) or V(ipv6)., type: str, returned: always, sample: ipv4}
    chains: {description: How many chains., type: int, returned: always, sample: 34}
    rules: {description: How many rules in them., type: int, returned: always, sample: 71}
reboot_needed:
  description: Whether the rules of Kubernetes are in the backend that was left until the node is rebooted.
  returned: always
  type: bool
  sample: false
saved:
  description: Files on the node that hold the rules as they were, with their counters.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/kubenode-netfilter/iptables_backend/saved/1b0e3b3a-9d0e-4a08-8d6c-0b5b1c0f5a11/legacy-ipv4.rules]
conflicts:
  description: Builds of iptables in containers that do not go with the backend. They are never changed.
  returned: always
  type: list
  elements: dict
  contains:
    name: {description: 'The container, or the process where it has no name.', type: str, returned: always,
           sample: kube-router}
    pod: {description: Its pod., type: str, returned: always, sample: kube-router-x7k2p}
    namespace: {description: Its namespace., type: str, returned: always, sample: kube-system}
    path: {description: The program inside the container., type: str, returned: always, sample: /sbin/iptables}
    version: {description: Its version; null where it does not tell., type: str, returned: always, sample: 1.8.7}
    backend: {description: 'V(nft), V(legacy) or V(wrapper); null where it does not tell.', type: str, returned: always,
              sample: legacy}
    because:
      description: Why it conflicts.
      type: str
      returned: always
      sample: its iptables is of the legacy backend, whatever the node's own is
files:
  description: Files and links that are written, in that order.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/kubenode-netfilter/iptables_backend/record.json, /var/lib/dpkg/alternatives/iptables,
           /etc/alternatives/iptables]
msg:
  description: What failed, in one sentence.
  returned: failure
  type: str
  sample: update-alternatives could not switch ip6tables. Every group was put back
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change.backends import plan
from ..module_utils._look import tree


def main():
    tree.exit_with_result(AnsibleModule(argument_spec=plan.OPTIONS, supports_check_mode=True, **plan.RULES), plan.run)


if __name__ == "__main__":
    main()
