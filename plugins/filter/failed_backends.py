# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.failed_backends."""

DOCUMENTATION = r"""
name: failed_backends
short_description: What kept role C(harden_iptables_backend) from a fix, for M(kubenode.netfilter.assess)
version_added: 0.1.0
description:
  - Turns one sentence into O(kubenode.netfilter.assess#module:attempts) for the findings the role was to fix.
options:
  _input:
    description: The C(ansible_facts) of a host.
    type: dict
    required: true
  text:
    description: The sentence; nothing is returned where it is empty.
    type: str
    default: ''
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Assess again and say what was tried
  kubenode.netfilter.assess:
    attempts: "{{ ansible_facts | kubenode.netfilter.failed_backends('the node is not cordoned') }}"
"""

RETURN = r"""
_value:
  description: One row for each subject.
  type: list
  elements: dict
"""

from ..plugin_utils import _backends
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def failed_backends(facts, text=""):
    """Type check and call."""
    return _backends.failed_backends(facts, plain(text))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"failed_backends": failed_backends}
