#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.fix."""

DOCUMENTATION = r"""
module: fix
short_description: Look at a node, fix what its findings allow, and look again
version_added: 0.1.0
description:
  - Assesses a host that this run has not assessed, as M(kubenode.netfilter.assess) does with the variables of role
    C(node_assess). Of a host that it has assessed, it judges the sections that are still missing.
  - Decides on the controller, from the findings, which options
    M(kubenode.netfilter.kernel_modules), M(kubenode.netfilter.conntrack), M(kubenode.netfilter.flush_hooks) and
    M(kubenode.netfilter.iptables_backend) get, and calls the ones that have something to do, in this order, over one
    connection.
  - Looks again once at the sections that changed, and records in each finding it worked on whether it was fixed, would
    be fixed (in check mode), or why the fix was refused or failed.
  - Sysctls of a module that it loads exist only afterwards. They are judged by that look, set in a second call, and
    looked at again; check mode does not announce them.
  - Options of the modules come from the variables of the roles, such as C(harden_conntrack_max), and from
    C(node_assess_root), C(node_assess_place) and the other variables of role C(node_assess). Wrong values are refused
    before anything connects.
  - Nothing is restarted or rebooted, except by O(up_to=disruptive), with which the playbook C(repair) works on one node
    after the other.
  - An assessed host with nothing to fix is skipped without a connection.
  - Nothing is changed on an immutable host; its findings report that.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
options:
  up_to:
    description:
      - The furthest class of change. A class includes those before it; V(none) only looks. V(guarded) also lifts lines
        of modprobe.d that block a needed module, and comments out conflicting sysctl lines. In an image, where no
        program runs, it also switches the iptables programs.
      - V(disruptive) is for the playbook C(repair). It needs a batch of one host, as with C(serial=1), and exactly one of
        the O(subjects) V(kubelet), V(kube_proxy) and V(iptables_backend).
      - Without it the variables of the roles alone decide, as in a play of your own that includes a role.
    type: str
    choices: [none, safe, guarded, disruptive]
  subjects:
    description:
      - What to work on. By default the first four; an empty list is refused.
      - V(kubelet) and V(kube_proxy) are restarted by M(kubenode.netfilter.service_restart), where a check asks for it. A
        look afterwards proves the result.
    type: list
    elements: str
    choices: [kernel_modules, conntrack, flush_hooks, iptables_backend, kubelet, kube_proxy]
  state:
    description: V(absent) puts back what these modules changed, in the opposite order, independent of findings.
    type: str
    choices: [present, absent]
    default: present
  failure:
    description:
      - What happens to a host where a change failed, where the programs could not be switched or restarted, or that was
        lost. V(fail) fails the host, and Ansible drops its findings of this task; V(warn) prints the reason, so that a
        report and a gate can follow. With O(state=absent) a failure always fails the host.
    type: str
    choices: [fail, warn]
    default: fail
  timeout:
    description: Seconds to wait for the rules after a restart, as O(kubenode.netfilter.service_restart#module:timeout).
    type: int
attributes:
  action:
    description: Runs on the controller and calls modules on the node.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    description: Can run in check mode and returns what a run would change.
    support: full
  diff_mode:
    description: Returns the differences of all modules it calls.
    support: full
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: full
seealso:
  - module: kubenode.netfilter.assess
  - module: kubenode.netfilter.gate
  - module: kubenode.netfilter.service_restart
"""

EXAMPLES = r"""
- name: Look at the node and make the safe fixes
  kubenode.netfilter.fix:
    up_to: safe

- name: Fix kernel modules alone, in an image as well as on a node
  kubenode.netfilter.fix:
    subjects: [kernel_modules]
    up_to: guarded
"""

RETURN = r"""
subjects:
  description: One row for each module that was called, in the order of the calls.
  returned: always
  type: list
  elements: dict
  contains:
    subject: {description: Name of the module., type: str, returned: always, sample: kernel_modules}
    changed: {description: Whether it changed the node or would change it., type: bool, returned: always, sample: true}
    failed: {description: Whether the module failed., type: bool, returned: always, sample: false}
    changes:
      description: What it changed, or would change in check mode. Records and backups are not listed.
      type: list
      elements: str
      returned: always
      sample: [load nf_conntrack, /etc/modules-load.d/kubenode-netfilter.conf]
    reasons: {description: Why findings stay., type: list, elements: str, returned: always, sample: []}
migration:
  description: The migration through a reboot that the node needs, with O(up_to=disruptive); null where it needs none.
  returned: always
  type: dict
  sample: null
  contains:
    backend:
      description: The backend to migrate to, V(nft) or V(legacy).
      type: str
      returned: always
      sample: nft
    before:
      description: The section C(node_iptables_backend) of M(kubenode.netfilter.node_facts) from before the reboot.
      type: dict
      returned: always
      sample: {backend: legacy}
failures:
  description: Why the host fails, or with O(failure=warn) would fail.
  returned: always
  type: list
  elements: str
  sample: []
msg:
  description: Why the host fails, or why nothing is changed.
  returned: failure, or on an immutable host
  type: str
  sample: 'ip_vs: /etc/modprobe.d/cis.conf:3 blocks it: install ip_vs /bin/true'
ansible_facts:
  description: The facts of M(kubenode.netfilter.assess) that the look after the change brought, with the outcomes in
    the findings.
  returned: where findings changed
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
