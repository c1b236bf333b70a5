#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.conntrack."""

DOCUMENTATION = r"""
module: conntrack
short_description: Set the size of a node's conntrack table, now and at boot
version_added: 0.1.0
description:
  - Sets the limit of the conntrack table, its buckets and timeouts, and the sysctls of bridges and forwarding, as one
    set. The requested values are written into one file below C(/etc/sysctl.d) whose name sorts last, the modules that
    bring the keys into one below C(/etc/modules-load.d), and the values are set in the running kernel.
  - The limit and the buckets are raised; only O(lower) allows to lower them. A value that another file of C(sysctl.d)
    sets is not lowered either.
  - If buckets and a limit are set at boot, one file below C(/etc/modprobe.d) sets the buckets for the module as well
    (C(hashsize)). That option alone would make the limit eight times as much, so it is never written without the line
    for the limit. It has no effect where nf_conntrack is built into the kernel; there C(sysctl.d) sets the buckets, and
    C(nf_conntrack.hashsize) on the command line does so from the start.
  - Each value is read again after it was set. Its value after the next boot and after kube-proxy's next start is
    predicted as in RV(kubenode.netfilter.node_facts#module:ansible_facts.node_conntrack).
  - Files and values are tested before the first is written, so a read-only C(/etc) or C(/proc/sys) leaves everything as
    it was.
  - Keys that an earlier run wrote stay in the file until O(state=absent).
  - Backups and a record of every change are kept in C(/var/lib/kubenode-netfilter/conntrack). They are written before
    the change is made, so a run that is killed can be undone, or run again. The record also keeps the losses until the
    limit was raised, so that only later losses count.
  - In an image files are written and no value is set. In a container nothing is done, because the conntrack table
    belongs to the node.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
attributes:
  diff_mode:
    support: full
    description: The diff shows the changed lines of every file, and every value and module of the running kernel.
options:
  state:
    description:
      - V(present) raises, sets and persists.
      - V(absent) restores every file byte for byte and removes added files. A file that was changed since is left
        alone, and the module fails with its name.
      - V(absent) puts running values back only with O(lower). The record keeps the former ones until a later
        run puts them back, and a warning names each value that stays. A value that was changed since is not put
        back and is named in a warning too.
    type: str
    choices: [present, absent]
    default: present
  max:
    description: The limit, C(net.netfilter.nf_conntrack_max).
    type: int
  buckets:
    description: Buckets of the hash table, C(net.netfilter.nf_conntrack_buckets). The kernel rounds them up to whole
      pages.
    type: int
  resize:
    description:
      - Whether the running hash table is enlarged. All entries move at once and packets wait meanwhile, which delays
        traffic on a busy node.
      - V(auto) enlarges it if the limit is more than eight times the buckets, V(always) if it has fewer than
        O(buckets), V(never) only at the next boot.
    type: str
    choices: [auto, always, never]
    default: auto
  timeouts:
    description:
      - Seconds by name, as C(tcp_timeout_established). They are set to exactly these values.
      - Known are C(tcp_timeout_established), C(tcp_timeout_close_wait), C(tcp_timeout_time_wait), C(udp_timeout) and
        C(udp_timeout_stream).
    type: dict
    default: {}
  sysctls:
    description:
      - Keys that must be 1.
      - Forwarding of IPv6 is refused on a live node whose default route comes from router advertisements and would be
        lost.
    type: list
    elements: str
    choices:
      - net.bridge.bridge-nf-call-ip6tables
      - net.bridge.bridge-nf-call-iptables
      - net.ipv4.ip_forward
      - net.ipv6.conf.all.forwarding
      - net.netfilter.nf_conntrack_tcp_be_liberal
    default: []
  modules:
    description: Modules to list for the boot besides the modules that bring the keys, so that lines of other files for
      their keys are applied.
    type: list
    elements: str
    choices: [br_netfilter, nf_conntrack]
    default: []
  load:
    description: Load the module of a key if the running kernel lacks it. Otherwise the key takes effect at the next
      boot.
    type: bool
    default: false
  persist:
    description: Write the files that set the values at boot.
    type: bool
    default: true
  lower:
    description:
      - Set the limit and the buckets to exactly the requested values, lower ones too, and set a limit where none is
        set.
      - With O(state=absent), restore the previous values, also after an earlier undo left them, unless they were
        changed since.
      - Never below the current number of connections.
    type: bool
    default: false
  comment_out_conflicts:
    description:
      - Comment out a conflicting sysctl line of another file, which would undo a value at boot. A file of a package in
        C(sysctl.d) is left alone and hidden by an edited copy in C(/etc/sysctl.d).
      - This edits files of C(sysctl.d) whose names sort after O(file), C(/etc/sysctl.conf) and the files of ufw.
        Profiles of tuned and settings of docker and kube-proxy are reported and stay.
    type: bool
    default: false
  file:
    description: Name of the files below C(/etc/sysctl.d), C(/etc/modules-load.d) and C(/etc/modprobe.d).
    type: str
    default: zz-kubenode-netfilter.conf
seealso:
  - module: kubenode.netfilter.node_facts
  - plugin: kubenode.netfilter.conntrack_size
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Raise the limit, now and at boot
  kubenode.netfilter.conntrack:
    max: 524288
    buckets: 524288

- name: Let nodes forward and pass bridged packets through iptables
  kubenode.netfilter.conntrack:
    sysctls: [net.ipv4.ip_forward, net.bridge.bridge-nf-call-iptables]
    load: true

- name: See what shorter timeouts would change
  kubenode.netfilter.conntrack:
    timeouts:
      tcp_timeout_time_wait: 30
  check_mode: true
  diff: true

- name: Undo
  kubenode.netfilter.conntrack:
    state: absent
"""

