#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action kubenode.netfilter.compare."""

DOCUMENTATION = r"""
module: compare
short_description: Compare two runs of a report folder, or two nodes
version_added: 0.1.0
description:
  - Runs on the controller, without a connection, and contacts no host. It reads the runs that
    M(kubenode.netfilter.report) keeps below C(runs) in its folder.
  - A finding is named by node, check and subject. Only hosts that both runs assessed are compared, and the result names
    the others. A finding is new only if the earlier run judged its check on that host, and fixed only if the later run
    did. A finding that is unknown, skipped or waived now is not fixed.
  - With O(nodes) it compares two nodes of one run.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.controller
options:
  folder:
    description: The report folder. If O(formats) names a file format, it must belong to the user of Ansible.
    type: str
    required: true
  before:
    description:
      - The earlier run, as O(after); V(previous) is the last run before O(after) that assessed at least half of its
        hosts. If no run did, it is the run before O(after).
    type: str
    default: previous
  after:
    description:
      - The later run, by its name (C(20261123T083011Z-4711)) or the beginning of it. V(latest) is the last run.
      - A value with a slash is the path of a folder with C(fleet.json) and C(nodes), such as the report folder of
        another pipeline.
    type: str
    default: latest
  nodes:
    description: Names of two nodes to compare within the run O(after), instead of two runs.
    type: list
    elements: str
  formats:
    description:
      - V(terminal) prints the changes, V(html) writes C(changes.html), V(markdown) writes C(changes.md) and V(json)
        writes C(changes.json) into the folder.
    type: list
    elements: str
    choices: [terminal, html, json, markdown]
    default: [terminal]
  fail_on:
    description:
      - V(new) fails the task if a finding is new, or if no host was assessed by both runs. The changes are printed and
        written before. V(none) never fails it.
      - With O(nodes) a finding is new that fails on the second node alone.
    type: str
    choices: [none, new]
    default: none
seealso:
  - module: kubenode.netfilter.report
"""

EXAMPLES = r"""
- name: Print what changed since the run before
  kubenode.netfilter.compare:
    folder: ./kubenode-netfilter-report

- name: Print what changed since a day
  kubenode.netfilter.compare:
    folder: ./kubenode-netfilter-report
    before: "20261121"

- name: Fail a pipeline in which findings are new
  kubenode.netfilter.compare:
    folder: ./kubenode-netfilter-report
    fail_on: new

- name: Compare two nodes
  kubenode.netfilter.compare:
    folder: ./kubenode-netfilter-report
    nodes: [worker-1, worker-2]
"""

