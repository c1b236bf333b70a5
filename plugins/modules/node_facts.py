#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.node_facts."""

DOCUMENTATION = r"""
module: node_facts
short_description: Collect all evidence about a Kubernetes node's netfilter in one call
version_added: 0.1.0
description:
  - Returns every requested section as C(ansible_facts.node_<section>), from one look at the node. The modules for
    single sections return exactly the same.
  - Nothing is changed, loaded or locked, and no program of a container is run.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  gather_subset:
    description: Sections to collect. The default is all but V(logs).
    type: list
    elements: str
    choices: [cni, conntrack, flush_hooks, host, iptables_backend, iptables_chains, ipvs, kernel_modules, kube_proxy,
              kubelet, logs, xtables_lock]
  modules:
    description: Kernel modules to look for, see O(kubenode.netfilter.kernel_modules_facts#module:name).
    type: list
    elements: str
  kernel:
    description: Release to judge, see O(kubenode.netfilter.kernel_modules_facts#module:kernel).
    type: str
  hook_directories:
    description: Directories to search for scripts that are run by hand, see
      O(kubenode.netfilter.flush_hooks_facts#module:hook_directories).
    type: list
    elements: str
seealso:
  - module: kubenode.netfilter.host_facts
  - module: kubenode.netfilter.kernel_modules_facts
  - module: kubenode.netfilter.iptables_chain_audit
  - module: kubenode.netfilter.iptables_backend_facts
  - module: kubenode.netfilter.xtables_lock_facts
  - module: kubenode.netfilter.ipvs_facts
  - module: kubenode.netfilter.flush_hooks_facts
  - module: kubenode.netfilter.kubelet_facts
  - module: kubenode.netfilter.kube_proxy_facts
  - module: kubenode.netfilter.cni_facts
  - module: kubenode.netfilter.conntrack_facts
  - module: kubenode.netfilter.log_facts
  - module: kubenode.netfilter.assess
"""

