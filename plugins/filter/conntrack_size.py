# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.conntrack_size."""

DOCUMENTATION = r"""
name: conntrack_size
short_description: Size of the conntrack table that a node needs
version_added: 0.1.0
description:
  - The limit is so high that the peak of connections fills at most O(used_percent) of the table.
  - It is at least the value that kube-proxy writes at its start, because kube-proxy overwrites any other value. If
    kube-proxy does not set the limit, it is at least the default of kube-proxy (131072, and 32768 for each processor).
  - It is rounded up to a power of two. Where that is more than O(ceiling), or than O(memory_percent) of the memory at
    400 bytes for an entry, it is rounded down to a power of two below that, and RV(_value) names the bound.
options:
  _input:
    description: Memory of the node in bytes.
    type: int
    required: true
  cpus:
    description: Processors of the node.
    type: int
    required: true
  peak:
    description: The highest known number of connections.
    type: int
    default: 0
  used_percent:
    description: Percent of the table that they may fill.
    type: int
    default: 60
  memory_percent:
    description: Percent of the memory that the table may take.
    type: int
    default: 5
  ceiling:
    description: The highest limit to return.
    type: int
    default: 1048576
  kube_proxy:
    description: Whether kube-proxy runs on the node.
    type: bool
    default: true
  kubernetes_version:
    description:
      - Version of kube-proxy; from 1.36 on it has an upper bound of its own.
      - Without a version that bound is unknown; if the bound would matter, the result then has no statement about
        kube-proxy.
    type: str
  max_per_core:
    description: Its setting conntrack.maxPerCore; V(0) means that it does not set the limit.
    type: int
    default: 32768
  min:
    description: Its setting conntrack.min.
    type: int
    default: 131072
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Tell the size for a node with 16 GiB, 8 processors and 200000 connections at the peak
  ansible.builtin.debug:
    msg: "{{ 17179869184 | kubenode.netfilter.conntrack_size(cpus=8, peak=200000) }}"

- name: Persist a limit for nodes where kube-proxy leaves it alone
  ansible.builtin.copy:
    content: "net.netfilter.nf_conntrack_max = {{ size.max }}\n"
    dest: /etc/sysctl.d/90-conntrack.conf
    mode: "0644"
  vars:
    size: "{{ (ansible_facts.memtotal_mb * 1048576)
      | kubenode.netfilter.conntrack_size(cpus=ansible_facts.processor_nproc, max_per_core=0) }}"
"""

RETURN = r"""
_value:
  description:
    - C(max) and C(buckets) to set, C(table_bytes) that a full table of that size takes, C(needed) by the peak alone.
    - C(limited_by) is V(memory), V(ceiling) or null, C(because) a sentence.
    - C(advice) names the setting that keeps kube-proxy from overwriting the limit, null where kube-proxy does not
      overwrite it.
  type: dict
"""

from ..plugin_utils._needs import conntrack
from ..plugin_utils._plain import plain
from ..plugin_utils._play.play import telling


@telling
def conntrack_size(memory_bytes, cpus=None, **options):
    """Type check and call."""
    return conntrack.size_of(plain(memory_bytes), plain(cpus),
                             {name: plain(value) for name, value in options.items()})


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"conntrack_size": conntrack_size}
