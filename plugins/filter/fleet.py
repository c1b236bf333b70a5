# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.fleet."""

DOCUMENTATION = r"""
name: fleet
short_description: Compare the nodes of a fleet by their reports
version_added: 0.1.0
description:
  - Takes reports of hosts, as P(kubenode.netfilter.node_report#role) writes them to C(nodes/<host>.json), and tells for
    each check that fails whether it fails on one node, on all nodes of a group and on no other, or everywhere.
  - Groups are those by kernel, OS image, iptables, version of kube-proxy, inventory group and the variables in
    C(node_report_group_by) of that run. Where no group fits, or more than one, nothing is claimed. Nodes on which a
    check is unknown or waived are counted, and neither make nor break a group.
  - Tells also which nodes differ from most of the others, or from O(baseline), and in what.
options:
  _input:
    description: The reports, of one run.
    type: list
    elements: dict
    required: true
  baseline:
    description: Host with whose report the others are compared, instead of with most of the others.
    type: str
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Tell what fails where
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.file', *reports) | map('from_json') | kubenode.netfilter.fleet(baseline='web-1') }}"
  vars:
    reports: "{{ query('ansible.builtin.fileglob', playbook_dir ~ '/kubenode-netfilter-report/nodes/*.json') }}"
"""

RETURN = r"""
_value:
  description:
    - C(checks) are the checks that fail, each with its scope, or null where nothing can be claimed.
    - C(outliers) has a row for each trait or item in which nodes differ from C(usual), the value of most nodes or of
      the baseline. C(others) are the nodes with another value.
    - C(compared) are Services and endpoints; null where fewer than two nodes are known. C(most) is the digest of most
      nodes or of the baseline, C(differs) are nodes with another one, C(moving) such nodes that were read before or
      after the others, C(count) and C(counts) how many Services or endpoints they have.
  type: dict
  sample:
    checks:
      KMOD003: {kind: group, by: kernel, value: 6.1.0-18-amd64, failing: 2, judged: 5, unclear: 0}
      HOOK001: null
    outliers:
      - {by: kernel module ip_vs, usual: loaded, nodes: 4, others: {web-3: not loaded}}
    compared:
      services: {most: 4f0f6c1a5b3e7a2f, hosts: 4, differs: [web-3], moving: [], unknown: 0, count: 98,
                 counts: {web-3: 97}}
      endpoints: null
"""

from collections.abc import Mapping

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding
from ..plugin_utils._fleet import rollup
from ..plugin_utils._fleet.compare import PARTS
from ..plugin_utils._fleet.scope import TRAITS
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def fleet(reports, baseline=None):
    """Type check and call."""
    reports = plain(reports)
    if not isinstance(reports, list):
        raise BadInput("needs a list of reports, not %s" % type(reports).__name__)
    for index, report in enumerate(reports):
        if not _is_report(report):
            raise BadInput("needs reports of node_report, but item %d is not one" % (index + 1))
    hosts = {report["host"] for report in reports}
    if len(hosts) < len(reports):
        raise BadInput("needs one report of each host")
    if baseline is not None and plain(baseline) not in hosts:
        raise BadInput("needs the report of the baseline %s" % baseline)
    return rollup.compared(reports, plain(baseline))


def _is_report(report):
    """Whether a report has the required fields: host, summary, findings, names of groups, and the fields that nodes are
    compared by."""
    if not isinstance(report, Mapping) or not isinstance(report.get("host"), str):
        return False
    summary, findings, groups = report.get("summary"), report.get("findings"), report.get("groups", [])
    return (isinstance(summary, Mapping) and isinstance(summary.get("reached"), bool)
            and all(isinstance(summary.get(key), (str, type(None))) for _name, key in TRAITS)
            and isinstance(findings, list) and isinstance(groups, list)
            and all(isinstance(row, Mapping) and isinstance(row.get("check"), str)
                    and row.get("status") in _finding.STATUSES for row in findings)
            and all(isinstance(group, str) for group in groups)
            and _is_of_texts(report.get("group_by", {}))
            and _is_digest(report.get("digest"))
            and isinstance(report.get("items", {}), dict)
            and all(items is None or _is_of_texts(items) for items in report.get("items", {}).values()))


def _is_of_texts(value):
    return isinstance(value, dict) and all(isinstance(text, str) for item in value.items() for text in item)


def _is_digest(value):
    return value is None or isinstance(value, dict) and all(
        isinstance(value.get(key), (kind, type(None)))
        for kind, keys in ((str, (*PARTS, "read_at")), (int, ("service_count", "endpoint_count")))
        for key in keys)


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"fleet": fleet}
