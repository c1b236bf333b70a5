#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.cni_facts."""

DOCUMENTATION = r"""
module: cni_facts
short_description: Report the network plugin (CNI) of a Kubernetes node, its configuration files and its programs
version_added: 0.1.0
description:
  - Reads the directories that the container runtime is configured with (C(config.toml) of containerd, also of k3s,
    RKE2, k0s and MicroK8s; C(crio.conf) and its drop-ins; the flags of cri-dockerd), and every CNI configuration file
    there as libcni reads it.
  - Returns the file that the runtime uses, files that it refuses, files that another one hides, whether each program
    of the chain is installed, and whether the agent of the network plugin runs. No program of the CNI is run.
  - Compares the leases of the IPAM plugin C(host-local) with its ranges and with the pod sandboxes of containerd,
    CRI-O or cri-dockerd.
  - A file larger than 256 KiB is not read.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.kubelet_facts
"""

EXAMPLES = r"""
- name: Look at the CNI
  kubenode.netfilter.cni_facts:
  become: true

- name: Print the files that the runtime refuses
  ansible.builtin.debug:
    msg: "{{ item.path }} {{ item.problem }}"
  loop: "{{ ansible_facts.node_cni.files | selectattr('problem') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_cni:
      description: The section C(cni) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - C(conf_dir) is the directory of CNI configurations. C(net_d) is V(unparsed) also where the plugins of the
              file in force are not known. C(runtime) is V(absent) where the runtime has no configuration file, so that
              its defaults apply. C(service_ranges) is the configuration of an API server on this node, and V(absent)
              where none runs here. C(sandboxes) is V(absent) also where it is not certain which directory the runtime
              keeps them in.
          type: dict
          returned: always
          sample:
            {conf_dir: ok, net_d: ok, processes: ok, routes: ok, runtime: ok, sandboxes: ok, service_ranges: ok}
        file:
          description: The configuration that the runtime uses. Where it uses none, the first one; null where none is
            there.
          type: str
          returned: always
          sample: /etc/cni/net.d/10-flannel.conflist
        plugins: {description: Types of its plugins in order., type: list, elements: str, returned: always,
                  sample: [flannel, portmap]}
        name:
          description:
            - V(flannel), V(calico), V(cilium), V(weave), V(aws), V(azure), V(kube-router), V(antrea), V(ovn), V(other),
              or null where no CNI is found.
          type: str
          returned: always
          sample: flannel
        runtime:
          description: Settings of the container runtime for CNI; null without a CNI configuration.
          type: dict
          returned: always
          contains:
            name: {description: 'V(containerd), V(cri-o), V(cri-dockerd), or null where several run.', type: str,
                   returned: always, sample: containerd}
            source: {description: Its configuration file; null where the defaults apply., type: str, returned: always,
                     sample: /etc/containerd/config.toml}
            conf_dir: {description: Directory of CNI configurations., type: str, returned: always,
                       sample: /etc/cni/net.d}
            bin_dirs: {description: Directories of CNI plugins., type: list, elements: str, returned: always,
                       sample: [/opt/cni/bin]}
        files:
          description: The files that libcni takes for CNI configurations, by name, at most twelve.
          type: list
          elements: dict
          returned: always
          contains:
            path: {description: Its path., type: str, returned: always, sample: /etc/cni/net.d/10-flannel.conflist}
            status: {description: 'V(ok), V(absent), V(denied) or V(unparsed).', type: str, returned: always,
                     sample: ok}
            used: {description: Whether the runtime uses it., type: bool, returned: always, sample: true}
            problem: {description: Reason why a runtime refuses it., type: str, returned: always, sample: null}
            network: {description: Name of its network., type: str, returned: always, sample: cbr0}
            plugins: {description: Types of its plugins in order., type: list, elements: str, returned: always,
                      sample: [flannel, portmap]}
            hidden_by: {description: The file in use that takes its place., type: str, returned: always, sample: null}
        files_left_out: {description: How many more files there are., type: int,
                         returned: always, sample: 0}
        attached:
          description: Running pods that have a network of a plugin, on a live node without a file in C(files); null
            elsewhere, and where it is not known which pods run.
          type: int
          returned: always
          sample: null
        programs:
          description: Programs that the file in use needs, at most sixteen. An image is not asked for plugins that the
            pod of an agent installs.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: Type of the plugin., type: str, returned: always, sample: flannel}
            path: {description: Where it was found., type: str, returned: always, sample: /opt/cni/bin/flannel}
            state:
              description: V(present), V(missing), V(not_executable), V(empty) or V(unknown).
              type: str
              returned: always
              sample: present
            reason: {description: The evidence., type: str, returned: always, sample: /opt/cni/bin/flannel}
        agent:
          description: The agent of the network plugin; null outside of a live node, and for a network without an agent
            that is known here.
          type: dict
          returned: always
          contains:
            name: {description: Name of its process., type: str, returned: always, sample: flanneld}
            running: {description: Whether it runs; null where processes may not be seen., type: bool, returned: always,
                      sample: true}
            pid: {description: Its process., type: int, returned: always, sample: 2310}
            process: {description: Its process and pod., type: str, returned: always,
                      sample: flanneld in pod kube-flannel/kube-flannel-ds-x7k2p}
            started_seconds_ago: {description: For how long it runs., type: float, returned: always, sample: 86340.5}
            restarts: {description: 'Restarts of its container, by the number of its log file.', type: int,
                       returned: always, sample: 0}
            previous_started_seconds_ago:
              description: Age of the first line in the log of the container before it; null without one, or where that
                log was rotated.
              type: float
              returned: always
              sample: null
            oom_kills: {description: OOM kills in its pod or unit., type: int, returned: always, sample: 0}
            oom_killed_recently: {description: Whether one of them was within a day; null where that is not known.,
                                  type: bool, returned: always, sample: false}
            memory_limit_bytes: {description: Limit of its memory; null for none., type: int, returned: always,
                                 sample: null}
            outage:
              description:
                - As RV(kubenode.netfilter.kube_proxy_facts#module:ansible_facts.node_kube_proxy.outage), of the agent's
                  container; null where the agent runs well.
              returned: always
              type: dict
              contains:
                state:
                  {description: 'V(missing), V(short), V(restarting) or V(unknown).', type: str, returned: always,
                   sample: missing}
                seconds:
                  {description: For how long at least it does not run; null where that is not known., type: float,
                   returned: always, sample: 310.5}
                because:
                  {description: The evidence for it., type: str, returned: always,
                   sample: 'its last container in pod kube-system/calico-node-hx7cw: ended 310 s ago'}
                container:
                  description: Its last container that ended; null where no log of it is on the node.
                  returned: always
                  type: dict
                  contains:
                    id: {description: First digits of its ID., type: str, returned: always, sample: 5eed917563583}
                    name: {description: Its name in the pod., type: str, returned: always, sample: calico-node}
                    pod: {description: Name of the pod., type: str, returned: always, sample: calico-node-hx7cw}
                    namespace: {description: Namespace of the pod., type: str, returned: always, sample: kube-system}
                    restarts: {description: Restarts in that pod., type: int, returned: always, sample: 12}
                    exit_code: {description: Its exit code., type: int, returned: always, sample: 1}
                    reason: {description: Why it ended., type: str, returned: always, sample: Error}
                    message: {description: What the runtime reports of it., type: str, returned: always, sample: null}
                    started_seconds_ago: {description: When it started., type: float, returned: always, sample: 311.2}
                    ended_seconds_ago: {description: When it ended., type: float, returned: always, sample: 310.5}
                    previous_started_seconds_ago:
                      {description: When the container before the newest one started., type: float, returned: always,
                       sample: 480.1}
                    log:
                      {description: Its last lines without secrets., type: list, elements: str, returned: always,
                       sample: [Failed to connect to the datastore]}
            contact: {description: File or socket by which the plugin finds the agent., type: str, returned: always,
                      sample: /run/flannel/subnet.env}
            contact_state:
              description: V(present) (a socket listens), V(missing), V(starting) (the agent runs for less than two
                minutes), V(unknown), or null without such a file or socket.
              type: str
              returned: always
              sample: present
            backend:
              description: V(auto), V(legacy) or V(nft) as it is configured, V(unknown) where that could not be read, or
                null where it is not set.
              type: str
              returned: always
              sample: null
            backend_source:
              description: The setting. C(FELIX_IPTABLESBACKEND) of Calico, C(IPTABLES_MODE) of any agent, or
                C(EnableNFTables) in C(net-conf.json) of flannel, with which it is V(nft).
              type: str
              returned: always
              sample: null
        host_local:
          description: Range sets of the IPAM plugin C(host-local), at most eight. A pod gets an address of each range
            set of its network. Empty outside of a live node.
          type: list
          elements: dict
          returned: always
          contains:
            network: {description: Name of the network., type: str, returned: always, sample: cbr0}
            file: {description: CNI configuration of the network., type: str, returned: always,
                   sample: /etc/cni/net.d/10-flannel.conflist}
            used: {description: Whether the runtime or Multus uses this file., type: bool, returned: always,
                   sample: true}
            directory: {description: Directory of the leases., type: str, returned: always,
                        sample: /var/lib/cni/networks/cbr0}
            status: {description: 'V(ok), V(absent) (no lease yet), V(denied) or V(unparsed).', type: str,
                     returned: always, sample: ok}
            family: {description: 'V(ipv4), V(ipv6), or null where the range is not known.', type: str,
                     returned: always, sample: ipv4}
            ranges: {description: 'First and last address of each range, at most four.', type: list, elements: str,
                     returned: always, sample: [10.244.1.1-10.244.1.254]}
            addresses: {description: "Number of addresses for pods, at most 2^64 - 1; not the gateway.", type: int,
                        returned: always, sample: 253}
            leased: {description: Number of leases in these ranges; null where they could not be read., type: int,
                     returned: always, sample: 31}
            free: {description: Number of free addresses., type: int, returned: always, sample: 222}
            leased_percent: {description: Leases in percent of the addresses., type: float, returned: always,
                             sample: 12.3}
            leaked: {description: Number of leases older than ten minutes whose sandbox does not exist; null where the
                       sandboxes could not be read., type: int, returned: always, sample: 0}
            leaked_percent: {description: The same in percent of the addresses., type: float, returned: always,
                             sample: 0.0}
            leaked_examples: {description: 'Addresses of such leases, at most five.', type: list, elements: str,
                              returned: always, sample: []}
            unchecked:
              description: Number of leases that were not compared with the sandboxes because there are more than 4096
                or they could not be read.
              type: int
              returned: always
              sample: 0
            reason: {description: Reason of a null value., type: str, returned: always, sample: null}
        mtu:
          description: MTU of pods and of the uplink; null outside of a live node, without a pod or a setting of the
            MTU, and for plugins other than bridge, C(ptp), C(flannel), Calico, C(aws-cni), Antrea,
            OVN-Kubernetes and the fast datapath of Weave.
          type: dict
          returned: always
          contains:
            pods_mtu: {description: The largest MTU of a pod on this node or of new pods., type: int,
                       returned: always, sample: 1450}
            pods_source: {description: The device or the file that has this MTU., type: str, returned: always,
                          sample: veth1a2b3c4d}
            uplink: {description: First device of a default route., type: str, returned: always, sample: eth0}
            uplink_mtu: {description: Its MTU., type: int, returned: always, sample: 1500}
            tunnel: {description: Tunnel device to pods of other nodes; null without one., type: str,
                     returned: always, sample: flannel.1}
            tunnel_mtu: {description: Its MTU., type: int, returned: always, sample: 1450}
            encapsulation: {description: 'V(vxlan), V(geneve), V(ipip), V(wireguard) or null.', type: str,
                            returned: always, sample: vxlan}
            overhead_bytes: {description: Bytes that the encapsulation adds at least., type: int, returned: always,
                             sample: 50}
            carried_bytes: {description: The largest packet of a pod that the uplink carries in one piece., type: int,
                            returned: always, sample: 1450}
            too_large: {description: Whether the MTU of pods is larger; null where it is not certain., type: bool,
                        returned: always, sample: false}
            reason: {description: Reason why it is not certain., type: str, returned: always, sample: null}
        node_networks:
          description:
            - Directly connected networks of the interfaces that default routes use, at most eight. Only a live node has
              any, and bridges and tunnels of pods are not among them.
          type: list
          elements: dict
          returned: always
          contains:
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            network: {description: The network., type: str, returned: always, sample: 192.0.2.0/24}
            interface: {description: The interface., type: str, returned: always, sample: eth0}
        service_ranges:
          description: Service ranges of an API server on this node; empty where none runs here or they are not known.
          type: list
          elements: str
          returned: always
          sample: [10.96.0.0/12]
        service_ranges_source:
          description: Source of this value, or null.
          type: str
          returned: always
          sample: --service-cluster-ip-range of kube-apiserver
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.kube.cni import collect_cni


def main():
    module = AnsibleModule(argument_spec=tree.TREE_OPTIONS, supports_check_mode=True)
    call.exit_with_facts(module, lambda host, node: {"node_cni": collect_cni(host, node)})


if __name__ == "__main__":
    main()
