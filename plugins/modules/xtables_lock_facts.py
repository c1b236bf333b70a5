#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.xtables_lock_facts."""

DOCUMENTATION = r"""
module: xtables_lock_facts
short_description: Report the holder of the xtables lock, its waiters, and whether all agents share it
version_added: 0.1.0
description:
  - Legacy iptables changes rules under a lock, mostly C(/run/xtables.lock). A process that does not release it blocks
    every other one; an agent in a container with a lock of its own is not blocked by that process.
  - It returns the holder and the waiters with command, age, container and pod, restores that hang, for each agent in
    the network of the node whether it has the same lock, and whether any program takes the lock. nft writers take no
    lock.
  - It reads C(/proc/locks) and the processes in C(/proc), and calls C(stat) on the lock file. The file is never opened
    and never locked, no program is run, no table is created.
  - Pods are named by the folders below C(/var/log/pods), containers by the links in C(/var/log/containers); no runtime
    is asked.
  - From inside a container, locks of other processes cannot be seen. Then RV(ansible_facts.node_xtables_lock.collected)
    reports it, and the lock may be held although no holder is returned.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  path:
    description:
      - The lock file.
      - The default is what the environment variable E(XTABLES_LOCKFILE) of the agents names, where all of them name the
        same, otherwise V(/run/xtables.lock).
    type: str
  hung_after_seconds:
    description: Seconds after which a running restore is reported as hung.
    type: int
    default: 300
  window_seconds:
    description:
      - Seconds, V(0) to V(60), for which the lock is watched, to return the share of time that it was held.
      - The lock is looked at every 0.05 seconds, shorter holds may be missed.
    type: int
    default: 0
seealso:
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Look at the lock
  kubenode.netfilter.xtables_lock_facts:

- name: Watch the lock for half a minute
  kubenode.netfilter.xtables_lock_facts:
    window_seconds: 30

- name: Name the agents that do not share the lock of the node
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_xtables_lock.agents | selectattr('lock', 'equalto', 'private') | map(attribute='comm')
      }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_xtables_lock:
      description: The section C(xtables_lock) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - C(locks) is V(denied) where no holder is seen and locks of others would not be seen either.
          type: dict
          returned: always
          sample: {locks: ok, processes: ok, lock_file: ok, uptime: ok}
        path: {description: The lock file., type: str, returned: always, sample: /run/xtables.lock}
        path_source: {description: Source of this value., type: str, returned: always, sample: the default of iptables}
        kind:
          description: V(file), V(absent), V(directory) or V(other); null where it may not be seen or no place is live.
          type: str
          returned: always
          sample: file
        device: {description: Device of the file in hexadecimal numbers or null., type: str, returned: always,
                 sample: '00:19'}
        inode: {description: Inode of the file or null., type: int, returned: always, sample: 1467}
        matters:
          description: Whether a program on this node takes the lock; null where it is not known.
          type: bool
          returned: always
          sample: true
        matters_because:
          description: Why.
          type: str
          returned: always
          sample: 'legacy tables exist (filter, nat): every legacy iptables that touches them takes the lock'
        doubt:
          description: Why the locks may be those of another file, or null.
          type: str
          returned: always
          sample: null
        holder:
          description: The holder of the lock, or null.
          type: dict
          returned: always
          contains:
            pid: {description: The process that took the lock or asks for it., type: int, returned: always,
                  sample: 4711}
            alive:
              description: Whether that process still has it; null where that is not known.
              type: bool
              returned: always
              sample: true
            held_through_pid:
              description: The process that has the lock open, a child for example where the one that took it has ended;
                or null.
              type: int
              returned: always
              sample: 4711
            comm: {description: Name of the process that has it or waits., type: str, returned: always,
                   sample: iptables-restor}
            command:
              description: 'Its command line, at most 120 characters, without what looks like a secret.'
              type: str
              returned: always
              sample: iptables-restore -w 5 --noflush --counters
            started_seconds_ago: {description: For how long it runs., type: float, returned: always, sample: 41.3}
            age_seconds: {description: For how long it has held the lock or waited., type: float, returned: always,
                          sample: 41.3}
            age_is:
              description:
                - V(at_most) (its own age is the limit), V(at_least) (it is no program that runs for one change; it was
                  watched and did not let go, or others wait for so long), or V(over) (it let go while it was watched).
              type: str
              returned: always
              sample: at_most
            who:
              description: Name of the process with its pod or container, for readers.
              type: str
              returned: always
              sample: kube-proxy in pod kube-system/kube-proxy-hx7cw
            container:
              description: The container it runs in, or null.
              type: dict
              returned: always
              contains:
                id: {description: The first 13 digits of its ID or null., type: str, returned: always,
                     sample: 5eed917563583}
                name: {description: Name of the container or null., type: str, returned: always, sample: kube-proxy}
                pod: {description: Name of the pod or null., type: str, returned: always, sample: kube-proxy-hx7cw}
                namespace: {description: Its namespace or null., type: str, returned: always, sample: kube-system}
                pod_uid: {description: Its UID or null., type: str, returned: always,
                          sample: a5c1f8d5-1919-434d-add7-4afaafdaef89}
        waiters:
          description: 'Its waiters, at most five.'
          type: list
          elements: dict
          returned: always
          contains:
            pid: {description: The process that took the lock or asks for it., type: int, returned: always,
                  sample: 4711}
            alive:
              description: Whether that process still has it; null where that is not known.
              type: bool
              returned: always
              sample: true
            held_through_pid:
              description: The process that has the lock open, a child for example where the one that took it has ended;
                or null.
              type: int
              returned: always
              sample: 4711
            comm: {description: Name of the process that has it or waits., type: str, returned: always,
                   sample: iptables-restor}
            command:
              description: 'Its command line, at most 120 characters, without what looks like a secret.'
              type: str
              returned: always
              sample: iptables-restore -w 5 --noflush --counters
            started_seconds_ago: {description: For how long it runs., type: float, returned: always, sample: 41.3}
            age_seconds: {description: For how long it has held the lock or waited., type: float, returned: always,
                          sample: 41.3}
            age_is:
              description:
                - V(at_most) (its own age is the limit), V(at_least) (it is no program that runs for one change; it was
                  watched and did not let go, or others wait for so long), or V(over) (it let go while it was watched).
              type: str
              returned: always
              sample: at_most
            who:
              description: Name of the process with its pod or container, for readers.
              type: str
              returned: always
              sample: kube-proxy in pod kube-system/kube-proxy-hx7cw
            container:
              description: The container it runs in, or null.
              type: dict
              returned: always
              contains:
                id: {description: The first 13 digits of its ID or null., type: str, returned: always,
                     sample: 5eed917563583}
                name: {description: Name of the container or null., type: str, returned: always, sample: kube-proxy}
                pod: {description: Name of the pod or null., type: str, returned: always, sample: kube-proxy-hx7cw}
                namespace: {description: Its namespace or null., type: str, returned: always, sample: kube-system}
                pod_uid: {description: Its UID or null., type: str, returned: always,
                          sample: a5c1f8d5-1919-434d-add7-4afaafdaef89}
        waiter_count: {description: Number of waiters., type: int, returned: always, sample: 2}
        hung:
          description: 'Restores older than RV(ansible_facts.node_xtables_lock.hung_after_seconds), the oldest first, at
            most five.'
          type: list
          elements: dict
          returned: always
          contains:
            pid: {description: Process., type: int, returned: always, sample: 4711}
            command: {description: Its command line without secrets., type: str, returned: always,
                      sample: iptables-restore --noflush}
            age_seconds: {description: For how long it runs., type: float, returned: always, sample: 912.4}
            state: {description: 'Its state as in /proc/PID/stat; a kill does not help in V(D).', type: str,
                    returned: always, sample: S}
            waits_for_lock: {description: Whether it waits for a lock; null where it is not known., type: bool,
                             returned: always, sample: true}
            who:
              description: Name of the process with its pod or container, for readers.
              type: str
              returned: always
              sample: kube-proxy in pod kube-system/kube-proxy-hx7cw
            container:
              description: The container it runs in, or null.
              type: dict
              returned: always
              contains:
                id: {description: The first 13 digits of its ID or null., type: str, returned: always,
                     sample: 5eed917563583}
                name: {description: Name of the container or null., type: str, returned: always, sample: kube-proxy}
                pod: {description: Name of the pod or null., type: str, returned: always, sample: kube-proxy-hx7cw}
                namespace: {description: Its namespace or null., type: str, returned: always, sample: kube-system}
                pod_uid: {description: Its UID or null., type: str, returned: always,
                          sample: a5c1f8d5-1919-434d-add7-4afaafdaef89}
        hung_count: {description: Number of hung restores., type: int, returned: always, sample: 1}
        hung_after_seconds: {description: The limit., type: int, returned: always, sample: 300}
        agents:
          description: 'Programs in the network of the node that change rules or have them changed, at most sixteen.'
          type: list
          elements: dict
          returned: always
          contains:
            pid: {description: Process., type: int, returned: always, sample: 812}
            comm: {description: Its name., type: str, returned: always, sample: kube-proxy}
            who:
              description: Name of the process with its pod or container, for readers.
              type: str
              returned: always
              sample: kube-proxy in pod kube-system/kube-proxy-hx7cw
            container:
              description: The container it runs in, or null.
              type: dict
              returned: always
              contains:
                id: {description: The first 13 digits of its ID or null., type: str, returned: always,
                     sample: 5eed917563583}
                name: {description: Name of the container or null., type: str, returned: always, sample: kube-proxy}
                pod: {description: Name of the pod or null., type: str, returned: always, sample: kube-proxy-hx7cw}
                namespace: {description: Its namespace or null., type: str, returned: always, sample: kube-system}
                pod_uid: {description: Its UID or null., type: str, returned: always,
                          sample: a5c1f8d5-1919-434d-add7-4afaafdaef89}
            path: {description: Path of the lock that it uses., type: str, returned: always, sample: /run/xtables.lock}
            lock:
              description:
                - V(shared) (it is the node's), V(private) (another file), V(directory), V(absent) (none is there, so it
                  has not used legacy iptables yet) or V(unknown).
              type: str
              returned: always
              sample: shared
            reason: {description: Why., type: str, returned: always,
                     sample: the same file as /run/xtables.lock of the node}
        agents_left_out: {description: How many more there are., type: int, returned: always, sample: 0}
        sample:
          description: Result of watching the lock; null where it was not requested or not possible.
          type: dict
          returned: always
          contains:
            seconds: {description: For how long., type: float, returned: always, sample: 30.0}
            readings: {description: Number of readings., type: int, returned: always, sample: 590}
            held_percent: {description: Share of the readings that showed a holder., type: float, returned: always,
                           sample: 3.4}
            longest_hold_seconds:
              description: 'The longest hold by one process, to 0.05 seconds.'
              type: float
              returned: always
              sample: 0.35
            holders:
              description: 'Its holders, the most frequent first, at most five.'
              type: list
              elements: dict
              returned: always
              contains:
                pid: {description: Process that took it., type: int, returned: always, sample: 4711}
                comm: {description: Its name or null., type: str, returned: always, sample: iptables-restor}
                readings: {description: Number of readings that showed it., type: int, returned: always, sample: 20}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import tree
from ..module_utils._look.lock.xtables_lock import HUNG_AFTER_SECONDS, collect_xtables_lock


def main():
    options = dict(tree.TREE_OPTIONS, path={"type": "str"},
                   hung_after_seconds={"type": "int", "default": HUNG_AFTER_SECONDS},
                   window_seconds={"type": "int", "default": 0})
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    given = [module.params[name] for name in ("path", "hung_after_seconds", "window_seconds")]
    tree.exit_with_facts(module, lambda host, node: {"node_xtables_lock": collect_xtables_lock(host, node, *given)})


if __name__ == "__main__":
    main()
