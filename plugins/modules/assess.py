#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.assess."""

DOCUMENTATION = r"""
module: assess
short_description: Look at a node and judge it
version_added: 0.1.0
description:
  - Runs M(kubenode.netfilter.node_facts) on the node and the checks of the collection on the controller, in one task.
  - The policy is the defaults of role C(node_policy), overridden by the C(node_policy_*) variables of the host.
  - Unknown names of policy variables, wrong types and bad expressions fail the task before anything connects, and so do
    wrong values of the other variables of the collection's roles.
  - A node that is unreachable, has no Python, does not answer in time or makes the module fail gets findings that are
    V(unknown), with the reason, and a warning is printed. It fails the task only with O(unreachable=fail).
  - An option that a task leaves out is that of role C(node_assess), such as the variable C(node_assess_root) of the
    host for O(root).
  - Nothing is changed, in check mode or out of it.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
attributes:
  action:
    description: Runs on the controller and calls a module on the node.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
  check_mode:
    description: Can run in check mode and return the same as without it.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: none
    details: Nothing is ever changed.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no
      change.
    support: full
options:
  gather_subset:
    description:
      - Sections of evidence to collect.
      - The default is the sections that the selected checks need.
    type: list
    elements: str
    choices: [host, kernel_modules, iptables_backend, iptables_chains, xtables_lock, flush_hooks, conntrack, ipvs,
              kubelet, kube_proxy, cni]
  root:
    description: Path of the system tree to look at on the node, such as an unpacked image. By default the node itself.
    type: str
  place:
    description: Kind of place that the tree is; detected if it is V(auto) or not set.
    type: str
    choices: [auto, live, image, container, bundle]
  bundle:
    description:
      - Path of a support bundle on the controller to judge instead of a node. A folder, an archive (tar, also packed
        with gzip, bzip2, xz or zstd) or a single dump.
      - It is laid out as a tree in a private temporary folder, which is removed when the task ends. No host is
        contacted. The task needs the connection plugin C(local).
      - Checks of evidence that the bundle does not hold are skipped, and check C(BUNDLE001) lists the missing evidence
        once.
    type: str
  kernel:
    description: Release of the installed kernel to judge, instead of the running kernel or the kernel that boots next.
    type: str
  sections:
    description:
      - Run only checks whose ids begin with one of these, such as V(KMOD).
      - Findings that other checks made earlier in the same run are kept.
    type: list
    elements: str
  checks:
    description:
      - Run only checks with these ids, or whose ids match one of these patterns with C(*) and C(?), such as V(KMOD*) or
        V(CHAIN00?).
      - Combined with O(sections), a check runs where both allow it.
    type: list
    elements: str
  skip:
    description: Do not run checks with these ids, or whose ids match one of these patterns.
    type: list
    elements: str
  timeout:
    description: Seconds that the node has to answer, at most V(86400); V(0) waits without a limit.
    type: int
    default: 180
  settle:
    description:
      - Seconds, at most V(86400), to look again while kube-proxy has just started and has not written its rules yet.
        V(0) judges the first look; missing rules are unknown then.
    type: int
    default: 0
  evidence:
    description:
      - Whether all sections of the evidence are facts of the host afterwards.
      - By default they are not, because Ansible copies the facts of a host for every task.
      - Set it where later tasks read sections, or call M(kubenode.netfilter.report) with
        O(kubenode.netfilter.report#module:evidence=true). With the variable C(node_report_evidence) of the host all
        sections are kept, too.
    type: bool
    default: false
  unreachable:
    description: The result for a host without evidence. V(warn) prints a warning, V(fail) fails the host, V(ignore)
      leaves it to the report or the gate that follows.
    type: str
    choices: [warn, fail, ignore]
    default: warn
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.fix
  - module: kubenode.netfilter.report
"""

EXAMPLES = r"""
- name: Judge the node
  kubenode.netfilter.assess:

- name: Judge the kernel modules, without the check for the kernel of the next boot
  kubenode.netfilter.assess:
    checks: ["KMOD*"]
    skip: [KMOD010]

- name: Judge an image tree on the node
  kubenode.netfilter.assess:
    root: /srv/images/node
"""

