#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.iptables_chain_audit."""

DOCUMENTATION = r"""
module: iptables_chain_audit
short_description: Report faults in the netfilter rules of a Kubernetes node
version_added: 0.1.0
description:
  - Reads the whole rule set once, both families and both iptables backends, and kube-proxy's nftables tables, and
    returns missing, damaged, repeated, left over and obstructing rules, each with its chain.
  - This is a facts module, although its name ends in C(_audit). It returns the section C(iptables_chains) below
    C(ansible_facts), as M(kubenode.netfilter.node_facts) does, and changes nothing.
  - It leaves no trace. No xtables lock is taken, so it neither waits for a writer nor makes one wait; no module is
    loaded and no table is created. The C(nft) variant of C(iptables-save) is run where nf_tables is in memory, the
    C(legacy) one where legacy tables exist.
  - With O(src) it judges dumps instead, for example those of a support bundle.
  - Unread rules are named in RV(ansible_facts.node_iptables_chains.unread) and never count as empty.
  - The section stays small on every node. It has counts, digests and a few examples of each kind, never the rules.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  src:
    description:
      - Files with rules to judge instead of those of the node, plain or packed with gzip. What C(iptables-save),
        C(iptables -S), C(iptables -L -n), C(nft list ruleset) and C(nft -j list ruleset) print is read, of both
        families and backends, several one after the other in one file, with other text between them, and pieces of
        them. C(-v) belongs to C(iptables -L), which prints no interfaces without.
      - What breaks off is judged by what was read of it; what it lacks
        is in RV(ansible_facts.node_iptables_chains.unread).
      - A file without any rule is refused.
      - Paths are those of the tree that O(root) names.
    type: list
    elements: path
  proxy_mode:
    description:
      - Mode of kube-proxy to judge.
      - The default is that of the kube-proxy that runs here; without one, or with O(src), it is derived from the rules.
    type: str
    choices: [iptables, ipvs, nftables]
  kubernetes_version:
    description:
      - Version to judge, for example V(1.30). The required rules differ between versions.
      - The default is that of the kube-proxy or kubelet that runs here. If it is not known, only the requirements of
        all versions are judged.
    type: str
  window_seconds:
    description:
      - Seconds, at most V(300), between two readings of the packet counters, which show whether they change. V(0) reads
        none.
    type: int
    default: 0
  deep:
    description:
      - Read the whole tables of kube-proxy's nftables mode on a very big node too, and not only their chains, maps and
        main rules. That takes memory and time.
      - Tables of up to 40000 chains in both families together, of which 7000 in each balance, are always read as a
        whole, as of 5000 Services with two endpoints. Of a larger one, the rules inside the chains of Services are not
        judged, and V(unjudged_table) reports it.
    type: bool
    default: false
  max_offenders:
    description: Examples that are returned of each kind of observation, from V(1) to V(50).
    type: int
    default: 5
  max_services:
    description: Services that are returned, from V(0) to V(500).
    type: int
    default: 20
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.xtables_lock_facts
"""

