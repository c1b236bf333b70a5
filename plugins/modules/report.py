#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.report."""

DOCUMENTATION = r"""
module: report
short_description: Write and print the findings
version_added: 0.1.0
description:
  - Runs on the controller, without a connection. With C(run_once=true) one task reports a whole batch of hosts.
  - Without C(run_once), and under the strategies C(free) and C(host_pinned), which ignore it, each host reports itself
    and writes the roll-up of the hosts assessed so far.
  - Writes one file for each host that this run has assessed, and C(fleet.json) over all hosts of the play, including
    hosts that were not reached. Files are replaced as a whole and readable by their owner only.
  - Shows a screen of each host of the batch, which begins and ends with its verdict and has a block for each cause with
    the fix as a command. In a play with more than five hosts, a batch in which no host is blocked and all were reached
    is one line while others are to come, and the last batch shows all hosts of the play and a summary. The summary
    counts findings, names the worst checks and hosts, and ends with the hosts that are blocked or were not reached.
  - The blocked hosts are listed for C(--limit); more than twenty are in the file C(limit.txt).
  - Colors follow Ansible's settings and the variable C(NO_COLOR). Lines are as
    wide as the terminal, or as the variable C(COLUMNS) sets; without a terminal they have 120 columns.
  - The tables are printed where stdout is for people, which means that the stdout callback is V(default), V(minimal) or
    V(oneline), or derives from V(default). Any other callback, such as V(ansible.posix.json) or V(ansible.posix.jsonl),
    stays parseable, and RV(text) holds the tables.
  - Writes in check mode too, as a report changes no host.
  - An option that a task leaves out is that of role C(node_report), such as the variable C(node_report_folder) of the
    host for O(folder).
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.controller
options:
  folder:
    description:
      - Folder on the controller; it is made where it is missing.
      - It is refused where it is a symbolic link, belongs to another user, or is writable by other users and holds more
        than reports. One that holds only reports is made writable by its owner alone.
    type: str
  formats:
    description:
      - Formats of the report; an empty list writes and prints nothing.
      - V(json) writes a file for each host and C(fleet.json). Each other format but V(terminal) adds its file to them.
      - V(csv) writes C(findings.csv), a row for each finding.
      - V(html) writes C(report.html), one page that begins with the verdict and the causes, with a map of nodes and
        checks, filters and each finding with its fix. It loads nothing and is readable without scripts.
      - V(junit) writes C(junit.xml), a suite for each host, whose first case is the verdict, and a case for each
        finding. A finding that blocks by the settings of P(kubenode.netfilter.node_gate#role) is C(failure), one that
        is unknown at its severity is C(error), the others are C(skipped) with the reason. It stays below 30 MB; what
        does not fit is counted in a case of the host.
      - V(markdown) writes C(summary.md), at most 40 lines for the summary of a job, with the causes that block.
      - V(prometheus) writes C(kubenode_netfilter.prom) for the textfile collector of node_exporter.
      - V(sarif) writes C(results.sarif) (SARIF 2.1.0) for code scanning, a result for each check that fails or is
        unknown, with the number of nodes. Its place is the inventory file.
    type: list
    elements: str
    choices: [json, terminal, csv, html, junit, markdown, prometheus, sarif]
    default: [json, terminal]
  evidence:
    description: Whether the files also hold the evidence.
    type: bool
    default: false
  details:
    description:
      - Which hosts of the batch have a screen of their own, of at most 24 lines in 100 columns. It counts causes and
        notes that it has no room for.
      - V(auto) is a screen for each of up to five hosts. With more hosts, a cause of several hosts is shown once, in
        the roll-up, where its fix names all of them, and a host has a screen only for other causes.
      - V(failing) is a screen for each host that is blocked or was not reached, V(none) prints only the roll-up with a
        line for each cause.
      - V(all) is a table with every check for each host, and a roll-up with every check.
    type: str
    choices: [auto, all, failing, none]
    default: auto
  baseline:
    description:
      - Host of the play with which the others are compared by kernel, OS image, iptables, version of kube-proxy,
        loaded kernel modules, sysctls, flush hooks, CNI files, Services and their endpoints.
      - Without it a value is unusual where more than half of the nodes, and at least two, have the same other one.
      - Kernel modules are compared between nodes with the same kernel, and flush hooks between nodes with the same OS
        image, because another kernel or OS image is listed already.
    type: str
  keep:
    description:
      - How many runs are kept below C(runs) in the folder, this one among them, each with its files. C(latest) is a
        link to this run. Older runs are removed once all hosts of the play are reported.
    type: int
    default: 10
  group_by:
    description:
      - Variables of the hosts, such as V(rack). A check that fails on all hosts with the same value of one, and on no
        other host, is reported as a failure of that group.
      - Hosts are always grouped by kernel, OS image, iptables, version of kube-proxy and inventory group. A group by
        one of these variables comes first.
      - At most ten. A value is a text of at most 100 characters, a number, or true or false. Hosts without the variable
        are in no group; a variable that is set for no host of the play is refused.
    type: list
    elements: str
  pseudonyms:
    description:
      - Whether the files are also written with pseudonyms (C(node-001), C(ip-001)) in place of names of hosts and IP
        addresses, below C(shared) in the folder. Loopback and unspecified addresses stay.
      - A name has one pseudonym in all files and in later runs. The mapping is in C(pseudonyms.json) of the folder,
        readable by its owner only.
      - Hosts are known by their names in the inventory, with or without the domain, as hosts of the same domains, and
        as hosts of a URL. Other texts stay, such as names of Services, groups and waivers.
    type: bool
    default: false
seealso:
  - module: kubenode.netfilter.assess
"""

