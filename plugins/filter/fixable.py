# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.fixable."""

DOCUMENTATION = r"""
name: fixable
short_description: Failing findings that a role fixes at a class of change
version_added: 0.1.0
description:
  - Selects the findings of M(kubenode.netfilter.assess) that fail and whose fix is a role, up to a class of change.
options:
  _input:
    description: Findings of one host.
    type: list
    elements: dict
    required: true
  fix:
    description: The highest class that may be applied; a class includes the classes before it.
    type: str
    choices: [none, safe, guarded, disruptive]
    default: safe
  role:
    description: Only findings that this role fixes.
    type: str
  place:
    description: Kind of place that the host is. In an V(image) no program runs that could be disrupted, so V(guarded)
      includes V(disruptive) there.
    type: str
    choices: [live, image, container]
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Tell what a run with preflight_fix=guarded would work on
  ansible.builtin.debug:
    msg: "{{ ansible_facts['node_assess_findings'] | kubenode.netfilter.fixable('guarded') | map(attribute='check')
      | unique }}"
"""

RETURN = r"""
_value:
  description: The findings, unchanged.
  type: list
  elements: dict
"""

from ..plugin_utils._fix import select
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def fixable(findings, fix="safe", role=None, place=None):
    """Type check and call."""
    return select.fixable(plain(findings), plain(fix), plain(role), plain(place))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"fixable": fixable}
