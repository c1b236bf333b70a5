#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.conntrack_facts."""

DOCUMENTATION = r"""
module: conntrack_facts
short_description: Report the use of the conntrack table, lost connections, and the programs that set its limits
version_added: 0.1.0
description:
  - When the conntrack table is full, the kernel drops new connections. The limit is set by the kernel, by sysctl.d, by
    options of the module nf_conntrack, by ufw or tuned, and by kube-proxy, some versions of which lower a raised limit
    at their start.
  - The module returns the current limit, connections and buckets, the memory of a full table, and the losses since the
    boot. For each sysctl that connections and bridges of Kubernetes depend on, it returns the value now, at the next
    boot, and after kube-proxy's next start, and the file or program that sets it.
  - Counters are the kernel's own, by the names of its columns. A kernel that has no C(/proc/net/stat/nf_conntrack) is
    asked over netlink, where the module nf_conntrack_netlink is loaded.
  - C(dmesg) is run if connections were lost, and C(conntrack -L) if O(top) is set. Nothing is changed and no module is
    loaded.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  window_seconds:
    description: Seconds, V(0) to V(300), for which counters and connections are watched, to return rates and the
      highest count.
    type: int
    default: 0
  top:
    description:
      - Count the connections by protocol and state with C(conntrack -L).
      - On a node with a million connections that takes seconds, and one processor meanwhile. It ends after 20 seconds.
    type: bool
    default: false
  kernel_log:
    description: Look for lines about a full table in the log of the kernel also if the counters show no loss.
    type: bool
    default: false
seealso:
  - module: kubenode.netfilter.node_facts
  - plugin: kubenode.netfilter.conntrack_size
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at connection tracking
  kubenode.netfilter.conntrack_facts:

- name: Watch it for half a minute, and tell who fills it
  kubenode.netfilter.conntrack_facts:
    window_seconds: 30
    top: true

- name: Name the settings that will be others after the next boot
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_conntrack['sysctls'] | selectattr('survives', 'equalto', false) | map(attribute='key')
      }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_conntrack:
      description: The section C(conntrack) of the evidence. Current figures are null where the place is not live or
        nf_conntrack is not loaded.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - C(consumers) and C(kernel_log) are V(absent) where they were not needed.
          type: dict
          returned: always
          sample: {consumers: absent, counters: ok, kernel_log: absent, module_options: ok, slab: ok, sysctl_d: ok,
                   sysctls: ok, table: ok}
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
            - Packets that were lost while this module looked, or in O(window_seconds) where that is longer; null where
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
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.conntrack.conntrack import collect_conntrack
from ..module_utils._look.kube.kube_proxy import collect_kube_proxy
from ..module_utils._look.kube.kubelet import collect_kubelet


def main():
    options = dict(
        tree.TREE_OPTIONS,
        window_seconds={"type": "int", "default": 0},
        top={"type": "bool", "default": False},
        kernel_log={"type": "bool", "default": False},
    )
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    requested = {name: module.params[name] for name in ("window_seconds", "top", "kernel_log")}
    call.exit_with_facts(module, lambda host, node: {"node_conntrack": collect_conntrack(
        host, node, collect_kube_proxy(host, node), lambda: collect_kubelet(host, node)["version"], None, requested)})


if __name__ == "__main__":
    main()
