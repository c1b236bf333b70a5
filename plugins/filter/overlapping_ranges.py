# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.overlapping_ranges."""

DOCUMENTATION = r"""
name: overlapping_ranges
short_description: Address ranges that overlap
version_added: 0.1.0
description:
  - Compares named lists of ranges with each other, such as those of pods, Services and nodes, and returns each pair
    that shares addresses.
  - Ranges below the same name may overlap. IPv4 and IPv6 ranges never overlap.
options:
  _input:
    description: Lists of ranges such as V(10.244.0.0/16) by a name.
    type: dict
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Stop before a cluster is set up whose ranges overlap
  ansible.builtin.assert:
    that: "{'pods': ['10.244.0.0/16'], 'Services': ['10.96.0.0/12'], 'nodes': node_ranges}
      | kubenode.netfilter.overlapping_ranges | length == 0"
"""

RETURN = r"""
_value:
  description: One row for each pair of ranges, in the order of the input.
  type: list
  elements: dict
  contains:
    first: {description: Name of the first list., type: str, sample: pods}
    first_range: {description: Its range., type: str, sample: 10.0.0.0/8}
    second: {description: Name of the second list., type: str, sample: Services}
    second_range: {description: Its range., type: str, sample: 10.96.0.0/12}
    family: {description: V(ipv4) or V(ipv6)., type: str, sample: ipv4}
    range: {description: The shared addresses., type: str, sample: 10.96.0.0/12}
"""

from ..plugin_utils._needs import cluster_ranges
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def overlapping_ranges(ranges):
    """Type check and call."""
    return cluster_ranges.overlapping(plain(ranges))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"overlapping_ranges": overlapping_ranges}
