# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.no_turns."""

DOCUMENTATION = r"""
name: no_turns
short_description: Whether no host of a batch needs a turn
version_added: 0.1.0
description:
  - True where the result of M(kubenode.netfilter.fix) of no host lists a turn, which is a change that hosts make one
    after the other.
  - As the keyword C(run_once) of the tasks that take the turns, one host then answers for all.
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
  result:
    description: The name of the variable in which C(register) has put the result. A host without it needs no turn.
    type: str
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
seealso:
  - module: kubenode.netfilter.fix
"""

EXAMPLES = r"""
- name: Take turns
  ansible.builtin.include_tasks: turns.yml
  run_once: "{{ ansible_play_batch | kubenode.netfilter.no_turns(hostvars, inventory_hostname, 'fixed') }}"
  when: fixed['turns'] != []
"""

RETURN = r"""
_value:
  description: Whether no host needs a turn.
  type: bool
"""

from ..plugin_utils import _batch
from ..plugin_utils._filtering import telling
from ..plugin_utils._fix import idle
from ..plugin_utils._plain import plain


@telling
def no_turns(hosts, hostvars=None, host=None, result=None):
    return idle.no_turns(*_batch.arguments(hosts, hostvars, host), plain(result))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"no_turns": no_turns}
