# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.outside_ranges."""

DOCUMENTATION = r"""
name: outside_ranges
short_description: Addresses and networks that are outside of given ranges
version_added: 0.1.0
description:
  - Selects each element whose addresses are not all in one of the ranges.
options:
  _input:
    description: Addresses such as V(10.244.1.7), or ranges such as V(10.244.1.0/24).
    type: list
    elements: str
    required: true
  ranges:
    description: Ranges such as V(10.244.0.0/16).
    type: list
    elements: str
    default: []
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Which endpoints has kube-proxy that are in no range of pods?
  ansible.builtin.debug:
    msg: >-
      {{ ansible_facts['node_iptables_chains']['networks']['endpoints'] | map(attribute='network')
         | kubenode.netfilter.outside_ranges(['10.244.0.0/16', 'fd00:10:244::/56']) }}
"""

RETURN = r"""
_value:
  description: The elements outside of the ranges, as they were given and in their order.
  type: list
  elements: str
"""

from ..plugin_utils._needs import cluster_ranges
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def outside_ranges(addresses, ranges=()):
    """Type check and call."""
    return cluster_ranges.outside(plain(addresses), plain(ranges))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"outside_ranges": outside_ranges}