RETURN = r"""
settings:
  description: One row for each requested key; with O(state=absent) and O(lower), for each recorded key whose value is
    not the former one.
  returned: always
  type: list
  elements: dict
  contains:
    key: {description: The sysctl., type: str, returned: always, sample: net.netfilter.nf_conntrack_max}
    wanted: {description: 'The target value; null if the key is not changed.', type: int, returned: always,
             sample: 524288}
    before: {description: 'Its value before; null where it could not be read or does not exist.', type: int,
             returned: always, sample: 131072}
    after: {description: 'Its value afterwards; in check mode the target of a run.', type: int, returned: always,
            sample: 524288}
    at_boot: {description: 'Its value after the next boot; null where that is not known.', type: int, returned: always,
              sample: 524288}
    after_kube_proxy: {description: 'Its value after kube-proxy has started; null where that is not known.', type: int,
                       returned: always, sample: 131072}
    persisted: {description: Whether a line of O(file) sets it., type: bool, returned: always, sample: true}
    failed: {description: Whether it is not the requested value., type: bool, returned: always, sample: false}
    msg:
      description: The reason, or the program that sets the final value.
      type: str
      returned: always
      sample: kube-proxy (conntrack.maxPerCore and conntrack.min) overrides it and sets it to 131072
files:
  description: Files that were written or removed. Backups, and what a killed run left behind, are not listed.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/kubenode-netfilter/conntrack/record.json, /etc/sysctl.d/zz-kubenode-netfilter.conf]
advice:
  description: The setting of kube-proxy that keeps the limit; null where kube-proxy does not overwrite it.
  returned: always
  type: str
  sample: set conntrack.maxPerCore to 0 in kube-proxy's configuration; then sysctl.d decides
unfinished:
  description: Whether an earlier run was interrupted. This run completes it.
  returned: always
  type: bool
  sample: false
msg:
  description: What failed, in one sentence for each key or file.
  returned: failure
  type: str
  sample: >-
    net.ipv4.ip_forward: it is 0 after a boot (set by /etc/sysctl.d/zzz.conf:1); comment_out_conflicts: true makes that
    line a comment
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change.conntrack import plan
from ..module_utils._look import tree


def main():
    tree.exit_with_result(AnsibleModule(argument_spec=plan.OPTIONS, supports_check_mode=True, **plan.RULES), plan.run)


if __name__ == "__main__":
    main()
