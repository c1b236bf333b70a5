#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.kubelet_facts."""

DOCUMENTATION = r"""
module: kubelet_facts
short_description: Report the service that runs kubelet, and whether kubelet has set up its chains
version_added: 0.1.0
description:
  - kubelet creates its chains once, at its start. If that fails, for example because a firewall service is restarted in
    this moment, it logs no error and never tries again. The fix is a restart of the service that owns kubelet.
  - It returns that service (of kubelet itself, or of k3s, RKE2, k0s or MicroK8s), the services that its restart
    interrupts, its version, since when it runs, the settings that concern netfilter, and for each family whether
    kubelet has set up its chains.
  - The evidence is kubelet's own chains, and its log where the journal can be read. Only the first ten minutes after
    its start are searched.
  - Only a few numbers and words of kubelet's configuration and of k3s' configuration are kept.
  - C(kubelet --version), C(systemctl show), C(journalctl) and C(iptables-save) are run. Nothing is changed.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.iptables_chain_audit
"""

EXAMPLES = r"""
- name: Look at kubelet
  kubenode.netfilter.kubelet_facts:

- name: Tell what has to be restarted
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_kubelet.unit.name }}: {{ ansible_facts.node_kubelet.unit.effect }}"
  when: ansible_facts.node_kubelet.initialisation.failed | default([]) | length > 0
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_kubelet:
      description: The section C(kubelet) of the evidence.
      returned: success
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
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.kube.kubelet import collect_kubelet


def main():
    module = AnsibleModule(argument_spec=tree.TREE_OPTIONS, supports_check_mode=True)
    call.exit_with_facts(module, lambda host, node: {"node_kubelet": collect_kubelet(host, node)})


if __name__ == "__main__":
    main()
