# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.blocking."""

DOCUMENTATION = r"""
name: blocking
short_description: Why a node does not pass the gate
version_added: 0.1.0
description:
  - Selects, of a host's facts after M(kubenode.netfilter.assess), what stands in the way, as one sentence for each.
  - A host that this run has not assessed, or could not look at, never passes unless O(unreached=ignore).
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  severity:
    description: The least severity that blocks.
    type: str
    choices: [info, low, medium, high]
    default: medium
  unknown:
    description: Whether V(unknown) findings of that severity block (V(fail)).
    type: str
    choices: [fail, warn, ignore]
    default: warn
  unreached:
    description: Whether a host of which nothing is known blocks (V(fail)).
    type: str
    choices: [fail, warn, ignore]
    default: fail
  level:
    description: V(fail) selects what blocks, V(warn) what is only to be told because O(unknown) or O(unreached) says so.
    type: str
    choices: [fail, warn]
    default: fail
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Stop where something of severity high fails
  ansible.builtin.assert:
    that: ansible_facts | kubenode.netfilter.blocking(severity='high') | length == 0
"""

RETURN = r"""
_value:
  description: One sentence for each reason.
  type: list
  elements: str
"""

from ..plugin_utils import _select
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def blocking(facts, severity="medium", unknown="warn", unreached="fail", level="fail"):
    """Type check and call."""
    return _select.blocking(facts, plain(severity), plain(unknown), plain(unreached), plain(level))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"blocking": blocking}
