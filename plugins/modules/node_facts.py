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
  - Returns every section that is asked for as C(ansible_facts.node_<section>), from one look at the node. The modules for single
    sections return exactly the same.
  - Nothing is changed, loaded or locked, and nothing out of a container is executed.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  gather_subset:
    description: Sections to collect. The default is all of them.
    type: list
    elements: str
    choices: [cni, host, iptables_backend, kernel_modules, kube_proxy, kubelet]
  modules:
    description: Kernel modules to look for, see O(kubenode.netfilter.kernel_modules_facts#module:name).
    type: list
    elements: str
  kernel:
    description: Release to judge for, see O(kubenode.netfilter.kernel_modules_facts#module:kernel).
    type: str
seealso:
  - module: kubenode.netfilter.host_facts
  - module: kubenode.netfilter.kernel_modules_facts
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
  description: Facts that are added to the host, one for each section asked for.
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
      description: Which backend the node's own iptables programs are.
      returned: when C(iptables_backend) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected: {description: Status of each source., type: dict, returned: always, sample: {binaries: ok, version: ok, legacy_tables: ok}}
        backend:
          description:
            - V(nft), V(legacy), V(mixed) (the programs differ), V(none) (there is no iptables), or null (a wrapper decides when it is first run).
          type: str
          returned: always
          sample: nft
        version: {description: Version of iptables; null where it was not asked., type: str, returned: always, sample: 1.8.9}
        binaries:
          description: Each program and where its links lead.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: Program., type: str, returned: always, sample: iptables-save}
            path: {description: Where root finds it or null., type: str, returned: always, sample: /usr/sbin/iptables-save}
            target: {description: The file behind all links., type: str, returned: always, sample: /usr/sbin/xtables-nft-multi}
            backend: {description: 'V(nft), V(legacy), V(wrapper), V(unknown), or null where there is none.', type: str, returned: always, sample: nft}
        legacy_tables:
          description: Legacy IPv4 tables that exist in the node's network namespace; null where it cannot be told.
          type: list
          elements: str
          returned: always
          sample: []
    node_kubelet:
      description: Which program is the kubelet.
      returned: when C(kubelet) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected: {description: Status of each source., type: dict, returned: always, sample: {processes: ok, version: ok}}
        running: {description: Whether one runs; null where processes may not be seen., type: bool, returned: always, sample: true}
        distribution: {description: 'V(kubelet), V(k3s), V(rke2), V(k0s), V(microk8s) or null.', type: str, returned: always, sample: kubelet}
        installed: {description: Path of the program or null., type: str, returned: always, sample: /usr/bin/kubelet}
        version: {description: Its version or null., type: str, returned: always, sample: 1.31.2}
        version_source: {description: Who said so., type: str, returned: always, sample: /usr/bin/kubelet --version}
    node_kube_proxy:
      description: Where kube-proxy runs, in which mode, and which programs it finds.
      returned: when C(kube_proxy) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected: {description: Status of each source., type: dict, returned: always, sample: {processes: ok, config: ok}}
        running: {description: Whether it runs; null where processes may not be seen., type: bool, returned: always, sample: true}
        runs_in: {description: 'V(host), V(container), V(embedded) (in another program), or null.', type: str, returned: always, sample: container}
        mode: {description: 'V(iptables), V(ipvs), V(nftables) or null.', type: str, returned: always, sample: iptables}
        mode_source: {description: What says so., type: str, returned: always, sample: mode in /var/lib/kube-proxy/config.conf}
        ipvs_scheduler: {description: Scheduler in ipvs mode., type: str, returned: always, sample: null}
        version: {description: Its version where it can be told without running it., type: str, returned: always, sample: null}
        tools:
          description: For each program V(present), V(absent) or V(unknown), in the root kube-proxy runs in.
          type: dict
          returned: always
          sample: {iptables: present, conntrack: absent}
        tools_root: {description: That root as the node sees it., type: str, returned: always, sample: /proc/2211/root}
    node_cni:
      description: The network plugin of this node.
      returned: when C(cni) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected: {description: Status of each source., type: dict, returned: always, sample: {net_d: ok}}
        file: {description: The configuration in force or null., type: str, returned: always, sample: /etc/cni/net.d/10-flannel.conflist}
        plugins: {description: Types of its plugins in order., type: list, elements: str, returned: always, sample: [flannel, portmap]}
        name:
          description:
            - V(flannel), V(calico), V(cilium), V(weave), V(aws), V(azure), V(kube-router), V(antrea), V(ovn), V(other), or null where
              there is none.
          type: str
          returned: always
          sample: flannel
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import _look
from ..module_utils._collect.node import SECTIONS, collect_from


def main():
    options = dict(
        _look.TREE_OPTIONS,
        gather_subset={"type": "list", "elements": "str", "choices": list(SECTIONS)},
        modules={"type": "list", "elements": "str"},
        kernel={"type": "str"},
    )
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    _look.exit_with_facts(module, lambda host, node: collect_from(
        host, node, module.params["gather_subset"] or SECTIONS, module.params["modules"], module.params["kernel"]))


if __name__ == "__main__":
    main()
