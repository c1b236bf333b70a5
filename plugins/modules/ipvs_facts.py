#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.ipvs_facts."""

DOCUMENTATION = r"""
module: ipvs_facts
short_description: Report the IPVS objects of a Kubernetes node, and leftovers of an ipvs mode
version_added: 0.1.0
description:
  - Counts virtual and real servers, names services without a real server, compares the schedulers with kube-proxy's
    configuration, checks that the node has the addresses of the services as local ones, and reports the use of
    kube-proxy's ipsets.
  - If kube-proxy runs in another mode, it reports leftover objects of ipvs mode.
  - It reads C(/proc/net/ip_vs) and its neighbours, and lists the virtual servers over netlink. C(ipvsadm) is not run,
    since it loads C(ip_vs); C(ipset) is run only where C(ip_set) is in the kernel already.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
notes:
  - If several network namespaces of a node have virtual servers (Docker Swarm beside Kubernetes), the kernel leaves
    some of them out of C(/proc/net/ip_vs) as soon as the list is longer than a page of memory (seen with 6.12). As
    root, the module reads those over netlink. Without root, and in the tree of another root, a longer list counts as
    incomplete, and no virtual server is reported as missing.
seealso:
  - module: kubenode.netfilter.iptables_backend_facts
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Look at IPVS
  kubenode.netfilter.ipvs_facts:
  become: true

- name: Which Services have no endpoint?
  ansible.builtin.debug:
    var: ansible_facts.node_ipvs.without_real_servers
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_ipvs:
      description: The section C(ipvs) of the evidence. Outside of a live place all numbers are null.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description: For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
          type: dict
          returned: always
          sample: {ip_vs: ok, addresses: ok, ipsets: ok}
        in_kernel:
          description: Whether the running kernel has IPVS loaded or built in; null where it is not known.
          type: bool
          returned: always
          sample: true
        virtual_servers: {description: Number of virtual servers., type: int, returned: always, sample: 42}
        real_servers: {description: Number of real servers of all virtual ones together., type: int, returned: always,
                       sample: 117}
        without_real_servers:
          description: Virtual servers that have no real server, or only real servers of weight 0 (which get no new
            connection); the first five.
          type: list
          elements: dict
          returned: always
          contains:
            family: {description: 'V(ipv4), V(ipv6), or null for one with a firewall mark.', type: str,
                     returned: always, sample: ipv4}
            address: {description: Address or null., type: str, returned: always, sample: 10.96.12.7}
            port: {description: Port or null., type: int, returned: always, sample: 80}
            protocol: {description: 'V(tcp), V(udp), V(sctp) or null.', type: str, returned: always, sample: tcp}
            mark: {description: The firewall mark or null., type: int, returned: always, sample: null}
        without_real_servers_count: {description: How many there are., type: int, returned: always, sample: 1}
        without_real_servers_percent: {description: Their share of all virtual servers., type: int, returned: always,
                                       sample: 2}
        schedulers:
          description: Schedulers in use, the most frequent first, at most ten.
          type: list
          elements: dict
          returned: always
          contains:
            scheduler: {description: Its name., type: str, returned: always, sample: rr}
            services: {description: Virtual servers that use it., type: int, returned: always, sample: 42}
            differs:
              description: Whether kube-proxy is configured to use another one; null where that is not known.
              type: bool
              returned: always
              sample: false
        configured_scheduler:
          description: The scheduler of a kube-proxy in ipvs mode; null in other modes, and where kube-proxy runs inside
            another program.
          type: str
          returned: always
          sample: rr
        dummy_interface:
          description: The interface C(kube-ipvs0), which carries the addresses of Services.
          type: dict
          returned: always
          contains:
            present: {description: Whether it is there., type: bool, returned: always, sample: true}
            addresses: {description: Addresses on it; null where the program C(ip) is missing., type: int,
                        returned: always, sample: 38}
            missing_addresses:
              description: Addresses of virtual servers that are on no interface of this node, so that packets for them
                are not delivered to IPVS.
              type: int
              returned: always
              sample: 0
            missing_examples:
              description: At most five of them.
              type: list
              elements: str
              returned: always
              sample: []
        ipsets:
          description: Sets of kube-proxy by name. Empty where the node has no program C(ipset) of its own.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: Name., type: str, returned: always, sample: KUBE-CLUSTER-IP}
            entries: {description: Entries; null where C(ipset) does not print the number., type: int, returned: always,
                      sample: 84}
            size_limit: {description: Maximum number of entries., type: int, returned: always, sample: 65536}
        service_sets:
          description: The virtual servers compared with kube-proxy's ipsets of ClusterIPs, external IPs and load
            balancers; null where kube-proxy does not run in ipvs mode. A difference is read a second time.
          type: dict
          returned: always
          contains:
            entries: {description: Entries of these ipsets; null where nothing was compared., type: int,
                      returned: always, sample: 84}
            missing_servers:
              description: Entries without a virtual server; without C(ipset), addresses of C(kube-ipvs0) without one.
              type: int
              returned: always
              sample: 0
            missing_entries:
              description: Virtual servers with an address of C(kube-ipvs0) and without an entry; null without C(ipset).
              type: int
              returned: always
              sample: 0
            examples: {description: The first five of both., type: list, elements: str, returned: always,
                       sample: [10.96.0.3 80 tcp]}
            because: {description: Why not all was compared; otherwise empty., type: str, returned: always, sample: ''}
        leftover:
          description: Whether objects of the ipvs mode are there although kube-proxy runs in another; null where it is
            not known.
          type: bool
          returned: always
          sample: false
        leftover_because: {description: The evidence., type: str, returned: always,
                           sample: kube-proxy runs in ipvs mode}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.ipvs.ipvs import collect_ipvs
from ..module_utils._look.kube.kube_proxy import collect_kube_proxy


def main():
    module = AnsibleModule(argument_spec=tree.TREE_OPTIONS, supports_check_mode=True)
    call.exit_with_facts(module,
                         lambda host, node: {"node_ipvs": collect_ipvs(host, node, collect_kube_proxy(host, node))})


if __name__ == "__main__":
    main()
