# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.conntrack_to_set."""

DOCUMENTATION = r"""
name: conntrack_to_set
short_description: What M(kubenode.netfilter.conntrack) is to set on a node
version_added: 0.1.0
description:
  - From the facts of a host after M(kubenode.netfilter.assess), the options of M(kubenode.netfilter.conntrack) to hand over.
  - Empty where nothing was found that it can fix and nothing is asked for, and for an immutable host.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  max:
    description: The limit to set, even without findings; V(0) takes the result of the formula where something was found.
    type: int
    default: 0
  buckets:
    description: The buckets to set, even without findings; V(0) takes as many as the limit.
    type: int
    default: 0
  peak:
    description: The most connections that are known of, besides those the policy and an earlier report know of.
    type: int
    default: 0
  timeouts:
    description: Timeouts to set, even without findings.
    type: dict
    default: {}
  lower:
    description: Whether a limit may be lowered to the result of the formula.
    type: bool
    default: false
  yields:
    description: Whether findings count whose fix comments out a conflicting sysctl line of another file.
    type: bool
    default: false
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Raise what the assessment found too small
  kubenode.netfilter.conntrack:
    max: "{{ wanted.max | default(omit) }}"
    buckets: "{{ wanted.buckets | default(omit) }}"
    sysctls: "{{ wanted.sysctls | default(omit) }}"
  when: wanted | length > 0
  vars:
    wanted: "{{ ansible_facts | kubenode.netfilter.conntrack_to_set(peak=200000) }}"
"""

RETURN = r"""
_value:
  description: Some of C(max), C(buckets), C(timeouts), C(sysctls) and C(modules).
  type: dict
"""

from ..plugin_utils import _conntrack_fix
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def conntrack_to_set(facts, max=0, buckets=0, peak=0, timeouts=None, lower=False, yields=False):
    """Type check and call."""
    given = {"max": max, "buckets": buckets, "peak": peak, "timeouts": timeouts or {}, "lower": lower, "yields": yields}
    return _conntrack_fix.conntrack_to_set(facts, plain(given))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"conntrack_to_set": conntrack_to_set}
