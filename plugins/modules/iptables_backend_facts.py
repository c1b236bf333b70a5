#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.iptables_backend_facts."""

DOCUMENTATION = r"""
module: iptables_backend_facts
short_description: Report which iptables backends a Kubernetes node uses, and whether they conflict
version_added: 0.1.0
description:
  - Returns the backend, version and alternatives of each of the node's own iptables programs, the rules in each
    backend, the backend that kubelet and kube-proxy really use, the iptables builds in the containers that write rules
    of the node, and a graded verdict on mixing.
  - Packets pass through the rules of both backends, but a list of one backend does not show the other.
  - Takes no lock, loads no module, creates no table, and runs only the node's own C(iptables-save) and
    C(ip6tables-save). A build in a container is read and never run.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
notes:
  - Rules are listed, and containers looked into, by root only, and in a V(live) place only.
seealso:
  - module: kubenode.netfilter.iptables_chain_audit
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Look at the backends of the node
  kubenode.netfilter.iptables_backend_facts:
  become: true

- name: Stop where two backends work against each other
  ansible.builtin.assert:
    that: ansible_facts.node_iptables_backend.mixing.verdict not in ['conflicting', 'unknown']
    fail_msg: "{{ ansible_facts.node_iptables_backend.mixing.because }}"

- name: Which backend will the programs of this image be?
  kubenode.netfilter.iptables_backend_facts:
    root: /srv/images/node
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_iptables_backend:
      description: The section C(iptables_backend) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout). C(rules) covers all saves
              together, with the worst of their results.
          type: dict
          returned: always
          sample: {binaries: ok, version: ok, legacy_tables: ok, alternatives: ok, rules: ok, containers: ok}
        backend:
          description:
            - The backend of the programs for IPv4 and IPv6, V(nft), V(legacy), V(mixed) (the programs differ), V(none)
              (there is no iptables), or null (a wrapper decides when it is first run).
          type: str
          returned: always
          sample: nft
        backend_by_family:
          description: The same for the programs of one family.
          type: dict
          returned: always
          contains:
            ipv4: {description: Of C(iptables)., type: str, returned: always, sample: nft}
            ipv6: {description: Of C(ip6tables)., type: str, returned: always, sample: nft}
        version:
          description: Version that the node's C(iptables-save) prints; null where it was not run.
          type: str
          returned: always
          sample: 1.8.9
        unread:
          description: Paths that lead to these programs and could not be read, at most five.
          type: list
          elements: dict
          returned: always
          contains:
            source: {description: 'The source that it belongs to, V(binaries).', type: str, returned: always,
                     sample: binaries}
            path: {description: File or directory., type: str, returned: always, sample: /etc/alternatives/iptables}
            reason: {description: Why and how to know., type: str, returned: always,
                     sample: "/etc/alternatives/iptables is not readable as user 'ops'; run with become"}
        unread_count: {description: How many there are in all., type: int, returned: always, sample: 0}
        binaries:
          description: Each program of C(iptables), C(ip6tables), C(arptables) and C(ebtables), and the targets of its
            links.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: Program., type: str, returned: always, sample: iptables-save}
            path: {description: Where root finds it or null., type: str, returned: always,
                   sample: /usr/sbin/iptables-save}
            target: {description: The file behind all links., type: str, returned: always,
                     sample: /usr/sbin/xtables-nft-multi}
            backend: {description: 'V(nft), V(legacy), V(wrapper), V(unknown), or null where none exists.', type: str,
                      returned: always, sample: nft}
            version: {description: The version that file holds in its bytes; null where it holds none., type: str,
                      returned: always, sample: 1.8.9}
            alternative:
              description: How update-alternatives links it; null where it does not.
              type: dict
              returned: always
              contains:
                name: {description: The group it belongs to; null where its state may not be read., type: str,
                       returned: always, sample: iptables}
                mode:
                  description: V(auto), V(manual) (set by hand, and upgrades keep the choice), or null.
                  type: str
                  returned: always
                  sample: auto
                auto:
                  description: The backend V(auto) takes, V(nft) or V(legacy), or null. Of the choices that exist it is
                    the one with the highest priority.
                  type: str
                  returned: always
                  sample: nft
                link: {description: Where the link in C(/etc/alternatives) leads., type: str, returned: always,
                       sample: /usr/sbin/iptables-nft-save}
        legacy_tables:
          description: Legacy IPv4 tables that exist in the node's network namespace; null where it is not known.
          type: list
          elements: str
          returned: always
          sample: []
        sets:
          description: The rules of each backend and family that exist, or could exist and could not be read.
          type: list
          elements: dict
          returned: always
          contains:
            backend: {description: V(nft) or V(legacy)., type: str, returned: always, sample: nft}
            family: {description: V(ipv4) or V(ipv6)., type: str, returned: always, sample: ipv4}
            readable:
              description:
                - Whether all of it was read. Where it is false (a table that is incompatible with iptables, a save that
                  failed) the numbers count what was read, or are null.
              type: bool
              returned: always
              sample: true
            rules: {description: Number of rules., type: int, returned: always, sample: 192}
            kube_rules: {description: Rules in chains of kubelet and kube-proxy., type: int, returned: always,
                         sample: 171}
            drops: {description: Rules and policies that are DROP., type: int, returned: always, sample: 3}
            hint: {description: Whether kubelet's chain KUBE-IPTABLES-HINT is there., type: bool, returned: always,
                   sample: true}
            kubelet_canary: {description: Whether KUBE-KUBELET-CANARY is there., type: bool, returned: always,
                             sample: true}
            proxy_canary: {description: Whether KUBE-PROXY-CANARY is there., type: bool, returned: always, sample: true}
        kubelet_backend:
          description: The backend that holds kubelet's hint or canary.
          type: dict
          returned: always
          contains:
            ipv4: {description: 'V(nft), V(legacy), V(both), V(none), or null.', type: str, returned: always,
                   sample: nft}
            ipv6: {description: As for IPv4., type: str, returned: always, sample: nft}
        kube_proxy_backend:
          description: The backend in which packets reach rules of kube-proxy. In nftables mode no backend is used.
          type: dict
          returned: always
          contains:
            ipv4: {description: 'V(nft), V(legacy), V(both), V(none), or null.', type: str, returned: always,
                   sample: nft}
            ipv6: {description: As for IPv4., type: str, returned: always, sample: nft}
        containers:
          description:
            - The iptables builds in containers of kube-proxy and network plugins that share the node's network, at most
              ten; differing builds come first.
          type: list
          elements: dict
          returned: always
          contains:
            container: {description: Its name or null., type: str, returned: always, sample: kube-proxy}
            pod: {description: Name of its pod or null., type: str, returned: always, sample: kube-proxy-x7k2p}
            namespace: {description: Namespace of the pod or null., type: str, returned: always, sample: kube-system}
            comm: {description: The process., type: str, returned: always, sample: kube-proxy}
            pid: {description: Its pid., type: int, returned: always, sample: 2211}
            path: {description: Where its iptables is in its own root., type: str, returned: always,
                   sample: /usr/sbin/iptables}
            backend: {description: 'V(nft), V(legacy), V(wrapper) (it chooses when it runs), or null.', type: str,
                      returned: always, sample: nft}
            version: {description: Version or null., type: str, returned: always, sample: 1.8.11}
            status:
              description: V(ok), V(absent) (it has none), V(denied), V(timeout) or V(unparsed) (no build of iptables).
              type: str
              returned: always
              sample: ok
            strips:
              description: Whether matches are lost where it and the node's own iptables, or another container's, read
                each other's rules.
              type: bool
              returned: always
              sample: false
            because: {description: Why., type: str, returned: always,
                      sample: both write and read matches in the same form}
            fault: {description: The known fault of this version for this agent; null where none is known.,
                    type: str, returned: always, sample: null}
        containers_left_out: {description: Number of builds and containers that are not listed., type: int,
                              returned: always, sample: 0}
        nft:
          description: The node's own nft, read and not run; null where no agent runs in a container.
          type: dict
          returned: always
          contains:
            path: {description: Where root finds it or null., type: str, returned: always, sample: /usr/sbin/nft}
            status: {description: 'V(ok), V(absent), V(denied), V(timeout) or V(unparsed) (no version in its bytes).',
                     type: str, returned: always, sample: ok}
            version: {description: The version in its bytes or null., type: str, returned: always, sample: 1.1.3}
            json: {description: Whether it was built with JSON; null where that is not known., type: bool,
                   returned: always, sample: true}
            built: {description: The day of its file; null where an image builder removed it., type: str,
                    returned: always, sample: '2025-05-02'}
            breaks: {description: Whether sets that the kernel holds now are known to crash it; null where it may have
                       the fix or the sets are not known., type: bool, returned: always, sample: false}
            because: {description: Why., type: str, returned: always,
                      sample: no version that it meets is known to break it}
        nft_containers:
          description: The nft in each of these containers, at most ten.
          type: list
          elements: dict
          returned: always
          contains:
            container: {description: Its name or null., type: str, returned: always, sample: kube-proxy}
            pod: {description: Name of its pod or null., type: str, returned: always, sample: kube-proxy-x7k2p}
            namespace: {description: Namespace of the pod or null., type: str, returned: always, sample: kube-system}
            comm: {description: The process., type: str, returned: always, sample: kube-proxy}
            pid: {description: Its pid., type: int, returned: always, sample: 2211}
            path: {description: Where its nft is in its own root., type: str, returned: always, sample: /usr/sbin/nft}
            status: {description: 'V(ok), V(absent) (it has none), V(denied), V(timeout) or V(unparsed).', type: str,
                     returned: always, sample: ok}
            version: {description: The version in its bytes or null., type: str, returned: always, sample: 1.0.6}
            json: {description: Whether it was built with JSON; null where that is not known., type: bool,
                   returned: always, sample: true}
            built: {description: The day of its file; null where an image builder removed it., type: str,
                    returned: always, sample: '2023-09-16'}
            uses: {description: Whether the kernel has a native table of this agent; null where that is not known.,
                   type: bool, returned: always, sample: true}
            breaks:
              description:
                - Whether it, or the node's own nft, is known to break with sets that the other one, or another agent,
                  writes; null where it may have the fix or the sets of the kernel are not known.
              type: bool
              returned: always
              sample: true
            because: {description: Why., type: str, returned: always,
                      sample: nft 1.0.6 of kube-proxy crashes (segmentation fault) where it lists sets of nft 1.1.3 of
                        the node (kubernetes issue 136786)}
        nft_containers_left_out: {description: Number of programs that are not listed., type: int, returned: always,
                                  sample: 0}
        mixing:
          description: The effect of rules in two backends.
          type: dict
          returned: always
          contains:
            verdict:
              description:
                - V(none), V(harmless) (the tables of the other backend are empty), V(suspicious) (it holds rules, but
                  none of Kubernetes that are in both), V(conflicting) (rules of Kubernetes or DROP verdicts of one
                  family in both, or kubelet and kube-proxy use different ones), or V(unknown).
              type: str
              returned: always
              sample: none
            because: {description: The evidence., type: str, returned: always, sample: all rules are in the nft backend}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.backends.iptables_backend import collect_iptables_backend
from ..module_utils._look.rules.rule_sets import rules_of


def main():
    module = AnsibleModule(argument_spec=tree.TREE_OPTIONS, supports_check_mode=True)
    call.exit_with_facts(
        module,
        lambda host, node: {"node_iptables_backend": collect_iptables_backend(host, node, rules_of(host, node))})


if __name__ == "__main__":
    main()
