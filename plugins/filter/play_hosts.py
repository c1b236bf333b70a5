# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.play_hosts."""

DOCUMENTATION = r"""
name: play_hosts
short_description: Check the host pattern of the collection's playbooks
version_added: 0.1.0
description:
  - Returns the host pattern unchanged, for the keyword C(hosts) of a play, and fails with one sentence if it matches no
    host. Ansible itself skips such a play and ends with status 0.
  - It is evaluated before any node is contacted. C(--syntax-check) passes, since it often has no inventory.
options:
  _input:
    description: The host pattern, or a list of them.
    type: raw
    required: true
  groups:
    description: The variable C(groups).
    type: dict
    default: {}
  name:
    description: Name of the variable that holds the pattern, for the message.
    type: str
    default: hosts
  limit:
    description: The pattern of C(--limit), which Ansible has in the variable C(ansible_limit).
    type: str
  tags:
    description: The tags of C(--tags), which Ansible has in the variable C(ansible_run_tags). A misspelt tag of the
      playbooks is refused.
    type: list
    elements: str
    default: []
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Audit
  hosts: "{{ audit_hosts | kubenode.netfilter.play_hosts(groups, 'audit_hosts') }}"
"""

RETURN = r"""
_value:
  description: The pattern.
  type: raw
"""

from ..module_utils._errors import BadInput
from ..plugin_utils import _play, _policy, _rollout
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain

# The tags in playbooks/*.yml, besides the names of the roles.
_TAGS = ("assess", "fix", "report", "gate")


@telling
def play_hosts(pattern, groups=None, name="hosts", limit=None, tags=()):
    """Type check and call."""
    pattern, groups, limit = plain(pattern), plain(groups or {}), plain(limit)
    if not isinstance(pattern, (str, list)):
        raise BadInput("needs a host pattern or a list of them, not %s (%s)" % (type(pattern).__name__, plain(name)))
    _rollout.check_tags(plain(tags), set(_TAGS).union(_policy.tunable_roles()))
    if not _play.is_only_parsed():
        _rollout.check_hosts(plain(name), pattern, _play.matches(pattern, groups, limit),
                             set(groups).union(*groups.values()), limit)
    return pattern


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"play_hosts": play_hosts}
