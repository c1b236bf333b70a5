#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.node_facts."""

DOCUMENTATION = r"""
module: node_facts
short_description: Collect evidence about a Kubernetes node's netfilter in one call
version_added: 0.1.0
description:
  - Returns each requested section as C(ansible_facts.node_<section>), from one look at the node.
  - O(gather_subset) can be a single section; the options for sections name theirs, and the examples show each.
  - The sections C(kernel_modules), C(iptables_chains) and C(xtables_lock) also have modules of their own, with further
    options.
  - Nothing is changed, loaded or locked, and no program of a container is run.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
notes:
  - Rules are listed, and containers looked into, by root only, and in a V(live) place only.
options:
  gather_subset:
    description:
      - Sections to collect. C(ansible_facts) under Return Values describes each of them.
      - The default is all but V(logs).
    type: list
    elements: str
    choices: [cni, conntrack, flush_hooks, host, iptables_backend, iptables_chains, ipvs, kernel_modules, kube_proxy,
              kubelet, logs, xtables_lock]
  modules:
    description: Section V(kernel_modules). Kernel modules to look for, see
      O(kubenode.netfilter.kernel_modules_facts#module:name).
    type: list
    elements: str
  kernel:
    description: Section V(kernel_modules). Release to judge, see
      O(kubenode.netfilter.kernel_modules_facts#module:kernel).
    type: str
  hook_directories:
    description:
      - Section V(flush_hooks). Directories with scripts that are run by hand, searched six levels deep. Links to
        directories are not followed. Scripts that run automatically are found in every directory, listed here or not.
      - The default is V(/usr/local/bin) and V(/usr/local/sbin).
    type: list
    elements: str
  window_seconds:
    description:
      - Sections V(conntrack) and V(kube_proxy). Seconds, V(0) to V(300), between two readings, to return rates, the
        highest number of connections and the state of kube-proxy's API watch. If both sections are requested, each
        takes that time.
      - An API watch that works sends no request for minutes, so give V(60) or more for it.
    type: int
    default: 0
  top:
    description:
      - Section V(conntrack). Count the connections by protocol and state with C(conntrack -L).
      - On a node with a million connections that takes seconds, and one processor meanwhile. It ends after 20 seconds.
    type: bool
    default: false
  kernel_log:
    description: Section V(conntrack). Look for lines about a full table in the log of the kernel also if the counters
      show no loss.
    type: bool
    default: false
  metrics_src:
    description:
      - A file with the answer of kube-proxy's C(/metrics), with or without the HTTP header. The node itself is not
        asked then, so O(gather_subset) must be V(kube_proxy) alone.
      - Ages are known if O(healthz_src) was saved at the same time.
    type: path
  healthz_src:
    description: A file with the answer of kube-proxy's C(/healthz), as O(metrics_src).
    type: path
seealso:
  - module: kubenode.netfilter.kernel_modules_facts
  - module: kubenode.netfilter.iptables_chain_audit
  - module: kubenode.netfilter.xtables_lock_facts
  - module: kubenode.netfilter.log_info
  - module: kubenode.netfilter.assess
  - plugin: kubenode.netfilter.conntrack_size
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at everything
  kubenode.netfilter.node_facts:
  become: true

- name: Look at an image tree, for its own kernels
  kubenode.netfilter.node_facts:
    root: /srv/images/node
    gather_subset: [host, kernel_modules, iptables_backend]

- name: Look at the backends of the node
  kubenode.netfilter.node_facts:
    gather_subset: [iptables_backend]
  become: true

- name: Stop where two backends work against each other
  ansible.builtin.assert:
    that: ansible_facts.node_iptables_backend.mixing.verdict not in ['conflicting', 'unknown']
    fail_msg: "{{ ansible_facts.node_iptables_backend.mixing.because }}"

- name: Look for commands that flush rules
  kubenode.netfilter.node_facts:
    gather_subset: [flush_hooks]
    hook_directories: [/usr/local/bin, /usr/local/sbin, /opt/maintenance]
  become: true

- name: Name the hooks that run automatically
  ansible.builtin.debug:
    msg: "{{ item.path }}:{{ item.line }} {{ item.command }}"
  loop: "{{ ansible_facts.node_flush_hooks.hooks | selectattr('live') }}"

- name: Watch the conntrack table for half a minute, and count who fills it
  kubenode.netfilter.node_facts:
    gather_subset: [conntrack]
    window_seconds: 30
    top: true
  become: true

- name: Name the settings that will be others after the next boot
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_conntrack['sysctls'] | selectattr('survives', 'equalto', false) | map(attribute='key')
      }}"

- name: Look at IPVS
  kubenode.netfilter.node_facts:
    gather_subset: [ipvs]
  become: true

- name: Which Services have no endpoint?
  ansible.builtin.debug:
    var: ansible_facts.node_ipvs.without_real_servers

- name: Look at kubelet
  kubenode.netfilter.node_facts:
    gather_subset: [kubelet]
  become: true

- name: Name the service to restart
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_kubelet.unit.name }}: {{ ansible_facts.node_kubelet.unit.effect }}"
  when: ansible_facts.node_kubelet.initialisation.failed | default([]) | length > 0

- name: Watch kube-proxy's syncs and its requests to the API server for a minute
  kubenode.netfilter.node_facts:
    gather_subset: [kube_proxy]
    window_seconds: 60
  become: true

- name: Show the tables that hold other rules than kube-proxy wrote
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_kube_proxy.rules | rejectattr('state', 'equalto', 'equal') }}"

- name: Read the metrics of a support bundle on the controller
  kubenode.netfilter.node_facts:
    gather_subset: [kube_proxy]
    metrics_src: /tmp/bundle/worker-a/metrics.txt
    healthz_src: /tmp/bundle/worker-a/healthz.txt
  delegate_to: localhost

- name: Look at the CNI
  kubenode.netfilter.node_facts:
    gather_subset: [cni]
  become: true

- name: Print the files that the runtime refuses
  ansible.builtin.debug:
    msg: "{{ item.path }} {{ item.problem }}"
  loop: "{{ ansible_facts.node_cni.files | selectattr('problem') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host, one for each requested section.
  returned: success
  type: dict
  contains:
    node_host:
      description:
        - Distribution, running kernel, init system, container runtimes, whether the system is immutable, and the kind
          of place that this is, a live node, an image tree or a container. Only files are read.
      returned: when C(host) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description: For each source V(ok), V(absent), V(denied), V(unparsed), V(timeout) or, of a bundle,
            V(uncollected).
          type: dict
          returned: always
          sample: {os_release: ok, kernel_release: ok, place: ok}
        place: {description: 'V(live), V(image), V(container) or V(bundle).', type: str, returned: always, sample: live}
        place_reason:
          description: The evidence for the place, as a sentence.
          type: str
          returned: always
          sample: kernel threads are visible and process 1 has the same root directory
        root: {description: The directory that was taken as V(/)., type: str, returned: always, sample: /}
        os:
          description: Fields of os-release; null where the file does not have them.
          type: dict
          returned: always
          contains:
            id: {description: ID., type: str, returned: always, sample: debian}
            id_like: {description: 'ID_LIKE, sorted.', type: list, elements: str, returned: always, sample: []}
            version_id: {description: VERSION_ID., type: str, returned: always, sample: '12'}
            name: {description: PRETTY_NAME., type: str, returned: always, sample: Debian GNU/Linux 12 (bookworm)}
            variant_id: {description: VARIANT_ID., type: str, returned: always, sample: null}
        architecture: {description: Machine name of the running kernel; null outside of a live place., type: str,
                       returned: always, sample: x86_64}
        as_root: {description: Whether the look was made as root; null of a bundle., type: bool, returned: always,
                  sample: true}
        kernel_release:
          description: Release of the running kernel; null for an image.
          type: str
          returned: always
          sample: 6.1.0-49-cloud-amd64
        bundle:
          description: Content of a support bundle; null outside of a place V(bundle).
          type: dict
          returned: always
          sample: null
          contains:
            files: {description: Files of the bundle., type: int, returned: always, sample: 812}
            recognised: {description: Number of files with evidence of the node., type: int, returned: always,
                         sample: 44}
            lacks:
              description: Evidence of a node that the bundle lacks.
              type: list
              elements: dict
              returned: always
              sample: []
              contains:
                subject: {description: The missing evidence., type: str, returned: always,
                          sample: loaded modules (lsmod)}
                evidence: {description: Why it is unknown., type: str, returned: always,
                           sample: the bundle does not contain it}
        boot_id:
          description: The kernel's boot id; null outside of a live place.
          type: str
          returned: always
          sample: e7a253d2-85a0-4000-9bbe-14594b2bea2b
        uptime_seconds: {description: Whole seconds since boot; null outside of a live place., type: int,
                         returned: always, sample: 86400}
        init:
          description: V(systemd), V(openrc), V(sysvinit) or V(other); null outside of a live place.
          type: str
          returned: always
          sample: systemd
        container_runtimes:
          description: Container runtimes that are installed or have a socket.
          type: list
          elements: str
          returned: always
          sample: [containerd]
        immutable: {description: Whether the system is replaced as a whole instead of being edited., type: bool,
                    returned: always, sample: false}
        immutable_by: {description: The evidence for it., type: str, returned: always, sample: null}
        memory_bytes: {description: Memory of the node; null outside of a live place., type: int, returned: always,
                       sample: 16773074944}
        cpu_count: {description: Processors online; null outside of a live place., type: int, returned: always,
                    sample: 4}
        ipv6:
          description: Whether IPv6 is available in the node's network namespace; null where it is not known.
          type: bool
          returned: always
          sample: true
        tools:
          description:
            - Path at which root finds each requested program, or null.
            - One that may lie in a directory which cannot be searched is left out.
          type: dict
          returned: always
          sample: {iptables: /usr/sbin/iptables, conntrack: null}
    node_kernel_modules:
      description: See RV(kubenode.netfilter.kernel_modules_facts#module:ansible_facts.node_kernel_modules).
      returned: when C(kernel_modules) is asked for
      type: dict
      sample: {schema: 1, running_release: 6.1.0-49-cloud-amd64}
    node_iptables_backend:
      description:
        - Backend, version and alternatives of each of the node's own iptables programs, the rules in each backend, the
          backend that kubelet and kube-proxy really use, the iptables builds in the containers that write rules of the
          node, and a graded verdict on mixing. Packets pass through the rules of both backends, but a list of one
          backend does not show the other.
        - No lock is taken and no table created; only the node's own C(iptables-save) and C(ip6tables-save) are run. A
          build in a container is read and never run.
      returned: when C(iptables_backend) is asked for
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
      description:
        - Commands that flush rules, the tables that they flush, their triggers, and whether they are live. A flush also
          removes the rules of Kubernetes and of the network plugin. kubelet sets up its chains once, at its start, so a
          chain that it could not set up then stays broken until kubelet is restarted.
        - Searched are units of systemd with their drop-ins, the scripts that they run and that these scripts run, cron,
          cloud-init, the dispatchers of NetworkManager and systemd-networkd, ifupdown, rc.local, init scripts, udev,
          keepalived, monit and other daemons that run commands when a state changes, logrotate, hooks of apt and dnf,
          the firewall services of distributions with their settings, saved rule sets, and O(hook_directories).
        - Comments, printed texts, here-documents that are only written, functions that are never called and flushes of
          a program's own chains are no hooks. Scripts in languages other than shells and nft are not read; the ones
          with a word of the firewall are named.
        - Files are read, and C(systemctl show) is run once on a live node. No script is run.
      returned: when C(flush_hooks) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each kind of place V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - V(timeout) means that there were more files than one look reads.
          type: dict
          returned: always
          sample:
            {cloud_init: absent, cron: ok, daemons: absent, directories: ok, ifupdown: absent, init: ok, logrotate: ok,
             network_manager: absent, networkd_dispatcher: absent, package_hooks: ok, rc_local: absent,
             saved_rules: absent, systemd: ok, udev: ok}
        hooks:
          description: One row for each command. Live commands come first, and automatic ones before commands that are
            run by hand.
          type: list
          elements: dict
          returned: always
          contains:
            path: {description: The file with the command., type: str, returned: always, sample: /etc/cron.d/firewall}
            line: {description: Its line., type: int, returned: always, sample: 4}
            command:
              description: 'The command, at most 200 characters, without what looks like a secret.'
              type: str
              returned: always
              sample: systemctl restart iptables
            kind:
              description:
                - V(script), V(unit), V(cron), V(cloud_init), V(dispatcher), V(ifupdown), V(rc_local), V(init), V(udev),
                  V(logrotate), V(package_hook), V(nft_config) or V(service_config) (a setting of a firewall service).
              type: str
              returned: always
              sample: cron
            owner:
              description:
                - V(administrator), V(package) or V(unknown), by the directory, and below C(/etc) by the lists of dpkg;
                  databases of rpm are not read.
              type: str
              returned: always
              sample: administrator
            sort:
              description:
                - V(flush), V(delete), V(policy), V(restore), V(ruleset), V(table), V(service) (a unit that does one of
                  these), V(sets), V(ipvs), or V(module).
              type: str
              returned: always
              sample: service
            families:
              description: 'V(ipv4), V(ipv6), and of nft V(inet), V(arp), V(bridge).'
              type: list
              elements: str
              returned: always
              sample: [ipv4]
            tables: {description: 'Tables that lose rules, V(*) is every one.', type: list, elements: str,
                     returned: always, sample: [filter]}
            chains: {description: 'Chains that lose rules, V(*) is every one.', type: list, elements: str,
                     returned: always, sample: ['*']}
            comes_back:
              description:
                - V(no), V(saved) (the same script restores its saved rules), V(replaced) (other rules are loaded), or
                  V(unknown).
              type: str
              returned: always
              sample: 'no'
            service: {description: 'The unit that the command starts, stops or reloads, or null.', type: str,
                      returned: always, sample: iptables.service}
            verb: {description: The verb for that unit; or null., type: str, returned: always, sample: restart}
            unit: {description: The unit that runs the command; or null., type: str, returned: always, sample: null}
            triggers:
              description:
                - V(boot), V(start), V(stop), V(restart), V(reload) (of
                  RV(ansible_facts.node_flush_hooks.hooks[].unit)), V(package_upgrade), V(timer), V(event) (a device, a
                  network, a file) or V(by_hand).
              type: list
              elements: str
              returned: always
              sample: [timer]
            through:
              description: 'The callers, the nearest first, as path and line; at most five.'
              type: list
              elements: str
              returned: always
              sample: ['/etc/cron.d/firewall:4']
            live:
              description:
                - Whether the node runs it. True where its unit is active or enabled, or the program that reads its
                  place would run it.
                - Null where that is not known, and for scripts that are only run by hand.
              type: bool
              returned: always
              sample: true
            live_because: {description: Why., type: str, returned: always, sample: cron.service is active}
            confidence:
              description: 'V(certain), V(likely) or V(possible): the certainty that the command does this.'
              type: str
              returned: always
              sample: certain
            fix:
              description:
                - The smallest change that removes the danger, V(remove_command), V(drop_in), V(divert) (the script of a
                  package), or null.
              type: str
              returned: always
              sample: remove_command
            saved_to: {description: 'File, or command of a service, with which the same script saves the remaining
                         rules; or null.', type: str, returned: always, sample: /etc/iptables/rules.v4}
            restarted: {description: 'V(kubelet) and V(kube-proxy), if the same script restarts them afterwards.',
                        type: list, elements: str, returned: always, sample: [kubelet]}
            appends: {description: 'Whether the same script adds rules afterwards, which would be there twice without
                        the command.', type: bool, returned: always, sample: true}
            purpose:
              description:
                - V(teardown) in a script of a distribution that removes Kubernetes from a node (k3s, RKE2), V(library)
                  in a function that no script calls, or null.
              type: str
              returned: always
              sample: null
        hook_count: {description: Number of hooks., type: int, returned: always, sample: 1}
        hooks_left_out: {description: Number of hooks without a row here., type: int, returned: always, sample: 0}
        files:
          description: The same hooks, grouped by file, as in the findings; at most forty rows.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: The file., type: str, returned: always, sample: /etc/systemd/scripts/iptables.stop}
            path: {description: The same., type: str, returned: always, sample: /etc/systemd/scripts/iptables.stop}
            line: {description: Line of the first command., type: int, returned: always, sample: 6}
            lines: {description: 'Lines of the first five commands.', type: list, elements: int, returned: always,
                    sample: [6, 7, 8]}
            command: {description: The first command., type: str, returned: always, sample: iptables -F}
            commands: {description: How many there are., type: int, returned: always, sample: 18}
            counted: {description: The same in words., type: str, returned: always, sample: 18 commands}
            first: {description: Line of the first command in words., type: str, returned: always,
                    sample: the first in line 6}
            kind: {description: As of a hook., type: str, returned: always, sample: script}
            owner: {description: As of a hook., type: str, returned: always, sample: package}
            families: {description: Of all commands together., type: list, elements: str, returned: always,
                       sample: [ipv4, ipv6]}
            tables: {description: Of all commands together., type: list, elements: str, returned: always,
                     sample: [filter, mangle, nat, raw]}
            comes_back: {description: The worst of all commands., type: str, returned: always, sample: 'no'}
            shown: {description: 'All commands with their lines, at most 300 characters.', type: str, returned: always,
                    sample: 'line 6: iptables -F; line 7: iptables -t nat -F'}
            returns: {description: 'A sentence on who brings which rules back; empty where it is not known.', type: str,
                      returned: always, sample: ' Rules come back: those of kubelet and kube-proxy only with their
                        restart, because their canaries in mangle stay.'}
            remedy: {description: 'What to change by hand, for this kind of file.', type: str, returned: always,
                     sample: 'Remove the commands in lines 6 and 7 of /etc/systemd/scripts/iptables.stop.'}
            saved:
              description: A sentence that names the file to which the remaining rules are saved, empty where they are
                not saved.
              type: str
              returned: always
              sample: ' The rule set without these rules is saved afterwards (/etc/iptables/rules.v4): a boot does not
                bring rules of others back.'
            rebuilt: {description: 'The rules that kubelet and kube-proxy rebuild if the script restarts them
                        afterwards; otherwise empty.', type: str, returned: always,
                      sample: ' Afterwards it restarts kubelet. kubelet rebuilds KUBE-FIREWALL.'}
            lost: {description: The rules that stay lost despite these restarts., type: str, returned: always,
                   sample: ' Stays lost: KUBE-FORWARD of kube-proxy (until it is restarted), rules of others.'}
            advice: {description: 'Reason for care with a removal: the script adds rules later, or belongs to a
                       distribution; otherwise empty.', type: str, returned: always, sample: ''}
            purpose: {description: As of a hook., type: str, returned: always, sample: null}
            unit: {description: The unit that runs it or that it starts or stops; or null., type: str, returned: always,
                   sample: iptables.service}
            triggers: {description: Of all commands together., type: list, elements: str, returned: always,
                       sample: [stop, restart, package_upgrade]}
            unit_seconds: {description: How many seconds ago that unit last started or ended; null where systemd does
                             not tell., type: float, returned: always, sample: 734.2}
            before_kubelet:
              description: Whether every unit of a kubelet waits for the unit that runs it at boot; null where it does
                not run at boot or there is no kubelet.
              type: bool
              returned: always
              sample: null
            automatic:
              description: Whether it runs automatically while kubelet may run; commands of units at boot are
                in RV(ansible_facts.node_flush_hooks.unordered).
              type: bool
              returned: always
              sample: true
            asked: {description: 'Whether a start, stop, restart or reload of a unit runs it.', type: bool,
                    returned: always, sample: true}
            by_hand: {description: Whether it is only run by hand., type: bool, returned: always, sample: false}
            live: {description: As of a hook., type: bool, returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: iptables.service is active}
            confidence: {description: The highest certainty of all commands., type: str, returned: always,
                         sample: certain}
        file_count: {description: Number of such rows; at most forty are listed., type: int, returned: always,
                     sample: 2}
        saved_rule_sets:
          description: Files that hold rules, those with chains of Kubernetes first, at most twenty.
          type: list
          elements: dict
          returned: always
          contains:
            path: {description: The file., type: str, returned: always, sample: /etc/iptables/rules.v4}
            format: {description: 'V(iptables) or V(nft); null where it is still to be written.', type: str,
                     returned: always, sample: iptables}
            family: {description: 'V(ipv4), V(ipv6) or null.', type: str, returned: always, sample: ipv4}
            tables: {description: Its tables., type: list, elements: str, returned: always, sample: [filter, nat]}
            owners:
              description: >-
                Number of rules and chains of each owner, as in
                RV(kubenode.netfilter.iptables_chain_audit#module:ansible_facts.node_iptables_chains).
              type: dict
              returned: always
              sample: {kube_proxy: 211, calico: 84, other: 12}
            rules: {description: Rules in all; 0 for nft., type: int, returned: always, sample: 260}
            kubernetes:
              description: Number of rules and chains of Kubernetes or of a network plugin.
              type: int
              returned: always
              sample: 295
            replayed_by: {description: 'Units and scripts that load it, at most five.', type: list, elements: str,
                          returned: always, sample: [netfilter-persistent.service]}
            at_boot: {description: Whether a boot loads it; null where that is not known., type: bool, returned: always,
                      sample: true}
            saved_by: {description: 'Units and settings that overwrite it with all rules of the node, at most five.',
                       type: list, elements: str, returned: always, sample: ['/etc/sysconfig/iptables-config:12']}
        written:
          description: Scripts that write settings into C(modprobe.d) or C(sysctl.d) which block netfilter modules or
            turn forwarding off, or rules that flush, drop or copy those of Kubernetes into a file that a service loads,
            at most twenty.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: The script., type: str, returned: always, sample: /etc/cron.daily/harden}
            path: {description: The same., type: str, returned: always, sample: /etc/cron.daily/harden}
            line: {description: Its line., type: int, returned: always, sample: 4}
            command: {description: 'The command, at most 200 characters, without what looks like a secret.', type: str,
                      returned: always, sample: 'echo net.ipv4.ip_forward=0 > /etc/sysctl.d/99-harden.conf'}
            file: {description: The file that it writes., type: str, returned: always,
                   sample: /etc/sysctl.d/99-harden.conf}
            settings: {description: 'Such lines, or what the rules do; at most five.', type: list, elements: str,
                       returned: always, sample: [net.ipv4.ip_forward=0]}
            setting_count: {description: How many there are., type: int, returned: always, sample: 1}
            applied: {description: When the file takes effect., type: str, returned: always,
                      sample: the next boot applies /etc/sysctl.d/99-hardening.conf}
            remedy: {description: What to change by hand., type: str, returned: always,
                     sample: 'Remove net.ipv4.ip_forward=0 from line 4 of /usr/local/sbin/harden, then correct
                       /etc/sysctl.d/99-hardening.conf.'}
            triggers: {description: As of a hook., type: list, elements: str, returned: always, sample: [timer]}
            by_hand: {description: Whether it is only run by hand., type: bool, returned: always, sample: false}
            through: {description: As of a hook., type: list, elements: str, returned: always,
                      sample: ['/etc/crontab:8']}
            live: {description: As of a hook., type: bool, returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: cron.service is active}
        connections:
          description: Commands that delete all tracked connections by themselves while pods run (C(conntrack -F)), at
            most twenty.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: The file., type: str, returned: always, sample: /var/spool/cron/root}
            path: {description: The same., type: str, returned: always, sample: /var/spool/cron/root}
            line: {description: Its line., type: int, returned: always, sample: 4}
            command: {description: 'The command, at most 200 characters, without what looks like a secret.', type: str,
                      returned: always, sample: conntrack -F}
            triggers: {description: As of a hook., type: list, elements: str, returned: always, sample: [timer]}
            through: {description: As of a hook., type: list, elements: str, returned: always,
                      sample: ['/etc/crontab:8']}
            live: {description: As of a hook., type: bool, returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: cron.service is active}
            confidence: {description: As of a hook., type: str, returned: always, sample: certain}
        saved_left_out: {description: How many more there are., type: int, returned: always, sample: 0}
        unordered:
          description: Units that flush at boot, and that the unit of kubelet does not wait for.
          type: list
          elements: dict
          returned: always
          contains:
            unit: {description: The unit., type: str, returned: always, sample: iptables.service}
            path: {description: Its file., type: str, returned: always,
                   sample: /usr/lib/systemd/system/iptables.service}
            before: {description: The unit that should wait., type: str, returned: always, sample: kubelet.service}
            reason: {description: Why., type: str, returned: always,
                     sample: neither it nor a unit between them says that kubelet.service starts after it}
        waiting:
          description: Units that start automatically, flush at their start, and have not started since the boot.
          type: list
          elements: dict
          returned: always
          contains:
            unit: {description: The unit., type: str, returned: always, sample: iptables.service}
            path: {description: Its file., type: str, returned: always,
                   sample: /usr/lib/systemd/system/iptables.service}
            state: {description: As C(systemctl is-enabled) prints it., type: str, returned: always, sample: enabled}
            active: {description: 'As C(systemctl is-active) prints it; null where systemd does not answer.', type: str,
                     returned: always, sample: inactive}
        firewalld:
          description: Settings of firewalld, null where it is not installed.
          type: dict
          returned: always
          contains:
            backend: {description: 'V(nftables) or V(iptables), which flushes every table.', type: str,
                      returned: always, sample: nftables}
            flush_all_on_reload: {description: FlushAllOnReload; it concerns rules of firewalld itself., type: bool,
                                  returned: always, sample: true}
            cleanup_on_exit: {description: CleanupOnExit., type: bool, returned: always, sample: true}
            direct_rules: {description: Direct rules in its file; with any it flushes every table of iptables.,
                           type: int, returned: always, sample: 0}
            forward: {description: Whether its default zone or a zone of the site with the target ACCEPT lets packets
                        between interfaces without a zone pass such as those of pods; null where that depends on the
                        interfaces and addresses of the node., type: bool, returned: always, sample: true}
            forward_by: {description: The file of its default zone., type: str, returned: always,
                         sample: /usr/lib/firewalld/zones/public.xml}
            live: {description: Whether it runs or starts automatically; null where it is not known., type: bool,
                   returned: always, sample: false}
            live_because: {description: Why., type: str, returned: always,
                           sample: firewalld.service is disabled and inactive}
        ufw:
          description: Settings of ufw, null where it is not installed.
          type: dict
          returned: always
          contains:
            enabled: {description: ENABLED., type: bool, returned: always, sample: false}
            manage_builtins: {description: MANAGE_BUILTINS; with it ufw flushes built-in chains., type: bool,
                              returned: always, sample: false}
            ipv6: {description: IPV6; without it ufw replaces the filter table of IPv6., type: bool, returned: always,
                   sample: true}
            forward_policy: {description: DEFAULT_FORWARD_POLICY; null where it is not set., type: str,
                             returned: always, sample: DROP}
            forward_by: {description: The line that sets it., type: str, returned: always,
                         sample: /etc/default/ufw:3}
            routes: {description: Whether a rule of ufw accepts forwarded packets of pods., type: bool,
                     returned: always, sample: false}
            live: {description: Whether its unit runs or starts automatically; null where it is not known., type: bool,
                   returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: ufw.service is active}
        scanned:
          description: What was read.
          type: dict
          returned: always
          contains:
            files: {description: Files., type: int, returned: always, sample: 640}
            bytes: {description: Their bytes., type: int, returned: always, sample: 812344}
            skipped:
              description: Files and directories that could not be read, at most five of each source.
              type: list
              elements: dict
              returned: always
              contains:
                source: {description: 'The source that it belongs to, a key of C(collected).', type: str,
                         returned: always, sample: cron}
                path: {description: File or directory., type: str, returned: always, sample: /etc/cron.d/backup}
                reason: {description: Why and how to know., type: str, returned: always,
                         sample: "/etc/cron.d/backup is not readable as user 'ops'; run with become"}
            skipped_count: {description: How many there are in all., type: int, returned: always, sample: 1}
            other_languages:
              description: 'Scripts with a word of the firewall that neither a shell nor nft runs, at most ten.'
              type: list
              elements: str
              returned: always
              sample: [/usr/local/sbin/firewall.py]
    node_conntrack:
      description:
        - Use of the conntrack table, lost connections, and for each sysctl that connections and bridges of Kubernetes
          depend on the value now, at the next boot, and after kube-proxy's next start, with the file or program that
          sets it. When the table is full, the kernel drops new connections.
        - Current figures are null where the place is not live or nf_conntrack is not loaded.
        - Counters are the kernel's own, by the names of its columns. A kernel that has no
          C(/proc/net/stat/nf_conntrack) is asked over netlink, where the module nf_conntrack_netlink is loaded.
        - C(dmesg) is run if connections were lost, and C(conntrack -L) if O(top) is set.
      returned: when C(conntrack) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - C(consumers) and C(kernel_log) are V(absent) where they were not needed, C(entries) where no bundle lists
              connections.
          type: dict
          returned: always
          sample: {consumers: absent, counters: ok, entries: absent, kernel_log: absent, module_options: ok, slab: ok,
                   sysctl_d: ok, sysctls: ok, table: ok}
        memory_bytes: {description: Memory of the node., type: int, returned: always, sample: 8326144000}
        cpus: {description: Processors that are online., type: int, returned: always, sample: 4}
        max: {description: The limit (nf_conntrack_max); V(0) is no limit., type: int, returned: always, sample: 131072}
        limit_when_loaded:
          description: The limit that nf_conntrack brings when it is loaded now; null where it is loaded, and where that
            is not known.
          type: int
          returned: always
          sample: null
        count: {description: Current connections in the network namespace of the node., type: int, returned: always,
                sample: 20480}
        used_percent: {description: Share of the limit they fill., type: float, returned: always, sample: 15.6}
        buckets: {description: Buckets of the hash table., type: int, returned: always, sample: 65536}
        max_per_bucket: {description: Limit by buckets. Lookups take long above 8., type: float, returned: always,
                         sample: 2.0}
        counters:
          description:
            - The counters since the boot, over all processors, by the kernel's names; counters that the kernel does not
              have are left out.
            - C(drop) and C(insert_failed) both count a race of two packets of one connection, as in parallel DNS
              lookups.
          type: dict
          returned: always
          sample: {chainlength: 0, clashres: 12, drop: 3, early_drop: 0, icmp_error: 0, insert_failed: 3, invalid: 241,
                   search_restart: 0}
        growth:
          description:
            - Packets that were lost while the module looked, or in O(window_seconds) where that is longer; null where
              the kernel has no counters, and outside of a live place.
          type: dict
          returned: always
          contains:
            seconds: {description: Seconds of the look up to then., type: float, returned: always, sample: 1.4}
            drop: {description: Growth of C(drop)., type: int, returned: always, sample: 0}
            insert_failed: {description: Growth of C(insert_failed)., type: int, returned: always, sample: 0}
        lost:
          description: Losses because the table was full; null where the kernel has no counters.
          type: dict
          returned: always
          contains:
            dropped:
              description: Packets that were dropped without a race, so because the table was full, or by a rule of
                their protocol.
              type: int
              returned: always
              sample: 0
            evicted: {description: Connections without a reply that were evicted from a full table (C(early_drop)).,
                      type: int, returned: always, sample: 0}
            since:
              description: V(boot), or V(the limit was raised) by M(kubenode.netfilter.conntrack) after it.
              type: str
              returned: always
              sample: boot
            since_uptime_seconds: {description: The same in seconds since the boot., type: int, returned: always,
                                   sample: 0}
        kernel_log:
          description: Lines of the kernel's log. They are rate limited and old ones are removed, so a log without such
            lines proves nothing.
          type: dict
          returned: always
          contains:
            table_full: {description: Lines about a full table; null where it was not searched., type: int,
                         returned: always, sample: 4}
            since: {description: Since when they were counted., type: str, returned: always, sample: boot}
        entry_bytes: {description: Bytes of an entry without its extensions., type: int, returned: always, sample: 256}
        entry_bytes_from: {description: 'V(the kernel), or V(estimate), which has room for extensions.', type: str,
                           returned: always, sample: the kernel}
        total_bytes: {description: Bytes of a full table., type: int, returned: always, sample: 34078720}
        memory_percent: {description: Percent of the node's memory., type: float, returned: always, sample: 0.4}
        timeouts:
          description: Current timeouts in seconds.
          type: dict
          returned: always
          sample: {net.netfilter.nf_conntrack_tcp_timeout_close_wait: 3600,
                   net.netfilter.nf_conntrack_tcp_timeout_established: 86400}
        rates:
          description: Result of O(window_seconds); null where it was not requested.
          type: dict
          returned: always
          contains:
            window_seconds: {description: Seconds of the window., type: float, returned: always, sample: 30.0}
            highest_count: {description: The highest count in ten readings., type: int, returned: always, sample: 22311}
            per_second: {description: Counters per second., type: dict, returned: always,
                         sample: {drop: 0.0, early_drop: 0.0, invalid: 1.2}}
        consumers:
          description: Result of O(top), the twelve most frequent; null where it was not requested or could not be read.
          type: list
          elements: dict
          returned: always
          contains:
            protocol: {description: Its name., type: str, returned: always, sample: tcp}
            state:
              description: State of the connection; of protocols without one V(UNREPLIED), V(ASSURED) or null.
              type: str
              returned: always
              sample: ESTABLISHED
            count: {description: Number of connections., type: int, returned: always, sample: 15230}
        sysctls:
          description: One row for each sysctl.
          type: list
          elements: dict
          returned: always
          contains:
            key: {description: Its name., type: str, returned: always, sample: net.netfilter.nf_conntrack_max}
            module: {description: Module that brings it; null where it is always there., type: str, returned: always,
                     sample: nf_conntrack}
            now: {description: Its value., type: raw, returned: always, sample: 131072}
            at_boot: {description: Its value after a boot before kube-proxy starts; null where it is not known.,
                      type: raw, returned: always, sample: 262144}
            at_boot_by:
              description: The file or program that sets it then; null is the default of the kernel.
              type: str
              returned: always
              sample: /etc/sysctl.d/90-kubelet.conf:3
            after_kube_proxy: {description: Its value once kube-proxy has started; null where it is not known.,
                               type: raw, returned: always, sample: 131072}
            owner:
              description: The file or program that sets the final value; null is the default of the kernel.
              type: str
              returned: always
              sample: kube-proxy (conntrack.maxPerCore and conntrack.min)
            survives: {description: Whether the current value is also the final value., type: bool, returned: always,
                       sample: true}
            assigned: {description: The value in sysctl.d., type: raw, returned: always, sample: 262144}
            ignored_by: {description: 'The line that would set it, in a file of sysctl.d whose name does not end in
                           .conf; or null.', type: str, returned: always, sample: null}
            assigned_by: {description: The line that sets it., type: str, returned: always,
                          sample: /etc/sysctl.d/90-kubelet.conf:3}
            overruled: {description: Whether that line has no effect; null where it is not known., type: bool,
                        returned: always, sample: true}
            late: {description: Whether it is ignored because the module is loaded later; null where that is not known.,
                   type: bool, returned: always, sample: false}
            kube_proxy_decides: {description: Whether kube-proxy's start changes it., type: bool, returned: always,
                                 sample: true}
            missing: {description: Whether it does not exist now., type: bool, returned: always, sample: false}
            reason:
              description: Why.
              type: str
              returned: always
              sample: kube-proxy (conntrack.maxPerCore and conntrack.min) overrides it
        missing_keys:
          description: Sysctls that do not exist now.
          type: list
          elements: dict
          returned: always
          contains:
            key: {description: Its name., type: str, returned: always, sample: net.bridge.bridge-nf-call-iptables}
            module: {description: Module that brings it., type: str, returned: always, sample: br_netfilter}
            reason: {description: Why., type: str, returned: always, sample: br_netfilter is not in the running kernel}
        unread:
          description: Files and directories of sysctl.d, and of programs that override it, that could not be read.
          type: list
          elements: dict
          returned: always
          contains:
            file: {description: The file., type: str, returned: always, sample: /etc/sysctl.d/99-secret.conf}
            text: {description: Why and how to know., type: str, returned: always,
                   sample: "/etc/sysctl.d/99-secret.conf is not readable as user 'ops'; run with become"}
        hashsize:
          description: The number of buckets that nf_conntrack is loaded with.
          type: dict
          returned: always
          contains:
            now: {description: The current parameter., type: int, returned: always, sample: 65536}
            option: {description: The value in modprobe.d or on the command line of the kernel., type: int,
                     returned: always, sample: null}
            option_by: {description: Where., type: str, returned: always, sample: null}
        kube_proxy:
          description: The change of the limit at kube-proxy's start; null where none runs.
          type: dict
          returned: always
          contains:
            versions:
              description: Possible versions; several where only the version of kubelet is known.
              type: list
              elements: str
              returned: always
              sample: [1.31.2]
            by: {description: 'Program that sets the limit, V(kube-proxy), or V(k3s) instead of it.', type: str,
                 returned: always, sample: kube-proxy}
            settings_known: {description: Whether its configuration could be read., type: bool, returned: always,
                             sample: true}
            max_per_core: {description: The setting conntrack.maxPerCore; null is its default., type: int,
                           returned: always, sample: 32768}
            min: {description: The setting conntrack.min; null is its default., type: int, returned: always,
                  sample: 131072}
            writes:
              description:
                - V(leaves) means that it does not set the limit, V(raises) that it never lowers it, V(exactly) that it
                  also lowers it.
                - V(unknown) where the possible versions differ, or its settings are not known.
              type: str
              returned: always
              sample: exactly
            value: {description: Its target; null where that is not known or it does not set the limit., type: int,
                    returned: always, sample: 131072}
            capped: {description: Whether its own upper bound lowers the configured value., type: bool,
                     returned: always, sample: false}
        rp_filter:
          description: The reverse path filter on the interface of the default route; null where the place is not live.
          type: dict
          returned: always
          contains:
            interface: {description: That interface or null., type: str, returned: always, sample: eth0}
            all: {description: Value for all interfaces., type: int, returned: always, sample: 2}
            own: {description: Value of that interface., type: int, returned: always, sample: 2}
            effective: {description: The effective value., type: int, returned: always, sample: 2}
        interfaces:
          description: Switches of single interfaces; null where no kernel runs.
          type: dict
          returned: always
          contains:
            bridges: {description: The bridges of pods if netfilter is on for each of them., type: list, elements: str,
                      returned: always, sample: [kube-bridge]}
            not_forwarding: {description: Interfaces of pods and of the default route that do not forward IPv4.,
                             type: list, elements: str, returned: always, sample: [ens3]}
        untranslated:
          description: UDP connections that a bundle lists without a translation and an answer; null for other places.
          type: list
          elements: dict
          returned: always
          contains:
            client: {description: Address of the client., type: str, returned: always, sample: 10.36.0.14}
            address: {description: Address that it sends to., type: str, returned: always, sample: 10.107.61.10}
            port: {description: Port that it sends to., type: int, returned: always, sample: 53}
        rp_filter_at_boot:
          description: The reverse path filter that sysctl.d sets for interfaces that come after a boot.
          type: list
          elements: dict
          returned: always
          contains:
            interfaces: {description: Their names. Every other name is C(veth*)., type: str, returned: always,
                         sample: 'veth*'}
            all: {description: Value for all interfaces or null., type: int, returned: always, sample: 0}
            own: {description: Value of these interfaces or null., type: int, returned: always, sample: 2}
            effective: {description: The higher one of the two or null., type: int, returned: always, sample: 2}
            by: {description: 'C(file:line) that sets it, or null.', type: str, returned: always,
                 sample: '/etc/sysctl.d/95.conf:4'}
        size:
          description:
            - The size that the node needs by the defaults of P(kubenode.netfilter.conntrack_size#filter); null where
              memory and processors are not known.
          type: dict
          returned: always
          contains:
            max: {description: The limit., type: int, returned: always, sample: 131072}
            buckets: {description: The buckets., type: int, returned: always, sample: 131072}
            table_bytes: {description: Bytes of a full table of that size., type: int, returned: always,
                          sample: 53477376}
            needed: {description: The need of the peak alone., type: int, returned: always, sample: 34134}
            limited_by: {description: 'V(memory), V(ceiling), or null where the need is met.', type: str,
                         returned: always, sample: null}
            because: {description: Why., type: str, returned: always,
                      sample: kube-proxy sets 131072 at its start; 20480 connections need 34134}
            peak: {description: The highest known number of connections., type: int, returned: always, sample: 20480}
            peak_because: {description: Source of this value., type: str, returned: always, sample: the current count}
            enough:
              description: Whether the current limit, or C(limit_when_loaded), is enough; null where neither is known.
              type: bool
              returned: always
              sample: true
            advice:
              description: The setting of kube-proxy that keeps that size; null where kube-proxy does not overwrite it.
              type: str
              returned: always
              sample: null
    node_ipvs:
      description:
        - Virtual and real servers, Services without a real server, the schedulers against kube-proxy's configuration,
          whether the node has the addresses of the Services as local ones, and the use of kube-proxy's ipsets. If
          kube-proxy runs in another mode, leftover objects of ipvs mode. Outside of a live place all numbers are null.
        - C(/proc/net/ip_vs) and its neighbours are read, and the virtual servers listed over netlink. C(ipvsadm) is not
          run, since it loads C(ip_vs); C(ipset) is run only where C(ip_set) is in the kernel already.
        - If several network namespaces of a node have virtual servers (Docker Swarm beside Kubernetes), the kernel
          leaves some of them out of C(/proc/net/ip_vs) as soon as the list is longer than a page of memory (seen with
          6.12). Root reads those over netlink. Without root, and in the tree of another root, a longer list counts as
          incomplete, and no virtual server is reported as missing.
      returned: when C(ipvs) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description: For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
          type: dict
          returned: always
          sample: {ip_vs: ok, addresses: ok, ipsets: ok, sysctls: ok, endpoints: absent}
        in_kernel:
          description: Whether the running kernel has IPVS loaded or built in; null where it is not known.
          type: bool
          returned: always
          sample: true
        virtual_servers: {description: Number of virtual servers., type: int, returned: always, sample: 42}
        real_servers: {description: Number of real servers of all virtual ones together., type: int, returned: always,
                       sample: 117}
        draining: {description: 'Number of real servers of weight 0, which take no new connections.', type: int,
                   returned: always, sample: 0}
        conn_reuse_mode: {description: Value of the sysctl C(net.ipv4.vs.conn_reuse_mode) or null., type: int,
                          returned: always, sample: 1}
        differing:
          description: Virtual servers of a bundle whose real servers are not the endpoints that kubectl printed; null for
                       other places and where no list of endpoints fits.
          type: list
          elements: dict
          returned: always
          contains:
            address: {description: Address of the virtual server., type: str, returned: always, sample: 10.96.0.1}
            port: {description: Its port., type: int, returned: always, sample: 443}
            protocol: {description: 'V(tcp), V(udp) or V(sctp).', type: str, returned: always, sample: tcp}
            missing: {description: Endpoints that it lacks., type: list, elements: str, returned: always,
                      sample: ['10.2.0.4:80']}
            extra: {description: Real servers that are no endpoints., type: list, elements: str, returned: always,
                    sample: ['10.50.4.32:6443']}
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
            held_servers:
              description: At most five addresses of real servers that are on this interface and on no other one of this
                node, so that packets for these machines do not leave the node; null where the addresses or the virtual
                servers could not be read.
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
          description: The virtual servers compared with kube-proxy's ipsets of ClusterIPs, external IPs, load
            balancers and NodePorts; null where kube-proxy does not run in ipvs mode. A difference is read a second time.
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
            because: {description: Why not all was compared or which set is empty; otherwise empty., type: str,
                      returned: always, sample: ''}
        leftover:
          description: Whether objects of the ipvs mode are there although kube-proxy runs in another; null where it is
            not known.
          type: bool
          returned: always
          sample: false
        sysctls:
          description: The sysctls that kube-proxy sets to 1 in ipvs mode.
          type: list
          elements: dict
          returned: always
          contains:
            key: {description: Its name., type: str, returned: always, sample: net.ipv4.vs.conntrack}
            now: {description: The current value; null where it could not be read., type: int, returned: always,
                  sample: 0}
            want: {description: The value that kube-proxy sets., type: int, returned: always, sample: 1}
            by: {description: The line of sysctl.d that sets the current value; or null., type: str, returned: always,
                 sample: '/etc/sysctl.d/90-lvs.conf:2'}
        leftover_because: {description: The evidence., type: str, returned: always,
                           sample: kube-proxy runs in ipvs mode}
    node_kubelet:
      description:
        - The service that owns kubelet (kubelet itself, k3s, RKE2, k0s or MicroK8s), the services that its restart
          interrupts, its version, since when it runs, the settings that concern netfilter, and for each family whether
          kubelet has set up its chains.
        - kubelet creates its chains once, at its start. If that fails, for example because a firewall service is
          restarted in this moment, it logs no error and never tries again. The fix is a restart of the service that
          owns kubelet.
        - The evidence is kubelet's own chains, and its log where the journal can be read. Only the first ten minutes
          after its start are searched. Only a few numbers and words of its configuration are kept.
        - C(kubelet --version), C(systemctl show), C(journalctl) and C(iptables-save) are run.
      returned: when C(kubelet) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - C(rules) and C(journal) are V(absent) where they were not needed.
          type: dict
          returned: always
          sample: {config: ok, journal: ok, processes: ok, rules: ok, unit: ok, version: ok}
        running: {description: Whether one runs; null where processes may not be seen., type: bool, returned: always,
                  sample: true}
        distribution: {description: 'V(kubelet), V(k3s), V(rke2), V(k0s), V(microk8s) or null.', type: str,
                       returned: always, sample: kubelet}
        installed: {description: Path of the program or null., type: str, returned: always, sample: /usr/bin/kubelet}
        version: {description: Its version or null., type: str, returned: always, sample: 1.31.2}
        version_source: {description: Source of the version., type: str, returned: always,
                         sample: /usr/bin/kubelet --version}
        version_doubt:
          description: Why another version may run than the one that was asked, or null.
          type: str
          returned: always
          sample: null
        pid: {description: The process that is kubelet or contains it; null where none runs., type: int,
              returned: always, sample: 812}
        started_seconds_ago: {description: Since when that process runs., type: float, returned: always,
                              sample: 86340.5}
        unit:
          description: The service of systemd that the process belongs to; null where it belongs to none.
          type: dict
          returned: always
          contains:
            name: {description: Its name., type: str, returned: always, sample: k3s-agent.service}
            active_seconds: {description: Since when it is active; null where it is not known., type: float,
                             returned: always, sample: 86341.0}
            restarts: {description: Number of automatic restarts by systemd., type: int, returned: always, sample: 0}
            kill_mode: {description: Its KillMode., type: str, returned: always, sample: process}
            stops: {description: Components that stop and start with kubelet., type: list, elements: str,
                    returned: always, sample: [containerd, kube-proxy]}
            units: {description: Units that systemd restarts with it., type: list, elements: str, returned: always,
                    sample: []}
            containers:
              description: V(keep_running), V(stop), or null where it is not known.
              type: str
              returned: always
              sample: keep_running
            effect:
              description: Effect of a restart, as a sentence.
              type: str
              returned: always
              sample: it stops and starts containerd, kube-proxy with kubelet; containers keep running
        config:
          description: Where its settings come from; null where none runs.
          type: dict
          returned: always
          contains:
            file: {description: Value of C(--config)., type: str, returned: always,
                   sample: /var/lib/kubelet/config.yaml}
            directory: {description: Value of C(--config-dir)., type: str, returned: always, sample: null}
            drop_ins: {description: 'Names of the files there that count, at most ten.', type: list, elements: str,
                       returned: always, sample: []}
        settings:
          description: Its settings; each is null where its source could not be read.
          type: dict
          returned: always
          contains:
            port: {description: Where it serves., type: int, returned: always, sample: 10250}
            read_only_port: {description: Where it serves without authentication; V(0) means nowhere., type: int,
                             returned: always, sample: 0}
            healthz_port: {description: Port of its health check., type: int, returned: always, sample: 10248}
            make_iptables_util_chains: {description: Whether it makes chains., type: bool, returned: always,
                                        sample: true}
            iptables_masquerade_bit: {description: Bit of the mark for masquerading., type: int, returned: always,
                                      sample: 14}
            iptables_drop_bit: {description: Bit of the mark for dropping., type: int, returned: always, sample: 15}
            hairpin_mode: {description: How hairpin packets are handled., type: str, returned: always,
                           sample: promiscuous-bridge}
        initialisation:
          description: Whether it has set up its chains; null where no kubelet runs.
          type: dict
          returned: always
          contains:
            expected: {description: Whether it makes chains once; null where it is not known., type: bool,
                       returned: always, sample: true}
            because: {description: Why., type: str, returned: always,
                      sample: 'kubelet creates its chains once, at its start'}
            failed: {description: Families for which only a restart helps., type: list, elements: str, returned: always,
                     sample: []}
            families:
              description: One row for each family.
              type: list
              elements: dict
              returned: always
              contains:
                family: {description: V(ipv4) or V(ipv6)., type: str, returned: always, sample: ipv4}
                state:
                  description:
                    - V(done).
                    - V(failed) and V(unwatched) (chains of an earlier kubelet are there, this one does not look after
                      them) need a restart.
                    - V(flushed) (kubelet makes its chains anew within a minute), V(hint_deleted) (the hint alone is
                      gone, and kubelet does not notice), V(starting) (it runs for less than a minute), V(unused) (the
                      family is not used, or the node has no iptables), V(unknown).
                  type: str
                  returned: always
                  sample: done
                because: {description: The evidence for it., type: str, returned: always,
                          sample: its canary and its hint exist}
                hint:
                  description: Whether KUBE-IPTABLES-HINT is in mangle of a backend; null where it is not known.
                  type: bool
                  returned: always
                  sample: true
                canary: {description: The same of KUBE-KUBELET-CANARY., type: bool, returned: always, sample: true}
                log_line:
                  description: Its log line about the set-up, or null.
                  type: str
                  returned: always
                  sample: Initialized iptables rules. protocol=IPv4
                restart: {description: Command that restarts it., type: str, returned: always,
                          sample: systemctl restart kubelet.service}
                effect: {description: Other effects of that command., type: str, returned: always,
                         sample: containers keep running}
    node_kube_proxy:
      description:
        - Whether kube-proxy works, and whether the kernel holds the rules that it wrote. Its C(/healthz) returns 200
          without a single rule, after a flush of all rules, and in the first minute of every failure.
        - kube-proxy is found by the process that listens on port 10249 or 10256, also in k3s, RKE2, k0s and MicroK8s.
          C(/proxyMode), C(/configz), C(/metrics), C(/healthz) and C(/livez) are read on this node, without a proxy,
          without following a redirect, and for at most three seconds. Metrics of kube-proxy 1.20 to 1.36 are known.
        - Without O(metrics_src) and O(healthz_src) the rules are read with C(iptables-save), and their number compared
          with the number that kube-proxy reports for each family and table.
      returned: when C(kube_proxy) is asked for
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          {description: 'For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).', type: dict,
           returned: always,
           sample: {cgroup: ok, children: ok, config: ok, configz: ok, healthz: ok, livez: ok, metrics: ok,
                    processes: ok, proxy_mode: ok, sockets: ok, version: ok}}
        running:
          description:
            - Whether it runs; null where processes may not be seen, or where the configuration of k3s, which may disable
              it, could not be read.
          type: bool
          returned: always
          sample: true
        pid: {description: Its process., type: int, returned: always, sample: 812}
        program: {description: Name of that process., type: str, returned: always, sample: kube-proxy}
        state:
          {description: State of that process as C(ps) prints it; V(T) is stopped., type: str, returned: always,
           sample: S}
        found_by:
          {description: How it was found., type: str, returned: always, sample: the process that listens on port 10249}
        replaced_by:
          description:
            - Another program that does the work of kube-proxy where no kube-proxy runs. It listens on the ports of
              kube-proxy, or its settings show it (Cilium, Calico, kube-router, OVN-Kubernetes, Antrea).
          type: str
          returned: always
          sample: null
        outage:
          description:
            - The evidence of a kube-proxy that does not run, or whose container restarts again and again; null where
              one runs well, where another program does its work, and outside of a live node.
            - It is read from files of kubelet, systemd and the container runtime; the runtime is not queried.
          returned: always
          type: dict
          contains:
            state:
              description:
                - V(missing) for more than two minutes, V(short) for less, V(restarting) again and again, V(disabled) by
                  a setting of k3s, or V(unknown).
              type: str
              returned: always
              sample: restarting
            seconds:
              {description: For how long at least no kube-proxy has run; null where that is not known., type: float,
               returned: always, sample: 75.2}
            because:
              {description: The evidence for it., type: str, returned: always,
               sample: 'its last container in pod kube-system/kube-proxy-hx7cw: ended 75 s ago, exit code 1 (Error)'}
            container:
              description: Its last container that ended; null where no log of it is on the node.
              returned: always
              type: dict
              contains:
                id: {description: First digits of its ID., type: str, returned: always, sample: 5eed917563583}
                name: {description: Its name in the pod., type: str, returned: always, sample: kube-proxy}
                pod: {description: Name of the pod., type: str, returned: always, sample: kube-proxy-hx7cw}
                namespace: {description: Namespace of the pod., type: str, returned: always, sample: kube-system}
                restarts:
                  {description: 'Restarts in that pod, by the number of the newest log file.', type: int,
                   returned: always, sample: 12}
                exit_code: {description: Its exit code., type: int, returned: always, sample: 1}
                reason:
                  {description: 'Why it ended, such as V(Error) or V(OOMKilled).', type: str, returned: always,
                   sample: Error}
                message: {description: What the runtime reports of it., type: str, returned: always, sample: null}
                started_seconds_ago: {description: When it started., type: float, returned: always, sample: 76.0}
                ended_seconds_ago: {description: When it ended., type: float, returned: always, sample: 75.2}
                previous_started_seconds_ago:
                  {description: When the container before the newest one started., type: float, returned: always,
                   sample: 230.1}
                log:
                  {description: Its last lines without secrets., type: list, elements: str, returned: always,
                   sample: ['Error running ProxyServer err="iptables is not available on this host"']}
        container:
          description: The container that it runs in; null where it runs in none.
          returned: always
          type: dict
          contains:
            id: {description: First digits of its ID., type: str, returned: always, sample: 5eed917563583}
            name: {description: Its name in the pod., type: str, returned: always, sample: kube-proxy}
            pod: {description: Name of the pod., type: str, returned: always, sample: kube-proxy-hx7cw}
            namespace: {description: Namespace of the pod., type: str, returned: always, sample: kube-system}
            pod_uid: {description: UID of the pod., type: str, returned: always, sample: a5c1f8d5}
        restarts:
          {description: 'Restarts of that container, by the number of its log file.', type: int, returned: always,
           sample: 0}
        ports_off:
          {description: 'Ports that its flags switch off, V(metrics) and V(healthz).', type: list, elements: str,
           returned: always, sample: []}
        runs_in:
          {description: 'V(host), V(container), V(embedded) (in another program), or null.', type: str,
           returned: always, sample: container}
        mode:
          {description: 'The configured mode, V(iptables), V(ipvs), V(nftables) or null.', type: str, returned: always,
           sample: iptables}
        mode_source:
          {description: Source of this value., type: str, returned: always,
           sample: mode in /var/lib/kube-proxy/config.conf}
        effective_mode:
          {description: 'The mode that it runs in, by C(/proxyMode).', type: str, returned: always, sample: iptables}
        ipvs_scheduler: {description: Scheduler in ipvs mode., type: str, returned: always, sample: null}
        version:
          {description: Its version by its metrics; null where they do not show it., type: str, returned: always,
           sample: 1.31.2}
        sync_period_seconds:
          {description: C(iptables.syncPeriod) in C(/configz)., type: int, returned: always, sample: 30}
        cluster_cidr:
          {description: Ranges of pods that it is configured with; null where its settings could not be read.,
           type: list, elements: str, returned: always, sample: [10.244.0.0/16]}
        detect_local_mode:
          {description: How it detects local traffic; null is its default., type: str, returned: always, sample: null}
        masquerade_all:
          description: Whether it masquerades all traffic to Services; null where that could not be read.
          type: bool
          returned: always
          sample: false
        conntrack:
          description:
            - The settings of connection tracking that are set, as numbers and seconds; null where they could not be
              read.
          returned: always
          type: dict
          sample: {maxPerCore: 32768, tcpEstablishedTimeout: 86400}
        conntrack_by:
          {description: 'Program that applies them: V(kube-proxy), V(k3s) or null.', type: str, returned: always,
           sample: kube-proxy}
        tools:
          {description: 'For each program V(present), V(absent) or V(unknown), in the root kube-proxy runs in.',
           type: dict, returned: always, sample: {conntrack: absent, iptables: present}}
        files:
          description:
            - For each file that its programs need V(present), V(absent), V(unneeded) or V(unknown), in the same root.
          type: dict
          returned: always
          sample: {/etc/protocols: present, libm.so.6: present}
        lacks:
          description: The absent files that its mode needs.
          returned: always
          type: list
          elements: dict
          contains:
            name: {description: The file., type: str, returned: always, sample: libm.so.6}
            effect:
              {description: What happens without it., type: str, returned: always,
               sample: iptables cannot load this match}
        started_seconds_ago:
          {description: For how long it runs; null where it does not., type: float, returned: always, sample: 8640.2}
        starting:
          {description: 'Reason why its rules may not exist yet, in its first two minutes, or null.', type: str,
           returned: always, sample: null}
        tools_root: {description: That root as the node sees it., type: str, returned: always, sample: /proc/2211/root}
        health:
          description: What its health port returns; null where that could not be read.
          returned: always
          type: dict
          contains:
            healthz_code: {description: HTTP code of C(/healthz)., type: int, returned: always, sample: 200}
            livez_code:
              {description: HTTP code of C(/livez); null before 1.28., type: int, returned: always, sample: 200}
            node_eligible:
              {description: Whether load balancers may send traffic to this node; null before 1.28., type: bool,
               returned: always, sample: true}
            unhealthy_families:
              {description: 'Families that C(/healthz) reports as unhealthy, from 1.33 on.', type: list, elements: str,
               returned: always, sample: []}
        sync:
          description:
            - One row for each family. Before 1.33 both families share their metrics, which is one row with the family
              V(all).
          returned: always
          type: list
          elements: dict
          contains:
            family: {description: 'V(ipv4), V(ipv6) or V(all).', type: str, returned: always, sample: ipv4}
            never_synced:
              {description: Whether no sync succeeded since its start., type: bool, returned: always, sample: false}
            syncs: {description: Syncs since its start., type: int, returned: always, sample: 42}
            queued_seconds_ago:
              {description: When a sync was requested for the last time; null where the clock was set back.,
               type: float, returned: always, sample: 301.2}
            synced_seconds_ago:
              {description: When a sync succeeded for the last time. On a quiet cluster an hour is normal., type: float,
               returned: always, sample: 300.9}
            waiting:
              {description: Whether a sync was requested after the last one that succeeded; null if not known.,
               type: bool, returned: always, sample: false}
            waiting_seconds:
              {description: 'Since when at least a change waits, V(0) for none; null where the time is not known.',
               type: float, returned: always, sample: 0.0}
            behind_seconds:
              {description: How much later than the last sync that succeeded the last one was requested; null where none
                waits., type: float, returned: always, sample: null}
            duration_p50_seconds:
              {description: Half of the syncs took at most as long; null above the largest bucket of 16.384 seconds.,
               type: float, returned: always, sample: 0.051}
            duration_p95_seconds: {description: The same for 95 percent., type: float, returned: always, sample: 0.12}
            duration_p99_seconds: {description: The same for 99 percent., type: float, returned: always, sample: 0.24}
            duration_above_percent:
              {description: Percent of the syncs that took longer than the largest bucket., type: float,
               returned: always, sample: 0.0}
            programming_p50_seconds:
              description:
                - Half of the changes of endpoints took at most as long until they were programmed; null without one,
                  and above the largest bucket of 300 seconds.
              returned: always
              type: float
              sample: 0.6
            programming_p95_seconds: {description: The same for 95 percent., type: float, returned: always, sample: 1.2}
            programming_p99_seconds: {description: The same for 99 percent., type: float, returned: always, sample: 2.0}
            programming_above_percent:
              {description: Percent of these changes that took longer than the largest bucket., type: float,
               returned: always, sample: 0.0}
            restore_failures: {description: Failed restores since its start., type: int, returned: always, sample: 0}
            partial_restore_failures:
              {description: Those of them that were restores of changed Services only., type: int, returned: always,
               sample: 0}
            nftables_failures:
              {description: Failed nftables syncs since its start., type: int, returned: always, sample: 0}
            nftables_cleanup_failures:
              {description: Failed deletions of old nftables chains since its start., type: int, returned: always,
               sample: 0}
            no_local_endpoints:
              description: Number of Services with a Local traffic policy and no endpoint on this node.
              returned: always
              type: dict
              contains:
                external: {description: By externalTrafficPolicy., type: int, returned: always, sample: 2}
                internal: {description: By internalTrafficPolicy., type: int, returned: always, sample: 0}
        pending:
          description: Changes that no sync has taken up yet; null where metrics do not show them.
          returned: always
          type: dict
          contains:
            services: {description: Changes of Services., type: int, returned: always, sample: 0}
            endpoints: {description: Changes of endpoints., type: int, returned: always, sample: 0}
        api_requests:
          description: Requests to the API server since its start by HTTP code; V(none) counts those without an answer.
          returned: always
          type: dict
          sample: {'200': 412, none: 3}
        api_sockets:
          description: Its connections to the API server; null where they could not be read.
          returned: always
          type: dict
          contains:
            established: {description: Connections that are established., type: int, returned: always, sample: 1}
            connecting: {description: Connections without an answer yet., type: int, returned: always, sample: 0}
            other: {description: Connections that are being closed., type: int, returned: always, sample: 0}
            connecting_to:
              {description: Where the connections without an answer lead to., type: list, elements: str,
               returned: always, sample: []}
            readings:
              {description: How often they were read; more than once only where none was established., type: int,
               returned: always, sample: 1}
            seconds:
              {description: Time from the first to the last reading., type: float, returned: always, sample: 0.0}
        api_server:
          description: Why it has no connection to the API server; null where it has one.
          returned: always
          type: dict
          contains:
            addresses:
              {description: The addresses of the API server., type: list, elements: str, returned: always,
               sample: ['10.77.0.1:6443']}
            source:
              {description: Where the addresses come from., type: str, returned: always,
               sample: the server of its kubeconfig}
            because:
              description: What stops its packets, or that nothing on this node does.
              type: str
              returned: always
              sample: 'the route blackhole 10.77.0.1 (ip -4 route) stops its packets to 10.77.0.1:6443'
            blocked_by:
              description: Rules and routes of this node that stop its packets, at most five.
              returned: always
              type: list
              elements: dict
              contains:
                kind: {description: 'V(rule), V(policy) or V(route).', type: str, returned: always, sample: route}
                place:
                  {description: Its rule set and chain., type: str, returned: always, sample: ip -4 route}
                text: {description: The rule or route., type: str, returned: always, sample: blackhole 10.77.0.1}
                address:
                  {description: The address whose packets it stops., type: str, returned: always,
                   sample: '10.77.0.1:6443'}
                certain:
                  {description: Whether it certainly applies to kube-proxy., type: bool, returned: always,
                   sample: true}
                undo:
                  {description: The command that removes it; null where there is no single command., type: str,
                   returned: always, sample: ip -4 route del blackhole 10.77.0.1}
        api_watch:
          description: State of its watch of the API server; null where no kube-proxy runs.
          returned: always
          type: dict
          contains:
            state:
              {description: 'V(working), V(failing), V(disconnected) (no connection is established) or V(unknown).',
               type: str, returned: always, sample: working}
            because:
              {description: The evidence for it., type: str, returned: always,
               sample: 3 requests were answered and 0 failed in 60 s; 1 connections to the API server are established}
        window:
          description: Changes between two readings; null without O(window_seconds).
          returned: always
          type: dict
          contains:
            seconds: {description: Time between both readings., type: float, returned: always, sample: 60.2}
            restarted:
              {description: Whether kube-proxy was restarted meanwhile., type: bool, returned: always, sample: false}
            syncs: {description: Syncs in that time., type: int, returned: always, sample: 2}
            syncs_per_minute: {description: The same as a rate., type: float, returned: always, sample: 1.99}
            failures:
              {description: Failed restores and nftables syncs in that time., type: int, returned: always, sample: 0}
            api_requests:
              {description: Requests to the API server in that time by HTTP code., type: dict, returned: always,
               sample: {'200': 3}}
        rules:
          description: 'Rules that kube-proxy reports against those in the kernel, one row for each family and table.'
          returned: always
          type: list
          elements: dict
          contains:
            family: {description: 'As in RV(ignore:sync).', type: str, returned: always, sample: ipv4}
            table: {description: The table., type: str, returned: always, sample: nat}
            promised: {description: The number that kube-proxy reports., type: int, returned: always, sample: 314}
            in_kernel: {description: The number in the kernel., type: int, returned: always, sample: 314}
            state:
              {description: 'V(equal), V(fewer), V(more) or V(unknown).', type: str, returned: always, sample: equal}
            because: {description: Why it is unknown, type: str, returned: always, sample: ''}
        rules_because:
          {description: 'Why RV(ignore:rules) is empty, or empty.', type: str, returned: always, sample: ''}
        resources:
          description: Use and limits of its cgroup; null where they could not be read.
          returned: always
          type: dict
          contains:
            memory_limit_bytes:
              {description: Limit of its memory; null for none., type: int, returned: always, sample: null}
            memory_used_bytes:
              {description: Its memory without inactive page cache., type: int, returned: always, sample: 41943040}
            memory_percent: {description: The use in percent of the limit., type: float, returned: always, sample: null}
            oom_kills: {description: OOM kills in its cgroup or pod., type: int, returned: always, sample: 0}
            oom_killed_recently:
              {description: Whether one of them was within a day; null where that is not known., type: bool,
               returned: always, sample: false}
            cpu_quota_percent:
              {description: Its CPU limit in percent of one CPU., type: float, returned: always, sample: null}
            throttled_percent:
              {description: Percent of the CPU periods in which it was throttled., type: float, returned: always,
               sample: 0.0}
            throttled_seconds:
              {description: Time for which it was throttled., type: float, returned: always, sample: 0.0}
        children:
          description: 'Programs of netfilter that it runs now, the oldest first, at most five.'
          returned: always
          type: list
          elements: dict
          contains:
            pid: {description: The process., type: int, returned: always, sample: 4711}
            command:
              {description: Its command without secrets., type: str, returned: always,
               sample: iptables-restore -w 5 --noflush --counters}
            age_seconds: {description: For how long it runs., type: float, returned: always, sample: 0.1}
            state: {description: Its state as C(ps) prints it., type: str, returned: always, sample: S}
        modes:
          description: Which proxy modes the kernel and the programs of this node allow.
          returned: always
          type: list
          elements: dict
          contains:
            mode: {description: 'V(iptables), V(ipvs) or V(nftables).', type: str, returned: always, sample: nftables}
            possible:
              {description: Whether it could run; null where that is not known., type: bool, returned: always,
               sample: true}
            because:
              {description: The reason., type: str, returned: always, sample: the kernel and all programs support it}
        advice: {description: The mode to prefer., type: str, returned: always, sample: iptables}
    node_cni:
      description:
        - The network plugin (CNI), the configuration file that the container runtime uses, files that it refuses, files
          that another one hides, whether each program of the chain is installed, and whether the agent of the network
          plugin runs. No program of the CNI is run.
        - The directories that the container runtime is configured with are read (C(config.toml) of containerd, also of
          k3s, RKE2, k0s and MicroK8s; C(crio.conf) and its drop-ins; the flags of cri-dockerd), and every CNI
          configuration file there as libcni reads it. A file larger than 256 KiB is not read.
        - The leases of the IPAM plugin C(host-local) are compared with its ranges and with the pod sandboxes of
          containerd, CRI-O or cri-dockerd.
      returned: when C(cni) is asked for
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
                - As RV(ansible_facts.node_kube_proxy.outage), of the agent's
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
          description: MTU of pods and of the uplink; null outside of a live node and of a bundle that shows both, without
            a pod or a setting of the MTU, and for plugins other than bridge, C(ptp), C(flannel), Calico, C(aws-cni),
            Antrea, OVN-Kubernetes and the fast datapath of Weave.
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
            - Directly connected networks of the interfaces that default routes use, at most eight. Only a live node and a
              bundle with routes have any, and bridges and tunnels of pods are not among them.
          type: list
          elements: dict
          returned: always
          contains:
            family: {description: Address family., type: str, returned: always, sample: ipv4}
            network: {description: The network., type: str, returned: always, sample: 192.0.2.0/24}
            interface: {description: The interface., type: str, returned: always, sample: eth0}
        pod_networks:
          description: The networks of all pods in C(/run/flannel/subnet.env); empty where flannel does not run here.
          type: list
          elements: str
          returned: always
          sample: [10.244.0.0/16]
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
    node_logs:
      description: What kube-proxy, kubelet, network plugins, the container runtime and the kernel wrote in the last 15
        minutes, as far as it may have a cause, see M(kubenode.netfilter.log_info).
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

from ..module_utils._look import tree
from ..module_utils._look.node import NOT_REQUESTED, SECTIONS, UNASKED, collect_from


def main():
    module = AnsibleModule(argument_spec=dict(
        tree.TREE_OPTIONS,
        gather_subset={"type": "list", "elements": "str", "choices": list(SECTIONS)},
        modules={"type": "list", "elements": "str"},
        kernel={"type": "str"},
        hook_directories={"type": "list", "elements": "str"},
        window_seconds={"type": "int", "default": 0},
        top={"type": "bool", "default": False},
        kernel_log={"type": "bool", "default": False},
        metrics_src={"type": "path"},
        healthz_src={"type": "path"},
    ), supports_check_mode=True)
    given = module.params
    tree.exit_with_facts(module, lambda host, node: collect_from(
        host, node, given["gather_subset"] or UNASKED, given["modules"], given["kernel"], given["hook_directories"],
        **{name: given[name] for name in NOT_REQUESTED}))


if __name__ == "__main__":
    main()
