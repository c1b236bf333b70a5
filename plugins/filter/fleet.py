# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.fleet."""

DOCUMENTATION = r"""
name: fleet
short_description: Tell for reports at hand whether a failure is local to a node or everywhere
version_added: 0.1.0
description:
  - Takes reports of hosts, as P(kubenode.netfilter.node_report#role) writes them to C(nodes/<host>.json), and tells for
    each check that fails whether it fails on one node, on all nodes of a group and on no other, or everywhere.
  - Groups are those by kernel, by OS image and of the inventory. Where no group fits, or more than one, nothing is
    claimed. Nodes on which a check is unknown or waived are counted, and neither make nor break a group.
options:
  _input:
    description: The reports, of one run.
    type: list
    elements: dict
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Tell what fails where
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.file', *reports) | map('from_json') | kubenode.netfilter.fleet }}"
  vars:
    reports: "{{ query('ansible.builtin.fileglob', playbook_dir ~ '/kubenode-netfilter-report/nodes/*.json') }}"
"""

RETURN = r"""
_value:
  description: The checks that fail, each with its scope.
  type: dict
  sample:
    KMOD003: {kind: group, by: kernel, value: 6.1.0-18-amd64, failing: 2, judged: 5, unclear: 0}
    HOOK001: null
"""

from collections.abc import Mapping

from ..module_utils._errors import BadInput
from ..plugin_utils import _finding, _scope
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def fleet(reports):
    """Type check and call."""
    reports = plain(reports)
    if not isinstance(reports, list):
        raise BadInput("needs a list of reports, not %s" % type(reports).__name__)
    for index, report in enumerate(reports):
        if not _is_report(report):
            raise BadInput("needs reports as node_report writes them, which item %d is not" % (index + 1))
    if len({report["host"] for report in reports}) < len(reports):
        raise BadInput("needs one report of each host")
    return _scope.scopes(reports)


def _is_report(report):
    """Whether a report holds what is asked of it: host, summary, findings and names of groups."""
    if not isinstance(report, Mapping) or not isinstance(report.get("host"), str):
        return False
    summary, findings, groups = report.get("summary"), report.get("findings"), report.get("groups", [])
    return (isinstance(summary, Mapping) and isinstance(summary.get("reached"), bool)
            and all(isinstance(summary.get(key), (str, type(None))) for key in ("kernel", "os"))
            and isinstance(findings, list) and isinstance(groups, list)
            and all(isinstance(row, Mapping) and isinstance(row.get("check"), str)
                    and row.get("status") in _finding.STATUSES for row in findings)
            and all(isinstance(group, str) for group in groups))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"fleet": fleet}