RETURN = r"""
changes:
  description: The comparison.
  returned: success
  type: dict
  contains:
    schema: {description: Version of this shape., type: int, returned: success, sample: 1}
    kind: {description: V(runs) or V(nodes)., type: str, returned: success, sample: runs}
    totals:
      description: Number of rows of each kind.
      type: dict
      returned: success
      sample: {new: 1, fixed: 2, still_failing: 3, newly_judged: 0, newly_unknown: 0, no_longer_judged: 0}
    rows:
      description: The changes, those of each node by kind.
      type: list
      elements: dict
      returned: success
      contains:
        change:
          description:
            - V(new), V(fixed), V(still_failing), V(newly_judged), V(newly_unknown) or V(no_longer_judged).
            - V(newly_judged) fails, and the earlier run did not judge the check on that host.
            - Of two nodes V(new) fails on the second one alone, V(fixed) on the first one alone, V(still_failing) on
              both, V(newly_judged) on the second one and was not judged on the first one.
          type: str
          returned: success
          sample: new
        host: {description: The node., type: str, returned: success, sample: worker-7}
        check: {description: Id of the check., type: str, returned: success, sample: KMOD002}
        subject: {description: The subject., type: str, returned: success, sample: ip_vs}
        title: {description: The requirement., type: str, returned: success,
                sample: Required modules are not blocked}
        severity: {description: 'One of info, low, medium, high.', type: str, returned: success, sample: high}
        was: {description: 'The status before, or null if the check was not judged.', type: str, returned: success,
              sample: pass}
        is: {description: 'The status now, or null if the check was not judged.', type: str, returned: success,
             sample: fail}
        text: {description: 'The fault, or the reason of the status.', type: str, returned: success,
               sample: 'ip_vs is blocked for load, autoload, boot: /etc/modprobe.d/cis.conf:3'}
    before: {description: Run and start of the earlier run., type: dict, returned: when two runs are compared,
             sample: {run: 20261122T083011Z-4711, started: '2026-11-22T08:30:11+00:00'}}
    after: {description: Run and start of the later run., type: dict, returned: when two runs are compared,
            sample: {run: 20261123T083011Z-881, started: '2026-11-23T08:30:11+00:00'}}
    compared_hosts: {description: Number of hosts that both runs assessed., type: int,
                     returned: when two runs are compared, sample: 18}
    left_out_checks: {description: Checks that only one of the runs judged on a host that both assessed., type: list,
                      elements: str, returned: when two runs are compared, sample: []}
    new_hosts: {description: Assessed hosts of the later run alone. They are not compared., type: list, elements: str,
                returned: when two runs are compared, sample: [worker-9]}
    gone_hosts: {description: Hosts of the earlier run alone. They are not compared., type: list, elements: str,
                 returned: when two runs are compared, sample: []}
    reached_again: {description: Hosts of both runs that only the later run assessed. They are not compared.,
                    type: list, elements: str, returned: when two runs are compared, sample: []}
    not_reached:
      description: Hosts of the later run that it did not assess, one row each. They have no other row.
      type: list
      elements: dict
      returned: when two runs are compared
      contains:
        host: {description: The host., type: str, returned: success, sample: worker-3}
        status: {description: 'V(not_reached), V(not_rolled_out) or V(pending).', type: str, returned: success,
                 sample: not_reached}
        reason: {description: The reason., type: str, returned: success, sample: 'unreachable: no route to host'}
        was: {description: 'V(assessed) or another status in the earlier run, or null if it is not in that run.',
              type: str, returned: success, sample: assessed}
    run: {description: Run and start of the run., type: dict, returned: when two nodes are compared,
          sample: {run: 20261123T083011Z-881, started: '2026-11-23T08:30:11+00:00'}}
    nodes: {description: The two nodes., type: list, elements: str, returned: when two nodes are compared,
            sample: [worker-1, worker-2]}
    traits:
      description: Operating system, kernel, iptables, kube-proxy and needs, where they differ.
      type: list
      elements: dict
      returned: when two nodes are compared
      contains:
        by: {description: What differs., type: str, returned: success, sample: kernel}
        first: {description: 'That of the first node, or null.', type: str, returned: success,
                sample: kernel 6.1.0-49-amd64}
        second: {description: 'That of the second node, or null.', type: str, returned: success,
                 sample: kernel 6.12.9-amd64}
files:
  description: The files that were written.
  returned: always
  type: list
  elements: str
  sample: [/srv/audit/changes.md]
msg:
  description: Which findings are new, or that nothing was compared.
  returned: where O(fail_on) fails the task
  type: str
  sample: "2 findings are new on worker-7: KMOD002, CHAIN001"
totals:
  description: As RV(changes.totals).
  returned: where O(fail_on) fails the task
  type: dict
  sample: {new: 2, fixed: 0, still_failing: 3, newly_judged: 0, newly_unknown: 0, no_longer_judged: 0}
text:
  description: The text for a terminal.
  returned: success
  type: str
  sample: |-
    Changes from run 20261122T083011Z-4711 to run 20261123T083011Z-881
      0 new, 1 fixed, 0 still failing, 0 newly judged, 0 newly unknown, 0 no longer judged
"""