EXAMPLES = r"""
- name: Audit the rules of the node
  kubenode.netfilter.iptables_chain_audit:

- name: Does traffic reach the rules?
  kubenode.netfilter.iptables_chain_audit:
    window_seconds: 10

- name: Judge the dumps of a support bundle on the controller
  kubenode.netfilter.iptables_chain_audit:
    src:
      - /srv/bundles/worker-7/iptables-save.txt.gz
      - /srv/bundles/worker-7/ip6tables-save.txt.gz
    kubernetes_version: "1.30"
  delegate_to: localhost

- name: Stop where a jump to the chains of the Services is missing, or where this is unknown
  ansible.builtin.assert:
    that:
      - not ansible_facts.node_iptables_chains.unread
      - "'anchor_missing' not in ansible_facts.node_iptables_chains.observed"

- name: Compare what the nodes of a cluster route to; a node of which that is unknown is not like the others
  ansible.builtin.assert:
    that:
      - digests | unique | length == 1
      - none not in digests
  vars:
    digests: "{{ ansible_play_hosts | map('extract', hostvars, ['ansible_facts', 'node_iptables_chains', 'digest',
      'services']) }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_iptables_chains:
      description: The section C(iptables_chains) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent) (there is nothing to read), V(denied), V(unparsed) or V(timeout).
            - The sources are V(nft_ipv4), V(nft_ipv6), V(legacy_ipv4), V(legacy_ipv6) and V(nftables) (kube-proxy's own
              tables), or the names of the files of O(src).
          type: dict
          returned: always
          sample: {nft_ipv4: ok, nft_ipv6: ok, legacy_ipv4: absent, legacy_ipv6: absent, nftables: absent}
        uncovered:
          description: Of dumps, what none of them shows although checks rest on it.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: 'The table, family or backend.', type: str, returned: always, sample: table filter}
            table:
              description:
                - The table of iptables, V(backend) for the rules of the other backend, V(family) for a table of
                  kube-proxy's nftables mode, or V(forward) for table filter beside that mode.
              type: str
              returned: always
              sample: filter
            evidence: {description: Why., type: str, returned: always, sample: no dump shows it}
        unread:
          description: Sources and tables that could not be read, or not as a whole.
          type: list
          elements: dict
          returned: always
          contains:
            source: {description: The source., type: str, returned: always, sample: nft_ipv4}
            table: {description: 'The table; null stands for all of them, and empty is one whose name is lost.',
                    type: str, returned: always, sample: filter}
            evidence:
              description: Why.
              type: str
              returned: always
              sample: iptables-save did not end within 60 seconds
        source:
          description: V(live), V(files), or null where nothing runs and no file was given.
          type: str
          returned: always
          sample: live
        read_at: {description: When the rules were read., type: str, returned: always, sample: '2026-11-21T10:00:00Z'}
        mode: {description: 'Judged mode of kube-proxy, or null.', type: str, returned: always, sample: iptables}
        mode_source: {description: Source of this value., type: str, returned: always,
                      sample: mode in /var/lib/kube-proxy/config.conf}
        kubernetes: {description: 'Judged version of Kubernetes, or null.', type: str, returned: always, sample: '1.30'}
        kubernetes_source: {description: Source of this value., type: str, returned: always,
                            sample: /usr/bin/kubelet --version}
        starting:
          description:
            - Why missing jumps and chains of kube-proxy are not reported (C(anchor_missing), C(canary_missing)),
              because it has just started, or because all its syncs have failed since its start.
            - Null where neither is so, or nothing of that is missing.
          type: str
          returned: always
          sample: null
        expected:
          description:
            - Rules that must be there because of the pods and agents that run on the node, at most twelve rows. For a
              pod the evidence is what libcni keeps of its network below C(/var/lib/cni), its lease and its running
              sandbox, for an agent its process and its settings.
            - Empty where dumps are judged.
          type: list
          elements: dict
          returned: always
          contains:
            kind: {description: 'V(pod_masquerade), V(pod_host_ports) or V(agent).', type: str, returned: always,
                   sample: pod_masquerade}
            owner: {description: The plugin or agent that wrote the rules; V(unknown) or V(an agent) where that could
              not be read., type: str, returned: always, sample: bridge}
            network: {description: Name of the network of pods; null for an agent., type: str, returned: always,
                      sample: pods}
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            table: {description: Table., type: str, returned: always, sample: nat}
            chain: {description: The first chain that is missing; null where none is., type: str, returned: always,
                    sample: null}
            expected: {description: Number of pods or chains that are expected., type: int, returned: always,
                       sample: 31}
            missing: {description: How many of them have no rules., type: int, returned: always, sample: 0}
            unknown: {description: Of how many this is not known., type: int, returned: always, sample: 0}
            pods: {description: 'Pods without their rules, at most five.', type: list, elements: str,
                   returned: always, sample: []}
            process: {description: The agent and its pod; null for pods., type: str, returned: always, sample: null}
            restart: {description: Command that lets the agent write its rules again; null for pods., type: str,
                      returned: always, sample: null}
            reason: {description: Reason why something is not known., type: str, returned: always, sample: null}
        rule_sets:
          description: Every set of rules that was read.
          type: list
          elements: dict
          returned: always
          contains:
            family: {description: 'V(ipv4), V(ipv6), or null where a dump does not show it.', type: str,
                     returned: always, sample: ipv4}
            backend: {description: 'V(nft), V(legacy), or null where a dump does not show it.', type: str,
                      returned: always, sample: nft}
            source: {description: V(live) or the file., type: str, returned: always, sample: live}
            version: {description: Version of the iptables that printed it or null., type: str, returned: always,
                      sample: 1.8.9}
            tables: {description: Its tables., type: list, elements: str, returned: always,
                     sample: [filter, mangle, nat]}
            rules: {description: Number of rules., type: int, returned: always, sample: 1123}
            chains: {description: Number of chains., type: int, returned: always, sample: 417}
            kube_rules: {description: Rules in KUBE-* chains., type: int, returned: always, sample: 1101}
            kube_rules_by_table: {description: The same for each table., type: dict, returned: always,
                                  sample: {filter: 8, nat: 1093}}
            policies: {description: Policies of the built-in chains., type: dict, returned: always,
                       sample: {filter/FORWARD: ACCEPT}}
            unreadable: {description: Tables that nft can list and iptables cannot., type: list, elements: str,
                         returned: always, sample: []}
        notices:
          description: Oddities of the text itself, at most 20. They do not concern the node.
          type: list
          elements: dict
          returned: always
          contains:
            source: {description: The source., type: str, returned: always, sample: iptables-save.txt}
            kind: {description: The kind as a word., type: str, returned: always, sample: unreadable_line}
            count: {description: Number of occurrences., type: int, returned: always, sample: 2}
            line: {description: Line of the first one or null., type: int, returned: always, sample: 118}
            text: {description: 'The first one, at most 200 characters.', type: str, returned: always,
                   sample: -A KUBE-SVC-4N57TF}
        observations:
          description:
            - The faults, at most O(max_offenders) of each kind, the most significant first.
            - Texts come from anyone who may write rules or name a Service. Do not trust them.
          type: list
          elements: dict
          returned: always
          contains:
            kind:
              description:
                - V(anchor_missing), V(anchor_shadowed), V(canary_missing), V(hint_missing), V(lost_match),
                  V(dangling_jump), V(orphan_chain), V(empty_service_chain), V(unsound_endpoint), V(wrong_probability),
                  V(chain_loop), V(duplicate_rule), V(other_mode), V(other_cni), V(other_backend), V(unexpected_drop),
                  V(forward_drop), V(hostport_capture), V(hostport_stale), V(half_repaired), V(emptied_chain),
                  V(mark_mismatch),
                  V(chains_missing), V(idle_leftover), V(mark_cleared), V(untracked), V(foreign_jump),
                  V(masquerade_missing), V(unrepaired) (kube-proxy does not notice that its rules were deleted),
                  V(unsettled_chain) (above 1000 endpoints a deleted Service that kube-proxy has
                  not cleared yet, or one that lost its rules), V(without_endpoints) (in a dump, Services
                  that kube-proxy refuses), V(other_rule) (a rule of an unknown program that decides on forwarded
                  packets, and is not judged), V(dropped_by_policy) (packets that the policy of FORWARD
                  dropped, in a dump of only a part of table filter) or V(unjudged_table) (a native nft table
                  or one of kube-proxy, of which C(detail) names the unjudged part).
              type: str
              returned: always
              sample: lost_match
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            backend:
              description: V(nft), V(legacy), or V(nft and legacy) where kube-proxy has rules in both and it is not
                known which it uses.
              type: str
              returned: always
              sample: nft
            table: {description: Table., type: str, returned: always, sample: filter}
            chain: {description: Chain., type: str, returned: always, sample: KUBE-FIREWALL}
            text: {description: 'The rule, at most 200 characters, or empty.', type: str, returned: always,
                   sample: -A KUBE-FIREWALL -j DROP}
            count: {description: Number of rules or chains that this row stands for., type: int, returned: always,
                    sample: 1}
            detail: {description: Its fault., type: str, returned: always, sample: the rule has lost its match}
            repair:
              description: The command that deletes the rule, sets the policy, or makes kube-proxy write all its rules,
                for a person to paste; or how to delete the rule by its number. Null where no single command repairs
                it.
              type: str
              returned: always
              sample: iptables-nft -w 5 -t filter -D KUBE-FIREWALL -j DROP
        observed: {description: Number of offenders of each kind., type: dict, returned: always,
                   sample: {lost_match: 1}}
        left_out:
          description: How many of each kind are not among RV(ignore:observations), because of O(max_offenders) or the
            size of the answer.
          type: dict
          returned: always
          sample: {dangling_jump: 12}
        owners:
          description: Owners of the rules, by the names of chains.
          type: list
          elements: dict
          returned: always
          contains:
            owner: {description: The owner., type: str, returned: always, sample: kube-proxy}
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            backend: {description: Backend., type: str, returned: always, sample: nft}
            rules: {description: Number of rules., type: int, returned: always, sample: 1093}
            chains: {description: Number of chains., type: int, returned: always, sample: 402}
        rules: {description: Rules of all sets together., type: int, returned: always, sample: 1123}
        services: {description: 'Service addresses, as counted by the digest; null where unknown.', type: int,
                   returned: always, sample: 98}
        rules_per_service: {description: Rules of kube-proxy per service address; null without any., type: float,
                            returned: always, sample: 11.2}
        service_rows:
          description: The first O(max_services) Services by address.
          type: list
          elements: dict
          returned: always
          contains:
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            address: {description: Virtual address or V(nodeport)., type: str, returned: always, sample: 10.96.0.10}
            port: {description: Port., type: int, returned: always, sample: 53}
            protocol: {description: Protocol., type: str, returned: always, sample: udp}
            endpoints: {description: Number of endpoints; null where unknown., type: int, returned: always, sample: 2}
            name: {description: Name as a comment has it or empty., type: str, returned: always,
                   sample: 'kube-system/kube-dns:dns'}
        service_rows_left_out: {description: Services that are not among the rows., type: int, returned: always,
                                sample: 78}
        networks:
          description:
            - The networks that addresses of Services and of endpoints are in, at most eight of each, those with the
              most addresses first. Of IPv4 a network has 24 bits, of IPv6 64; where there are many, 16 and 48.
          type: dict
          returned: always
          contains:
            services:
              description: Those of the Services; null where they are unknown.
              type: list
              elements: dict
              returned: always
              contains:
                family: {description: Address family., type: str, returned: always, sample: ipv4}
                network: {description: The network., type: str, returned: always, sample: 10.96.0.0/24}
                addresses: {description: Addresses in it., type: int, returned: always, sample: 31}
                name: {description: 'One of the Services, as a comment has it, or empty.', type: str, returned: always,
                       sample: 'shop/web:http'}
            services_left_out: {description: Networks that are not among the rows., type: int, returned: always,
                                sample: 0}
            endpoints:
              description: The same of the endpoints, without those of C(default/kubernetes); null where they are
                unknown.
              type: list
              elements: dict
              returned: always
              contains:
                family: {description: Address family., type: str, returned: always, sample: ipv4}
                network: {description: The network., type: str, returned: always, sample: 10.244.1.0/24}
                addresses: {description: Addresses in it., type: int, returned: always, sample: 17}
                name: {description: One of their Services or empty., type: str, returned: always,
                       sample: 'kube-system/kube-dns:dns'}
            endpoints_left_out: {description: Networks that are not among the rows., type: int, returned: always,
                                 sample: 0}
            shared:
              description: Networks of this node's interfaces in which both the Service C(default/kubernetes) and an API
                server have an address, at most four.
              type: list
              elements: dict
              returned: always
              contains:
                network: {description: The network., type: str, returned: always, sample: 10.32.0.0/24}
                interface: {description: The interface., type: str, returned: always, sample: eth1}
                address: {description: The address of the Service., type: str, returned: always, sample: 10.32.0.1}
                server: {description: The address of the API server., type: str, returned: always, sample: 10.32.0.10}
        digest:
          description:
            - A digest of the Services in kube-proxy's chains, to compare the nodes of a cluster. It is independent of
              the mode, the order, the version, the counters and the addresses of the node.
          type: dict
          returned: always
          contains:
            services:
              description: SHA-256 over family, address, port and protocol of all Services and whether they have
                endpoints; null where unknown.
              type: str
              returned: always
              sample: 4f0f6c1a5b3e7a2f3cf2b8e6f0d9a1c2b3d4e5f60718293a4b5c6d7e8f901234
            endpoints:
              description:
                - The same with the endpoints of Services whose policy is Cluster; null where they are unknown, as of a
                  big table of kube-proxy's nftables mode without O(deep).
              type: str
              returned: always
              sample: 9a1c2b3d4e5f60718293a4b5c6d7e8f9012344f0f6c1a5b3e7a2f3cf2b8e6f0d
            service_count: {description: Service addresses in it., type: int, returned: always, sample: 98}
            endpoint_count: {description: Endpoints in it., type: int, returned: always, sample: 291}
            read_at:
              description: When the rules were read. Digests taken while Services change differ for a moment.
              type: str
              returned: always
              sample: '2026-11-21T10:00:00Z'
        counters:
          description: Whether packets were counted between two readings; null without O(window_seconds) or where no
            rules could be read.
          type: dict
          returned: always
          contains:
            seconds: {description: Time between the readings., type: float, returned: always, sample: 10.1}
            moved: {description: Whether any counter moved., type: bool, returned: always, sample: true}
            packets: {description: Packets that were counted., type: int, returned: always, sample: 1834}
        footprint:
          description: Cost of this look.
          type: dict
          returned: always
          contains:
            own_peak_bytes: {description: Peak memory of the module itself., type: int, returned: always,
                             sample: 41000000}
            helpers_peak_bytes: {description: Peak memory of a program that it ran., type: int, returned: always,
                                 sample: 23000000}
            seconds: {description: Time from the first to the last reading., type: float, returned: always, sample: 0.4}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import tree
from ..module_utils._look.rules.iptables_chains import DEFAULTS, collect_iptables_chains


def main():
    options = {
        "src": {"type": "list", "elements": "path"},
        "proxy_mode": {"type": "str", "choices": ["iptables", "ipvs", "nftables"]},
        "kubernetes_version": {"type": "str"},
        "window_seconds": {"type": "int", "default": DEFAULTS["window_seconds"]},
        "deep": {"type": "bool", "default": DEFAULTS["deep"]},
        "max_offenders": {"type": "int", "default": DEFAULTS["max_offenders"]},
        "max_services": {"type": "int", "default": DEFAULTS["max_services"]},
    }
    module = AnsibleModule(argument_spec=dict(tree.TREE_OPTIONS, **options), supports_check_mode=True)
    requested = {name: module.params[name] for name in options}
    tree.exit_with_facts(module,
                         lambda host, node: {"node_iptables_chains": collect_iptables_chains(host, node, requested)})


if __name__ == "__main__":
    main()
