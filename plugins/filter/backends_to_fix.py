# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.backends_to_fix."""

DOCUMENTATION = r"""
name: backends_to_fix
short_description: What role C(harden_iptables_backend) is to work on
version_added: 0.1.0
description:
  - From the facts of a host after M(kubenode.netfilter.assess), why its iptables programs are to be switched, and which families have chains of
    kubelet and kube-proxy in another backend than the requested one. With V(auto) that is kubelet's backend, and where it is not known, the
    backend of the programs.
  - Both are empty for an immutable host.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  target:
    description: The backend that is asked for.
    type: str
    choices: [auto, nft, legacy]
    default: auto
  fix:
    description: The furthest class of change that may be made, as in P(kubenode.netfilter.fixable#filter).
    type: str
    choices: [none, safe, guarded, disruptive]
    default: disruptive
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Switch the programs where something speaks for it
  kubenode.netfilter.iptables_backend:
  when: (ansible_facts | kubenode.netfilter.backends_to_fix)['align'] | length > 0
"""

RETURN = r"""
_value:
  description: The work to do.
  type: dict
  contains:
    align: {description: 'Ids of checks that failed, and a sentence where another backend is asked for.', type: list, elements: str, sample: [BACKEND002]}
    leftovers: {description: 'Families with chains of kubelet and kube-proxy elsewhere.', type: list, elements: str, sample: [ipv4]}
"""

from ..plugin_utils import _backends
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def backends_to_fix(facts, target="auto", fix="disruptive"):
    """Type check and call."""
    return _backends.backends_to_fix(facts, plain(target), plain(fix))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"backends_to_fix": backends_to_fix}
