# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.nothing_to_fix."""

DOCUMENTATION = r"""
name: nothing_to_fix
short_description: Whether no host of a batch has findings to fix
version_added: 0.1.0
description:
  - True where M(kubenode.netfilter.assess) has judged all hosts in this run and none of them has a finding that
    M(kubenode.netfilter.fix) would work on.
  - As the keyword C(run_once) of that task, one host then answers for all, and healthy fleets are spared a task for
    each host.
options:
  _input:
    description: Names of the hosts, such as C(ansible_play_batch).
    type: list
    elements: str
    required: true
  hostvars:
    description: The variable C(hostvars).
    type: dict
    required: true
  host:
    description: The host that asks, C(inventory_hostname).
    type: str
    required: true
  fix:
    description: The highest class of change. A host's variable C(preflight_fix) counts where it reaches further.
    type: str
    choices: [none, safe, guarded, disruptive]
    default: safe
author:
  - kubenode.netfilter contributors (@kubenode)
seealso:
  - module: kubenode.netfilter.fix
"""

EXAMPLES = r"""
- name: Fix
  kubenode.netfilter.fix:
    up_to: safe
  run_once: "{{ ansible_play_batch | kubenode.netfilter.nothing_to_fix(hostvars, inventory_hostname, 'safe') }}"
"""

RETURN = r"""
_value:
  description: Whether there is nothing to fix.
  type: bool
"""

from ..plugin_utils import _batch
from ..plugin_utils._filtering import telling
from ..plugin_utils._fix import idle
from ..plugin_utils._plain import plain


@telling
def nothing_to_fix(hosts, hostvars=None, host=None, fix="safe"):
    return idle.nothing_to_fix(*_batch.arguments(hosts, hostvars, host), plain(fix))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"nothing_to_fix": nothing_to_fix}
