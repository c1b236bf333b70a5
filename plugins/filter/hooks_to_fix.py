# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.hooks_to_fix."""

DOCUMENTATION = r"""
name: hooks_to_fix
short_description: What M(kubenode.netfilter.flush_hooks) is to work on
version_added: 0.1.0
description:
  - From the facts of a host after M(kubenode.netfilter.assess), the O(kubenode.netfilter.flush_hooks#module:only) to hand over, sorted.
  - Empty where nothing was found that it can fix, and for an immutable host.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  only:
    description: What to work on instead, independent of the findings.
    type: list
    elements: str
    default: []
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Take out what the assessment found
  kubenode.netfilter.flush_hooks:
    only: "{{ ansible_facts | kubenode.netfilter.hooks_to_fix }}"
  when: ansible_facts | kubenode.netfilter.hooks_to_fix | length > 0
"""

RETURN = r"""
_value:
  description: Paths of files and names of units; V(/) where there are more than findings name one by one.
  type: list
  elements: str
"""

from ..plugin_utils import _select
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def hooks_to_fix(facts, only=()):
    """Type check and call."""
    return _select.hooks_to_fix(facts, plain(only))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"hooks_to_fix": hooks_to_fix}