EXAMPLES = r"""
- name: Report
  kubenode.netfilter.report:
    folder: ./kubenode-netfilter-report
  run_once: true
"""

RETURN = r"""
files:
  description: The files that were written, the roll-up first.
  returned: always
  type: list
  elements: str
  sample: [/srv/audit/fleet.json, /srv/audit/nodes/web-1.json]
folder:
  description: The folder that they are in, as an absolute path.
  returned: when O(formats) contains more than V(terminal)
  type: str
  sample: /srv/audit
shared:
  description: The folder of the files with pseudonyms, as an absolute path.
  returned: when O(pseudonyms) is true
  type: str
  sample: /srv/audit/shared
totals:
  description:
    - Number of hosts in each state. A C(blocked) host fails by the settings of P(kubenode.netfilter.node_gate#role), one
      that is C(not_known) has checks that could not look, and C(no_node) is a container without kubelet.
    - C(fit_with_low) counts the C(fit) hosts with findings of severity low or info, C(fit_with_others) those with worse
      findings that the settings of the gate let pass.
  returned: always
  type: dict
  sample: {hosts: 4, assessed: 3, blocked: 1, not_known: 1, no_node: 0, fit: 1, fit_with_low: 0, fit_with_others: 0,
           not_reached: 1, not_rolled_out: 0, pending: 0}
ansible_stats:
  description:
    - Custom statistics of the run, which AWX has as artifacts of the job, and Ansible prints where
      C(show_custom_stats) is set. C(kubenode_netfilter) has RV(totals), findings that fail by severity, RV(folder), and
      at most 100 names each of hosts that are blocked and of hosts that were not reached. After the last batch they are those
      of all hosts.
    - Where each host reports itself, only the report of the last host returns them.
  returned: when the roll-up is complete for the hosts that had their turn
  type: dict
  sample:
    data:
      kubenode_netfilter:
        run: 20261122T114153Z-24994
        totals: {hosts: 2, assessed: 2, blocked: 1, not_known: 0, no_node: 0, fit: 1, fit_with_low: 0,
                 fit_with_others: 0, not_reached: 0, not_rolled_out: 0, pending: 0}
        failing_findings: {high: 1, medium: 0, low: 0, info: 0}
        blocked_hosts: [web-2]
        not_reached_hosts: []
        folder: /srv/audit
    per_host: false
    aggregate: false
text:
  description: The screens and the roll-up.
  returned: when O(formats) contains V(terminal) and the stdout callback is not one for people
  type: str
  sample: |-
    web-1 is fit for traffic
      Debian GNU/Linux 13 (trixie), kernel 6.12.107+deb13-cloud-amd64
      67 pass, 0 fail, 0 unknown, 0 waived, 5 skip
    web-1 is fit for traffic
"""
