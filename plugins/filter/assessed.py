# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.assessed."""

DOCUMENTATION = r"""
name: assessed
short_description: Whether this run has assessed a host
version_added: 0.1.0
description:
  - True where the facts of a host hold findings that M(kubenode.netfilter.assess) made in this very run of Ansible for
    the requested sections. Findings of an earlier run, from a fact cache, do not count.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  section:
    description: Letters that ids of checks begin with, such as V(KMOD).
    type: str
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Assess where no assessment was made yet
  ansible.builtin.include_role:
    name: kubenode.netfilter.node_assess
  when: not ansible_facts | kubenode.netfilter.assessed('KMOD')
"""

RETURN = r"""
_value:
  description: Whether there are such findings.
  type: bool
"""

from ..plugin_utils._fix import select
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def assessed(facts, section=None):
    """Type check and call."""
    return select.assessed(facts, plain(section))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"assessed": assessed}
