# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.backends_unsettled."""

DOCUMENTATION = r"""
name: backends_unsettled
short_description: Missing conditions of a migration between the backends of iptables
version_added: 0.1.0
description:
  - From the facts of a host after M(kubenode.netfilter.assess) of C(BACKEND) and C(CHAIN), the conditions that are not met yet after the boot. The
    conditions are that the programs use the target backend, kubelet and kube-proxy have their chains there, the anchors of mode and version
    exist, and the other backend holds no rules of Kubernetes.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  target:
    description: The backend that was migrated to.
    type: str
    choices: [nft, legacy]
    required: true
  before:
    description: The section C(node_iptables_backend) from before the boot. Who had chains then has to have some now.
    type: dict
    default: {}
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Wait until kubelet and kube-proxy have written their rules
  kubenode.netfilter.assess:
    sections: [BACKEND, CHAIN]
  register: look
  until: look['ansible_facts'] | kubenode.netfilter.backends_unsettled('nft') | length == 0
  retries: 30
  delay: 10
"""

RETURN = r"""
_value:
  description: Sentences; none where the migration is done.
  type: list
  elements: str
  sample: [kubelet has its IPv4 chains in no backend]
"""

from ..plugin_utils import _backends
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def backends_unsettled(facts, target="", before=None):
    """Type check and call."""
    return _backends.backends_unsettled(facts, plain(target), plain(before))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"backends_unsettled": backends_unsettled}