RETURN = r"""
ansible_facts:
  description:
    - Facts of the host. With O(evidence), also all sections of M(kubenode.netfilter.node_facts) that were collected.
    - A section that is not as M(kubenode.netfilter.node_facts) documents it, or is too large, is left out, and its
      checks are unknown.
  returned: always
  type: dict
  contains:
    node_assess_findings:
      description: One finding for each subject that fails or is waived, and one for each check that passes, is skipped
        or is unknown.
      type: list
      elements: dict
      returned: always
      contains:
        check: {description: Id of the check., type: str, returned: always, sample: KMOD003}
        subject: {description: The subject; empty where the check concerns the whole node., type: str, returned: always,
                  sample: nf_conntrack}
        title: {description: The requirement., type: str, returned: always, sample: The node forwards packets}
        problem: {description: 'The fault, in one sentence; null if the check neither fails nor is waived, or has no
                    such sentence.', type: str, returned: always,
                  sample: 'The node does not forward packets: net.ipv4.ip_forward is 0, must be 1'}
        status: {description: 'One of pass, fail, skip, unknown, waived.', type: str, returned: always, sample: fail}
        severity: {description: 'One of info, low, medium, high.', type: str, returned: always, sample: high}
        observed: {description: The found value., type: str, returned: always}
        expected: {description: The wanted value., type: str, returned: always}
        reason: {description: 'The reason of the requirement for this node, or of the status unknown or skip.',
                 type: str, returned: always}
        remediation: {description: The fix., type: str, returned: always}
        waiver: {description: 'The waiver that applies or has expired, or null.', type: str, returned: always}
        outcome:
          description:
            - What M(kubenode.netfilter.fix) did about it, V(fixed), V(would fix) (in check mode), V(refused) or
              V(failed). Null where it did nothing.
            - The reason of a refusal or failure is at the end of C(reason).
          type: str
          returned: always
          sample: fixed
        evidence:
          description:
            - The values that a finding rests on which fails, is waived or is unknown, one a line; at most 8, each with
              its field of the offending row or its path in the evidence; otherwise null.
          type: str
          returned: always
          sample: |-
            persisted: false
            node_host.place: live
    node_assess_required_modules:
      description: The modules that this node needs, with the reasons.
      type: list
      elements: dict
      returned: always
      contains:
        subject: {description: 'Name, or names of modules of which one is enough.', type: str, returned: always,
                  sample: nf_conntrack}
        name: {description: The alternative with the best state., type: str, returned: always, sample: nf_conntrack}
        any_of: {description: The alternatives., type: list, elements: str, returned: always}
        optional: {description: Whether its absence is only reported., type: bool, returned: always}
        on_demand: {description: Whether the kernel loads it when a rule needs it., type: bool, returned: always}
        reason: {description: 'The program that needs it, and its purpose.', type: str, returned: always}
        state: {description: State on the judged kernel., type: str, returned: always, sample: loadable}
        at_boot: {description: Its state after the next boot., type: str, returned: always, sample: on_demand}
        blocked_by: {description: The directives that block it., type: str, returned: always, sample: ''}
        persisted_by:
          description: Files and lines that list it for the boot.
          type: list
          elements: dict
          returned: always
          contains:
            file: {description: File., type: str, returned: always, sample: /etc/modules-load.d/k8s.conf}
            line: {description: Line., type: int, returned: always, sample: 1}
    node_assess_user_checks:
      description: What the reports print of each check of C(node_policy_check_files) that has a finding, besides the
        finding.
      type: list
      elements: dict
      returned: when checks of the user were judged
      contains:
        check: {description: Id of the check., type: str, returned: always, sample: SITE-MTU001}
        file: {description: 'The file that it is in, as the variable names it.', type: str, returned: always,
               sample: checks/site.yml}
        why: {description: The effect on users., type: str, returned: always, sample: Storage traffic is dropped.}
        needs: {description: The sources that it rests on., type: list, elements: str, returned: always,
                sample: [node_cni.routes]}
        sources: {description: Where the rule is written., type: list, elements: str, returned: always,
                  sample: ['https://wiki.example.com/mtu']}
        manual: {description: The fix by hand., type: str, returned: always, sample: ip link set eth0 mtu 9000}
        class: {description: 'Class of the fix, or null.', type: str, returned: always, sample: guarded}
    node_assess_summary:
      description: Counts by status, the worst severity that fails, checks that were not judged, and the kind of node.
      type: dict
      returned: always
      contains:
        pass: {description: Findings that pass., type: int, returned: always, sample: 18}
        fail: {description: Findings that fail., type: int, returned: always, sample: 0}
        skip: {description: 'Checks that do not apply here, or are disabled.', type: int, returned: always, sample: 2}
        unknown: {description: Findings that are unknown., type: int, returned: always, sample: 0}
        waived: {description: Findings that are waived., type: int, returned: always, sample: 0}
        worst: {description: 'The worst severity that fails, or null.', type: str, returned: always, sample: medium}
        verdict:
          description: Whether the node is fit for traffic by the settings of P(kubenode.netfilter.node_gate#role).
          type: dict
          returned: always
          contains:
            state: {description: 'V(fit), V(blocked), V(not_known), V(no_node) or V(not_reached).', type: str,
                    returned: always, sample: fit}
            because: {description: 'Why, or empty.', type: str, returned: always, sample: ''}
            low: {description: Findings of severity low or info that fail and do not block., type: int,
                  returned: always, sample: 0}
            others: {description: 'Worse findings that fail, and that the settings of the gate let pass.',
                     type: int, returned: always, sample: 0}
            more: {description: Further causes that block., type: int, returned: always, sample: 0}
            severity: {description: The severity from which on a finding counts., type: str, returned: always,
                       sample: medium}
            blocking:
              description: The findings that block.
              type: list
              elements: dict
              returned: always
              contains:
                check: {description: The check., type: str, returned: always, sample: CHAIN001}
                subject: {description: 'The subject, or empty.', type: str, returned: always,
                          sample: ipv4 nft nat PREROUTING}
            known: {description: Failing findings that do not count because the baseline has them., type: int,
                    returned: always, sample: 0}
            note: {description: 'Why the baseline does not count, or empty.', type: str, returned: always, sample: ''}
        known:
          description: The findings that the baseline of the gate has, as bad as they are now.
          type: list
          elements: dict
          returned: where there are any
          contains:
            check: {description: The check., type: str, returned: always, sample: KMOD001}
            subject: {description: 'The subject, or empty.', type: str, returned: always, sample: xt_comment}
        run: {description: The run of Ansible that assessed the node., type: str, returned: always,
              sample: 20261122T114153Z-24994}
        reached: {description: Whether the node was looked at., type: bool, returned: always, sample: true}
        reason: {description: 'Why it was not, or null.', type: str, returned: always,
                 sample: 'unreachable: no route to host'}
        unusable:
          description: Sections of the evidence that the answer of the node lacks, or that are not as documented.
          type: list
          elements: dict
          returned: where there are any
          contains:
            section: {description: Name of the section., type: str, returned: always, sample: node_conntrack}
            reason: {description: Why it is not used., type: str, returned: always,
                     sample: the node's answer lacks node_conntrack}
        os: {description: 'Name of the operating system, or null.', type: str, returned: always,
             sample: Debian GNU/Linux 12}
        place: {description: 'Kind of place, or null.', type: str, returned: always, sample: live}
        kubelet: {description: 'Whether it is a node: V(running), V(installed), V(absent), or null where that is not
                    known.', type: str, returned: always, sample: running}
        kernel: {description: 'The kernel that was judged, or null.', type: str, returned: always,
                 sample: kernel 6.1.0-49-amd64}
        iptables: {description: 'Version and backend of its iptables, or null.', type: str, returned: always,
                   sample: 1.8.9 (nft)}
        kube_proxy: {description: 'Version of its kube-proxy, or null.', type: str, returned: always, sample: 1.34.2}
        immutable: {description: Whether nothing can be changed on the node., type: bool, returned: always,
                    sample: false}
        needs: {description: 'Mode, backend, Kubernetes and CNI that requirements were derived from, or null.',
                type: str, returned: always, sample: 'ipvs mode, nft backend, Kubernetes 1.31'}
        disabled:
          description: Checks of this run that C(node_policy_disabled_checks) disables.
          type: list
          elements: dict
          returned: always
          contains:
            check: {description: Id of the check., type: str, returned: always, sample: KMOD010}
            reason: {description: Why it is disabled., type: str, returned: always, sample: the old kernel stays}
        left_out:
          description: Ids of checks that were not chosen, of the sections that were judged.
          type: list
          elements: str
          returned: always
          sample: [KMOD010]
        needs_root:
          description: Ids of checks that are unknown because the node was not looked at as root.
          type: list
          elements: str
          returned: always
          sample: []
        waivers:
          description: The waivers of the host's policy whose pattern matches the host.
          type: list
          elements: dict
          returned: always
          contains:
            check: {description: Id of the check., type: str, returned: always, sample: KMOD010}
            host: {description: Pattern for the host., type: str, returned: always, sample: 'db*'}
            subject: {description: Pattern for the subject., type: str, returned: always, sample: 'xt_*'}
            owner: {description: Person or team that accepted the failure., type: str, returned: always, sample: net}
            expires: {description: Last day in UTC., type: str, returned: always, sample: '2027-01-31'}
            days_left: {description: Days to the last day; negative where the waiver has expired., type: int,
                        returned: always, sample: 30}
            matched: {description: 'Whether it matches a finding; null where the check did not run, does not apply or is
                        unknown.', type: bool, returned: always, sample: false}
    node_assess_numbers:
      description: Numbers that are worth a graph, each null where it is not known or only a part could be read.
      type: dict
      returned: always
      contains:
        conntrack_entries: {description: 'Connections in the conntrack table, or null.', type: int, returned: always,
                            sample: 20480}
        conntrack_limit: {description: 'nf_conntrack_max, V(0) is no limit, or null.', type: int, returned: always,
                          sample: 131072}
        iptables_rules: {description: 'Rules of iptables of both families and backends, or null.', type: int,
                         returned: always, sample: 1123}
        iptables_kube_rules: {description: 'Those of them in KUBE-* chains, or null.', type: int, returned: always,
                              sample: 1101}
        service_addresses: {description: 'Service addresses in the rules, or null.', type: int, returned: always,
                            sample: 98}
        xtables_lock_waiters: {description: 'Processes that wait for the xtables lock, or null.', type: int,
                               returned: always, sample: 0}
        xtables_lock_wait_seconds: {description: 'For how long the one that waits longest has waited, V(0) for none, or
                                      null.', type: float, returned: always, sample: 0}
        kube_proxy_sync_age_seconds: {description: 'When kube-proxy last synced with success, of the family that is
                                        furthest behind, or null.', type: float, returned: always, sample: 300.9}
        kube_proxy_change_wait_seconds: {description: 'Since when a change waits for a sync of kube-proxy, V(0) for
                                           none, or null.', type: float, returned: always, sample: 0.0}
    node_assess_causes:
      description: The causes of the findings that fail, the one that users feel most first. Each such finding belongs
        to exactly one.
      type: list
      elements: dict
      returned: always
      contains:
        cause: {description: 'Id of the cause, or null for a finding that is its own cause.', type: str,
                returned: always, sample: rules-flushed}
        sentence: {description: The fault and its evidence., type: str, returned: always,
                   sample: The rules of kube-proxy were flushed and nothing has restored them}
        short: {description: The sentence without its details., type: str, returned: always,
                sample: The rules of kube-proxy were flushed and nothing has restored them}
        effect: {description: What users feel., type: str, returned: always,
                 sample: Connections to Services through this node fail.}
        felt: {description: 'V(all_services), V(some_services), V(pods), V(later) or V(none).', type: str,
               returned: always, sample: all_services}
        certainty: {description: 'V(sure) or V(likely).', type: str, returned: always, sample: sure}
        severity: {description: The worst severity of its findings., type: str, returned: always, sample: high}
        since: {description: 'Since when, or empty.', type: str, returned: always, sample: ''}
        evidence: {description: 'The line that shows it, or empty.', type: str, returned: always, sample: ''}
        fix: {description: The command or step that mends it., type: str, returned: always,
              sample: ansible-playbook kubenode.netfilter.repair -l w01}
        class: {description: 'Class of the fix, or null.', type: str, returned: always, sample: disruptive}
        then: {description: 'How to see that it worked, or empty.', type: str, returned: always,
               sample: 'ansible-playbook kubenode.netfilter.audit -l w01: CHAIN001 passes'}
        explains:
          description: The findings.
          type: list
          elements: dict
          returned: always
          contains:
            check: {description: The check., type: str, returned: always, sample: CHAIN001}
            subject: {description: 'The subject, or empty.', type: str, returned: always,
                      sample: ipv4 nft nat PREROUTING}
    node_assess_digest:
      description: Digest of kube-proxy's chains, see
        RV(kubenode.netfilter.iptables_chain_audit#module:ansible_facts.node_iptables_chains.digest).
      type: dict
      returned: where the iptables_chains section was collected
      contains:
        services: {description: Digest of all Services; null where unknown., type: str, returned: always,
                   sample: 4f0f6c1a5b3e7a2f}
        endpoints: {description: The same with their endpoints; null where unknown., type: str, returned: always,
                    sample: 9a1c2b3d4e5f6071}
        service_count: {description: Service addresses in it., type: int, returned: always, sample: 98}
        endpoint_count: {description: Endpoints in it., type: int, returned: always, sample: 291}
        read_at: {description: When the rules were read., type: str, returned: always, sample: '2026-11-21T10:00:00Z'}
    node_assess_modules:
      description: Loaded kernel modules to compare nodes by, a line with a tab for each; null where not known.
      type: str
      returned: where the kernel_modules section was collected
      sample: "br_netfilter\tloaded\nnf_conntrack\tloaded"
    node_assess_sysctls:
      description: The same of sysctls, with their values.
      type: str
      returned: where the conntrack section was collected
      sample: "net.ipv4.ip_forward\t1"
    node_assess_hooks:
      description: The same of files with live commands that change rules.
      type: str
      returned: where the flush_hooks section was collected
      sample: "/etc/cron.d/firewall\tiptables -t nat -F"
    node_assess_cni_files:
      description: The same of CNI configurations.
      type: str
      returned: where the cni section was collected
      sample: "/etc/cni/net.d/10-flannel.conflist\tnetwork cbr0, plugins flannel portmap"
    node_assess_conntrack:
      description: The input of the size that M(kubenode.netfilter.conntrack) sets.
      type: dict
      returned: where the conntrack section was looked at, or nothing was assessed before
      contains:
        run: {description: Id of the run., type: str, returned: always, sample: 20261121T100000Z-4711}
        peak: {description: The highest known number of connections., type: int, returned: always, sample: 20480}
        losses:
          description: The counted losses of the conntrack table for the next run; null where the boot is not known.
          type: dict
          returned: always
          contains:
            boot_id: {description: The boot that they belong to., type: str, returned: always,
                      sample: e7a253d2-85a0-4000-9bbe-14594b2bea2b}
            limit: {description: nf_conntrack_max; null where it is not known., type: int, returned: always,
                    sample: 262144}
            counted: {description: 'Losses since the boot: packets, connections, lines of the kernel log.', type: dict,
                      returned: always, sample: {dropped: 3333, evicted: 0, lines: 2}}
            changed_at: {description: The run that first saw these numbers., type: str, returned: always,
                         sample: '2026-11-21T10:00:00+00:00'}
            settled: {description: Those whose cause is gone., type: dict, returned: always,
                      sample: {dropped: 0, evicted: 0, lines: 0}}
            settled_at: {description: The run that first saw that it is gone; null without one., type: str,
                         returned: always, sample: null}
        options:
          description: Policy and peak for the size of the table; null where the conntrack section is not known.
          type: dict
          returned: always
          contains:
            used_percent: {description: Share of the table that the peak may fill., type: int, returned: always,
                           sample: 60}
            memory_percent: {description: Share of the memory that the table may take., type: int, returned: always,
                             sample: 5}
            ceiling: {description: The highest limit to set., type: int, returned: always, sample: 1048576}
            peak: {description: Peak by the policy., type: int, returned: always, sample: 0}
            earlier: {description: Peak by an earlier report., type: int, returned: always, sample: 20480}
"""
