# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.cordon_doubt."""

DOCUMENTATION = r"""
name: cordon_doubt
short_description: Why a node is not known to be cordoned
version_added: 0.1.0
description:
  - Reads the answer to C(kubectl get node NAME -o json). Anything but that node with C(spec.unschedulable) set is a doubt.
options:
  _input:
    description: A registered result of the command, failed or not.
    type: dict
    required: true
  node:
    description: Name of the node in the cluster.
    type: str
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Ask the API
  ansible.builtin.command: kubectl get node worker-7 -o json
  delegate_to: bastion
  register: answer
  changed_when: false

- name: Go on with a cordoned node only
  ansible.builtin.assert:
    that: answer | kubenode.netfilter.cordon_doubt('worker-7') == ''
"""

RETURN = r"""
_value:
  description: One sentence; empty where the node is cordoned.
  type: str
  sample: the node worker-7 is not cordoned
"""

from ..plugin_utils import _backends
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def cordon_doubt(result, node=""):
    """Type check and call."""
    return _backends.cordon_doubt(plain(result), plain(node))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"cordon_doubt": cordon_doubt}
