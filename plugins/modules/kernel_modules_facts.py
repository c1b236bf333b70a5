#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.kernel_modules_facts."""

DOCUMENTATION = r"""
module: kernel_modules_facts
short_description: Report the state of the modules that a Kubernetes node needs, on every installed kernel
version_added: 0.1.0
description:
  - For each module and B(each installed kernel) it returns whether the module is loaded, built in, loadable,
    installable, absent or unknown, with the cause and the evidence. It also returns the directives that block a load by
    name, by the kernel itself (autoload) or at boot.
  - It also names the kernel that boots next where that is known, and returns whether each module will be there then.
  - It only reads files. No module is loaded, C(modprobe) is not run, no table is created.
  - A module that could not be looked at is V(unknown) and never V(absent).
  - The section stays below 64 KB of JSON. Where a node holds more, texts and examples (C(kernels), C(blocks),
    C(persisted_by)) are shortened or left out; states, C(blocked_for) and C(lacking_on) never are.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  name:
    description:
      - Modules to look for. V(-) and V(_) mean the same. Aliases (V(ipt_MASQUERADE)) and names of old kernels
        (V(nf_conntrack_ipv4)) are resolved for each kernel.
      - The default is a list of the modules that kube-proxy, kubelet and the usual network plugins use.
    type: list
    elements: str
    aliases: [modules]
  kernel:
    description:
      - Release to judge, for example V(6.1.0-49-amd64). It must be installed in the tree.
      - The default is the running kernel in a live place, and the kernel that boots next in an image.
    type: str
seealso:
  - module: kubenode.netfilter.kernel_modules
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Look at the modules of the node
  kubenode.netfilter.kernel_modules_facts:

- name: Will IPVS work on the kernels of this image?
  kubenode.netfilter.kernel_modules_facts:
    root: /srv/images/node
    name: [ip_vs, ip_vs_rr, nf_conntrack]

- name: Name the modules that are missing
  ansible.builtin.debug:
    msg: "{{ ansible_facts.node_kernel_modules.modules | selectattr('state', 'equalto', 'absent')
      | map(attribute='name') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_kernel_modules:
      description: The section C(kernel_modules) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description: For each source V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
          type: dict
          returned: always
          sample: {proc_modules: ok, modules_directory: ok, modprobe_conf: ok, modules_load: ok, cmdline: ok,
                   boot_loader: ok}
        supports_modules:
          description: Whether the running kernel can load modules at all (CONFIG_MODULES); null where it is not known.
          type: bool
          returned: always
          sample: true
        running_release:
          description: Release of the running kernel; null outside of a live place.
          type: str
          returned: always
          sample: 6.1.0-49-cloud-amd64
        judged_release:
          description: The kernel that the RV(ansible_facts.node_kernel_modules.modules[].state) of each module speaks
            of.
          type: str
          returned: always
          sample: 6.1.0-49-cloud-amd64
        running_tree:
          description:
            - V(ok), V(gone) (there is no directory with the running kernel's modules), V(not_needed) (it loads no
              modules), or null outside of a live place, where the directory of modules could not be read, and where a
              support bundle does not hold it.
          type: str
          returned: always
          sample: ok
        running_tree_cause:
          description: Why the directory is gone, or that the cause is not known; null where it is not V(gone).
          type: str
          returned: always
          sample: null
        loading:
          description: Whether the running kernel loads modules now.
          type: dict
          returned: always
          contains:
            load: {description: 'By name: V(allowed), V(forbidden) or V(unknown).', type: str, returned: always,
                   sample: allowed}
            autoload: {description: 'By itself: V(allowed), V(forbidden) or V(unknown).', type: str, returned: always,
                       sample: allowed}
            because:
              description: The settings that forbid it.
              type: list
              elements: dict
              returned: always
              contains:
                by: {description: The switch., type: str, returned: always, sample: modules_disabled}
                file: {description: Where it is., type: str, returned: always,
                       sample: /proc/sys/kernel/modules_disabled}
                text: {description: Its text., type: str, returned: always, sample: '1'}
        kernels:
          description: The kernels looked at, newest first.
          type: list
          elements: dict
          returned: always
          contains:
            release: {description: Release., type: str, returned: always, sample: 6.1.0-49-cloud-amd64}
            running: {description: Whether it runs now., type: bool, returned: always, sample: true}
            next_boot: {description: Whether it boots next., type: bool, returned: always, sample: true}
            tree: {description: Its modules directory or null., type: str, returned: always,
                   sample: /lib/modules/6.1.0-49-cloud-amd64}
            index: {description: 'V(ok), V(missing), V(empty), V(stale), V(unreadable) or V(no_tree).', type: str,
                    returned: always, sample: ok}
            index_cause: {description: Why the index is not ok., type: str, returned: always, sample: ''}
            config: {description: File of its build configuration or null., type: str, returned: always,
                     sample: /boot/config-6.1.0-49-cloud-amd64}
            config_complete:
              description: Whether that is a whole configuration; an option that a fragment lacks is not known.
              type: bool
              returned: always
              sample: true
        kernels_left_out: {description: Kernels installed and not looked at., type: int, returned: always, sample: 0}
        next_boot:
          description: The kernel that boots next.
          type: dict
          returned: always
          contains:
            release: {description: Its release or null., type: str, returned: always, sample: 6.1.0-49-cloud-amd64}
            certain: {description: Whether a boot loader or the lack of any other kernel proves it., type: bool,
                      returned: always, sample: true}
            because: {description: The evidence., type: str, returned: always,
                      sample: the default of /boot/grub/grub.cfg}
        boot_loader:
          description: The program that reads the lists of modules to load at boot, V(systemd), V(openrc), V(sysvinit)
            or V(unknown).
          type: str
          returned: always
          sample: systemd
        boot_service: {description: 'Whether it does so: V(enabled), V(masked) or V(unknown).', type: str,
                       returned: always, sample: enabled}
        modules:
          description: One row for each requested module, by name.
          type: list
          elements: dict
          returned: always
          contains:
            name: {description: The requested name., type: str, returned: always, sample: xt_comment}
            module: {description: The module it stands for on the judged kernel; null where none exists., type: str,
                     returned: always, sample: xt_comment}
            state:
              description: V(loaded), V(builtin), V(loadable), V(installable), V(absent) or V(unknown), on the judged
                kernel.
              type: str
              returned: always
              sample: loadable
            cause:
              description: The kind of evidence as a word.
              type: str
              returned: always
              sample: in_index
            evidence:
              description: The evidence as text.
              type: str
              returned: always
              sample: kernel/net/netfilter/xt_comment.ko
            package:
              description: The package that has it, with its source, or null.
              type: dict
              returned: always
              contains:
                name: {description: Name of the package., type: str, returned: always,
                       sample: kernel-modules-extra-6.12.0-55.el10.x86_64}
                source: {description: Source of this value., type: str, returned: always,
                         sample: kubernetes/kops pull 18724}
            kernels:
              description: The verdict on the other kernels; kernels with the same verdict are one group.
              type: list
              elements: dict
              returned: always
              contains:
                releases: {description: Releases of the group., type: list, elements: str, returned: always,
                           sample: [6.12.9-1-amd64]}
                state: {description: As above., type: str, returned: always, sample: absent}
                cause: {description: As above., type: str, returned: always, sample: not_in_index}
                evidence:
                  description: As above.
                  type: str
                  returned: always
                  sample: neither in modules.dep nor in modules.builtin of 6.12.9-1-amd64
                package: {description: As above or null., type: dict, returned: always, sample: null}
            lacking_on:
              description: Kernels that neither run nor boot next and do not have it.
              type: list
              elements: str
              returned: always
              sample: []
            blocked_for:
              description: Kinds of load that are blocked, among V(load), V(autoload) and V(boot).
              type: list
              elements: str
              returned: always
              sample: [autoload, boot]
            blocked_unclear:
              description: Kinds of load that cannot be judged, because an install command is unknown or a signature
                unreadable.
              type: list
              elements: str
              returned: always
              sample: []
            blocks:
              description: The directives that block it, except the switches for all modules, which
                RV(ansible_facts.node_kernel_modules.loading) names.
              type: list
              elements: dict
              returned: always
              contains:
                for: {description: Ways that are concerned., type: list, elements: str, returned: always,
                      sample: [autoload, boot]}
                by:
                  description: V(blacklist), V(install), V(alias_off), V(module_blacklist), V(modprobe.blacklist),
                    V(sig_enforce) or V(lockdown).
                  type: str
                  returned: always
                  sample: blacklist
                effect: {description: V(blocks) or V(unclear)., type: str, returned: always, sample: blocks}
                module: {description: The module it is about; another one where a dependency is stopped., type: str,
                         returned: always, sample: xt_comment}
                file: {description: File., type: str, returned: always, sample: /etc/modprobe.d/cis.conf}
                line: {description: Line., type: int, returned: always, sample: 3}
                text: {description: 'The line, at most 160 characters.', type: str, returned: always,
                       sample: blacklist xt_comment}
            persisted:
              description: Whether a list of modules to load at boot names it; null where the lists may not be read.
              type: bool
              returned: always
              sample: false
            persisted_by:
              description: Where, at most three places.
              type: list
              elements: dict
              returned: always
              contains:
                file: {description: File., type: str, returned: always, sample: /etc/modules-load.d/k8s.conf}
                line: {description: Line., type: int, returned: always, sample: 1}
            state_next_boot: {description: The state on the kernel that boots next., type: str, returned: always,
                              sample: loadable}
            at_boot:
              description:
                - The state after the next boot, V(loaded), V(builtin), V(on_demand) (it is loaded only when a rule
                  needs it), V(no_autoload) (the kernel would load it so, but kernel.modprobe is empty), V(blocked), V(absent) or V(unknown).
              type: str
              returned: always
              sample: on_demand
            at_boot_cause: {description: Why., type: str, returned: always, sample: not listed in modules-load.d}
        unreadable:
          description:
            - Lines and files of the configuration that kmod and systemd cannot read, at most 20. A file that may not be
              read (C(collected) is V(denied)) is not one of them.
          type: list
          elements: dict
          returned: always
          contains:
            file: {description: File., type: str, returned: always, sample: /etc/modules-load.d/k8s.conf}
            line: {description: 'Line; 0 stands for the whole file.', type: int, returned: always, sample: 4}
            text: {description: 'The line, or why the file could not be read.', type: str, returned: always,
                   sample: ip_vs scheduler=rr}
        unreadable_count: {description: How many there are., type: int, returned: always, sample: 0}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import tree
from ..module_utils._look.modules.kernel_modules import collect_kernel_modules


def main():
    options = dict(tree.TREE_OPTIONS, name={"type": "list", "elements": "str", "aliases": ["modules"]},
                   kernel={"type": "str"})
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    tree.exit_with_facts(module, lambda host, node: {
        "node_kernel_modules": collect_kernel_modules(host, node, module.params["name"], module.params["kernel"])})


if __name__ == "__main__":
    main()
