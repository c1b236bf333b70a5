# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.play_serial."""

DOCUMENTATION = r"""
name: play_serial
short_description: Check the batches of a rollout
version_added: 0.1.0
description:
  - Returns the sizes of the batches as a list, for the keyword C(serial) of a play, and fails with one sentence if one
    of them is not a size. Ansible itself takes V(0), V(-1) and an empty list for all hosts at once.
  - It is evaluated before any node is contacted.
options:
  _input:
    description: A whole number from 1 on, a percentage from V(1%) to V(100%), or a list of them.
    type: raw
    required: true
  check_mode:
    description: The variable C(ansible_check_mode). If it is true, all hosts are one batch, because check mode changes
      nothing.
    type: bool
    default: false
  max_fail_percentage:
    description: The value for option O(kubenode.netfilter.rollout#module:max_fail_percentage), which is checked, too.
    type: raw
    default: 0
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Preflight
  hosts: all
  serial: "{{ preflight_serial | default([1, '10%', '100%']) | kubenode.netfilter.play_serial }}"
"""

RETURN = r"""
_value:
  description: The sizes of the batches.
  type: list
  elements: raw
"""

from ..module_utils._errors import BadInput
from ..plugin_utils import _rollout
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def play_serial(sizes, check_mode=False, max_fail_percentage=0):
    """Type check and call."""
    sizes = plain(sizes)
    if not isinstance(sizes, (str, int, list)):
        raise BadInput("needs the sizes of batches, not %s (preflight_serial)" % type(sizes).__name__)
    _rollout.checked_percentage(plain(max_fail_percentage))
    sizes = _rollout.checked_serial(sizes)
    return ["100%"] if check_mode else sizes


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"play_serial": play_serial}
