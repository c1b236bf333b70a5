# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.modules_to_load."""

DOCUMENTATION = r"""
name: modules_to_load
short_description: Kernel modules a node has to load or persist
version_added: 0.1.0
description:
  - From the facts of a host after M(kubenode.netfilter.assess), the O(kubenode.netfilter.kernel_modules#module:name) to hand over, sorted.
  - Where nothing has to be loaded or persisted the list is empty. Otherwise it also holds the modules that O(file) persists already and the node still
    needs, because that file is written as a whole.
  - Empty for an immutable host.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  extra:
    description: Names to load and persist, independent of the findings.
    type: list
    elements: str
    default: []
  unblock:
    description: Whether modules count that something blocks.
    type: bool
    default: false
  file:
    description: Name of the file below C(/etc/modules-load.d).
    type: str
    default: kubenode-netfilter.conf
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Load and persist what the assessment found
  kubenode.netfilter.kernel_modules:
    name: "{{ ansible_facts | kubenode.netfilter.modules_to_load }}"
"""

RETURN = r"""
_value:
  description: Names of kernel modules.
  type: list
  elements: str
"""

from ..plugin_utils import _select
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def modules_to_load(facts, extra=(), unblock=False, file="kubenode-netfilter.conf"):
    """Type check and call."""
    return _select.modules_to_load(facts, plain(extra), plain(unblock), plain(file))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"modules_to_load": modules_to_load}
