# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.nothing_blocks."""

DOCUMENTATION = r"""
name: nothing_blocks
short_description: Whether a gate has nothing to say of any host of a batch
version_added: 0.1.0
description:
  - True where M(kubenode.netfilter.assess) has judged all hosts in this run and each of their findings passes or is
    skipped. Then M(kubenode.netfilter.gate) neither fails nor warns of one of them, whatever its options are.
  - False where one finding fails, is unknown or is waived, and where a host was not reached.
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
author:
  - kubenode.netfilter contributors (@kubenode)
seealso:
  - module: kubenode.netfilter.gate
"""

EXAMPLES = r"""
- name: Gate
  kubenode.netfilter.gate:
  run_once: "{{ ansible_play_batch | kubenode.netfilter.nothing_blocks(hostvars, inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: Whether there is nothing to say.
  type: bool
"""

from ..plugin_utils import _batch
from ..plugin_utils._filtering import telling


@telling
def nothing_blocks(hosts, hostvars=None, host=None):
    return _batch.nothing_blocks(*_batch.arguments(hosts, hostvars, host))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"nothing_blocks": nothing_blocks}