EXAMPLES = r"""
- name: Look at everything
  kubenode.netfilter.node_facts:

- name: Look at an image tree, for its own kernels
  kubenode.netfilter.node_facts:
    root: /srv/images/node
    gather_subset: [host, kernel_modules]
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host, one for each requested section.
  returned: success
  type: dict
  contains:
    node_host:
      description: See RV(kubenode.netfilter.host_facts#module:ansible_facts.node_host).
      returned: when C(host) is asked for
      type: dict
      sample: {schema: 1, place: live}
    node_kernel_modules:
      description: See RV(kubenode.netfilter.kernel_modules_facts#module:ansible_facts.node_kernel_modules).
      returned: when C(kernel_modules) is asked for
      type: dict
      sample: {schema: 1, running_release: 6.1.0-49-cloud-amd64}
    node_iptables_backend:
      description: See RV(kubenode.netfilter.iptables_backend_facts#module:ansible_facts.node_iptables_backend).
      returned: when C(iptables_backend) is asked for
      type: dict
      sample: {schema: 1, backend: nft}
    node_iptables_chains:
      description: See RV(kubenode.netfilter.iptables_chain_audit#module:ansible_facts.node_iptables_chains).
      returned: when C(iptables_chains) is asked for
      type: dict
      sample: {schema: 1, mode: iptables, rules: 384, observations: []}
    node_xtables_lock:
      description: See RV(kubenode.netfilter.xtables_lock_facts#module:ansible_facts.node_xtables_lock).
      returned: when C(xtables_lock) is asked for
      type: dict
      sample: {schema: 1, matters: false, holder: null}
    node_flush_hooks:
      description: See RV(kubenode.netfilter.flush_hooks_facts#module:ansible_facts.node_flush_hooks).
      returned: when C(flush_hooks) is asked for
      type: dict
      sample: {schema: 1, hook_count: 0, hooks: []}
    node_conntrack:
      description: See RV(kubenode.netfilter.conntrack_facts#module:ansible_facts.node_conntrack).
      returned: when C(conntrack) is asked for
      type: dict
      sample: {schema: 1, max: 131072, count: 20480, used_percent: 15.6}
    node_ipvs:
      description: See RV(kubenode.netfilter.ipvs_facts#module:ansible_facts.node_ipvs).
      returned: when C(ipvs) is asked for
      type: dict
      sample: {schema: 1, virtual_servers: 0}
    node_kubelet:
      description: See RV(kubenode.netfilter.kubelet_facts#module:ansible_facts.node_kubelet).
      returned: when C(kubelet) is asked for
      type: dict
      sample: {schema: 1, running: true, distribution: kubelet, version: 1.31.2}
    node_kube_proxy:
      description: See RV(kubenode.netfilter.kube_proxy_facts#module:ansible_facts.node_kube_proxy).
      returned: when C(kube_proxy) is asked for
      type: dict
      sample: {schema: 1, running: true, mode: iptables}
    node_cni:
      description: See RV(kubenode.netfilter.cni_facts#module:ansible_facts.node_cni).
      returned: when C(cni) is asked for
      type: dict
      sample: {schema: 1, name: flannel, plugins: [flannel, portmap]}
    node_logs:
      description: What kube-proxy, kubelet, network plugins, the container runtime and the kernel wrote in the last 15
        minutes, as far as it may have a cause, see M(kubenode.netfilter.log_facts).
      returned: when C(logs) is asked for
      type: dict
      contains:
        schema: {description: Version of this form., type: int, returned: always, sample: 1}
        collected:
          description: What could be read. C(journal) is that of systemd, C(files) are logs of pods in namespaces of
            the system, and logs of the system where there is no journal.
          type: dict
          returned: always
          sample: {journal: ok, files: ok}
        now: {description: The time of the node in UTC., type: str, returned: always, sample: '2026-11-22T10:00:00Z'}
        utc_offset_seconds: {description: How far the zone of the node is ahead of UTC., type: int, returned: always,
                             sample: 3600}
        kube_proxy_ports:
          description: Ports that a line calls in use, and on which kube-proxy itself listens, as in dual stack;
            null where unknown.
          type: list
          elements: int
          returned: always
          sample: []
        ends:
          description: The time of the last line of each log of a support bundle, as the line has it; null on a node.
          type: list
          elements: dict
          returned: always
          contains:
            source: {description: Path in the bundle., type: str, returned: always, sample: /kube-proxy.log}
            time: {description: The time., type: str, returned: always, sample: '11-22T10:00:00.000001'}
        read:
          description: The logs that were looked at, at most 40; those older than 15 minutes are not opened.
          type: list
          elements: str
          returned: always
          sample: [journal]
        cut: {description: Whether lines were left out., type: bool, returned: always, sample: false}
        lines:
          description: At most 40 lines and 8 KB, of a support bundle 200 lines and 32 KB; those of the newest log
            first, and of a log the newest first.
          type: list
          elements: dict
          returned: always
          contains:
            source: {description: 'File, V(journal), or V(journal:kube-proxy) for an agent in a container of Docker.',
                     type: str, returned: always, sample: journal}
            text: {description: 'The line, or a message of several lines. Secrets are masked.', type: str,
                   returned: always,
                   sample: '2026-11-22T10:00:00+0000 a kernel: nf_conntrack: table full, dropping packet'}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.node import SECTIONS, UNASKED, collect_from


def main():
    options = dict(
        tree.TREE_OPTIONS,
        gather_subset={"type": "list", "elements": "str", "choices": list(SECTIONS)},
        modules={"type": "list", "elements": "str"},
        kernel={"type": "str"},
        hook_directories={"type": "list", "elements": "str"},
    )
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    call.exit_with_facts(module, lambda host, node: collect_from(
        host, node, module.params["gather_subset"] or UNASKED, module.params["modules"], module.params["kernel"],
        module.params["hook_directories"]))


if __name__ == "__main__":
    main()
