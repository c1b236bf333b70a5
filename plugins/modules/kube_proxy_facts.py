#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.kube_proxy_facts."""

DOCUMENTATION = r"""
module: kube_proxy_facts
short_description: Report whether kube-proxy works, and whether the kernel holds the rules that it wrote
version_added: 0.1.0
description:
  - C(/healthz) of kube-proxy returns 200 without a single rule, after a flush of all rules, and in the first minute of
    every failure. This module reports what shows the difference.
  - It finds kube-proxy by the process that listens on port 10249 or 10256, also in k3s, RKE2, k0s and MicroK8s, and
    reads C(/proxyMode), C(/configz), C(/metrics), C(/healthz) and C(/livez) on this node, without a proxy, without
    following a redirect, and for at most three seconds. Metrics of kube-proxy 1.20 to 1.36 are known.
  - Without O(metrics_src) and O(healthz_src) it reads the rules with C(iptables-save) and compares their number with
    the number that kube-proxy reports for each family and table. Nothing is changed.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  window_seconds:
    description:
      - Seconds, V(0) to V(300), between two readings of the metrics, to return rates and the state of the API watch.
      - A watch that works sends no request for minutes, so give V(60) or more.
    type: int
    default: 0
  metrics_src:
    description:
      - A file with the answer of C(/metrics), with or without the HTTP header. The node itself is not asked then.
      - Ages are known if O(healthz_src) was saved at the same time.
    type: path
  healthz_src:
    description: A file with the answer of C(/healthz), with or without the HTTP header.
    type: path
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.iptables_chain_audit
  - module: kubenode.netfilter.xtables_lock_facts
"""

EXAMPLES = r"""
- name: Look at kube-proxy
  kubenode.netfilter.kube_proxy_facts:

- name: Watch its syncs and its requests to the API server for a minute
  kubenode.netfilter.kube_proxy_facts:
    window_seconds: 60

- name: Read the metrics of a support bundle on the controller
  kubenode.netfilter.kube_proxy_facts:
    metrics_src: /tmp/bundle/worker-a/metrics.txt
    healthz_src: /tmp/bundle/worker-a/healthz.txt
  delegate_to: localhost

- name: Show the tables that hold other rules than kube-proxy wrote
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_kube_proxy.rules | rejectattr('state', 'equalto', 'equal') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_kube_proxy:
      description: The section C(kube_proxy) of the evidence.
      returned: success
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
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.kube.kube_proxy_facts import collect_kube_proxy_facts


def main():
    options = dict(
        tree.TREE_OPTIONS,
        window_seconds={"type": "int", "default": 0},
        metrics_src={"type": "path"},
        healthz_src={"type": "path"},
    )
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    paths = {source: module.params[source + "_src"] for source in ("metrics", "healthz")}
    call.exit_with_facts(module, lambda host, node: {"node_kube_proxy": collect_kube_proxy_facts(
        host, node, module.params["window_seconds"], {source: path for source, path in paths.items() if path})})


if __name__ == "__main__":
    main()
