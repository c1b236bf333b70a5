#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.host_facts."""

DOCUMENTATION = r"""
module: host_facts
short_description: Report what kind of machine a Kubernetes node is
version_added: 0.1.0
description:
  - Returns the distribution, the running kernel, the init system, container runtimes, whether the system is immutable,
    and which kind of place this is, a live node, an image tree or a container.
  - It only reads files and never changes anything.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
seealso:
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Look at the machine
  kubenode.netfilter.host_facts:

- name: Look at an unpacked image
  kubenode.netfilter.host_facts:
    root: /srv/images/node
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_host:
      description: The section C(host) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description: For each source V(ok), V(absent), V(denied), V(unparsed), V(timeout) or, of a bundle,
            V(uncollected).
          type: dict
          returned: always
          sample: {os_release: ok, kernel_release: ok, place: ok}
        place: {description: 'V(live), V(image), V(container) or V(bundle).', type: str, returned: always, sample: live}
        place_reason:
          description: The evidence for the place, as a sentence.
          type: str
          returned: always
          sample: kernel threads are visible and process 1 has the same root directory
        root: {description: The directory that was taken as V(/)., type: str, returned: always, sample: /}
        os:
          description: Fields of os-release; null where the file does not have them.
          type: dict
          returned: always
          contains:
            id: {description: ID., type: str, returned: always, sample: debian}
            id_like: {description: 'ID_LIKE, sorted.', type: list, elements: str, returned: always, sample: []}
            version_id: {description: VERSION_ID., type: str, returned: always, sample: '12'}
            name: {description: PRETTY_NAME., type: str, returned: always, sample: Debian GNU/Linux 12 (bookworm)}
            variant_id: {description: VARIANT_ID., type: str, returned: always, sample: null}
        architecture: {description: Machine name of the running kernel; null outside of a live place., type: str,
                       returned: always, sample: x86_64}
        as_root: {description: Whether the look was made as root; null of a bundle., type: bool, returned: always,
                  sample: true}
        kernel_release:
          description: Release of the running kernel; null for an image.
          type: str
          returned: always
          sample: 6.1.0-49-cloud-amd64
        bundle:
          description: Content of a support bundle; null outside of a place V(bundle).
          type: dict
          returned: always
          sample: null
          contains:
            files: {description: Files of the bundle., type: int, returned: always, sample: 812}
            recognised: {description: Number of files with evidence of the node., type: int, returned: always,
                         sample: 44}
            lacks:
              description: Evidence of a node that the bundle lacks.
              type: list
              elements: dict
              returned: always
              sample: []
              contains:
                subject: {description: The missing evidence., type: str, returned: always,
                          sample: loaded modules (lsmod)}
                evidence: {description: Why it is unknown., type: str, returned: always,
                           sample: the bundle does not contain it}
        boot_id:
          description: The kernel's boot id; null outside of a live place.
          type: str
          returned: always
          sample: e7a253d2-85a0-4000-9bbe-14594b2bea2b
        uptime_seconds: {description: Whole seconds since boot; null outside of a live place., type: int,
                         returned: always, sample: 86400}
        init:
          description: V(systemd), V(openrc), V(sysvinit) or V(other); null outside of a live place.
          type: str
          returned: always
          sample: systemd
        container_runtimes:
          description: Container runtimes that are installed or have a socket.
          type: list
          elements: str
          returned: always
          sample: [containerd]
        immutable: {description: Whether the system is replaced as a whole instead of being edited., type: bool,
                    returned: always, sample: false}
        immutable_by: {description: The evidence for it., type: str, returned: always, sample: null}
        memory_bytes: {description: Memory of the node; null outside of a live place., type: int, returned: always,
                       sample: 16773074944}
        cpu_count: {description: Processors online; null outside of a live place., type: int, returned: always,
                    sample: 4}
        ipv6:
          description: Whether IPv6 is available in the node's network namespace; null where it is not known.
          type: bool
          returned: always
          sample: true
        tools:
          description:
            - Path at which root finds each requested program, or null.
            - One that may lie in a directory which cannot be searched is left out.
          type: dict
          returned: always
          sample: {iptables: /usr/sbin/iptables, conntrack: null}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.host.host import collect_host


def main():
    module = AnsibleModule(argument_spec=tree.TREE_OPTIONS, supports_check_mode=True)
    call.exit_with_facts(module, lambda host, node: {"node_host": collect_host(host, node)})


if __name__ == "__main__":
    main()
