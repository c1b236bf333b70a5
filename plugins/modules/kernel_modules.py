#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.kernel_modules."""

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load and persist a set of kernel modules
version_added: 0.1.0
description:
  - Loads modules, persists them in one file below C(/etc/modules-load.d) and, only with O(unblock=true), comments out
    lines that block them.
  - Each load is verified in the kernel itself; the exit status of C(modprobe) proves nothing.
  - A module that fails is reported; the other modules are loaded.
  - Outside of a live place (an image, a container) modules are persisted and never loaded.
  - A module is never unloaded.
  - Backups and a record of every changed file are kept in C(/var/lib/kubenode-netfilter/kernel_modules). They are
    written before the change is made, so a run that is killed can be undone, or run again.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
options:
  name:
    description:
      - The whole set of modules; the file holds exactly these. Names that every installed kernel has built in are left
        out of it.
      - Required with O(state=present).
    type: list
    elements: str
  state:
    description:
      - V(present) loads and persists.
      - V(absent) puts back, byte for byte, every file in the record (lists of any O(file) name, and files of
        O(unblock)), and removes files and directories that were made. A file that was changed since is left alone, and
        the module fails with its name. An edit that was made before a later run changed the file once more is kept.
      - A file that is not in the record stays. Earlier versions recorded no O(file) of their own. Such a file is
        removed where it is byte for byte what they wrote; otherwise it stays and a warning names it.
    type: str
    choices: [present, absent]
    default: present
  load:
    description: Load now.
    type: bool
    default: true
  persist:
    description: Write the file that loads them at boot.
    type: bool
    default: true
  unblock:
    description:
      - Comment out C(blacklist), C(install) and C(alias) lines of modprobe.d that block one of the modules or of its
        dependencies.
      - Such a line becomes a comment, in all files that hold one. A file with a hard link is refused.
      - A file outside of C(/etc) is left alone and hidden by an edited copy in C(/etc/modprobe.d).
      - Blocks on the kernel's command line are reported and stay.
    type: bool
    default: false
  file:
    description:
      - Name of the file below C(/etc/modules-load.d). Lines of a file that was there before are kept.
      - With O(state=absent) the record decides which files are put back; the name is only needed for a file of an
        earlier version, which is not in the record.
    type: str
    default: kubenode-netfilter.conf
seealso:
  - module: kubenode.netfilter.kernel_modules_facts
"""

EXAMPLES = r"""
- name: Load and persist what kube-proxy needs
  kubenode.netfilter.kernel_modules:
    name: [nf_conntrack, xt_comment, xt_conntrack]

- name: Persist in an image tree
  kubenode.netfilter.kernel_modules:
    name: [nf_conntrack, br_netfilter]
    root: /srv/images/node

- name: Undo
  kubenode.netfilter.kernel_modules:
    state: absent
"""

RETURN = r"""
modules:
  description: One row for each module.
  returned: with O(state=present)
  type: list
  elements: dict
  contains:
    name: {description: The requested name., type: str, returned: always, sample: nf_conntrack}
    module: {description: The module it stands for; null where the kernel has none., type: str, returned: always,
             sample: nf_conntrack}
    before: {description: 'State before, as in M(kubenode.netfilter.kernel_modules_facts).', type: str,
             returned: always, sample: loadable}
    after: {description: State afterwards; in check mode the target of a run., type: str, returned: always,
            sample: loaded}
    loaded: {description: Whether the running kernel has it now., type: bool, returned: always, sample: true}
    persisted: {description: Whether it is listed for the boot., type: bool, returned: always, sample: true}
    blocked:
      description: The directives that still block a load by name, as in M(kubenode.netfilter.kernel_modules_facts).
      type: list
      elements: dict
      returned: always
      sample: []
    failed: {description: Whether it could not be loaded., type: bool, returned: always, sample: false}
    msg: {description: Why., type: str, returned: always, sample: ''}
files:
  description: Files that were written or removed. Backups, and what a killed run left behind, are not listed.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/kubenode-netfilter/kernel_modules/record.json, /etc/modules-load.d/kubenode-netfilter.conf]
msg:
  description: What failed, in one sentence for each module or file.
  returned: failure
  type: str
  sample: 'ip_vs: install blocks it (/etc/modprobe.d/cis.conf:3: install ip_vs /bin/true)'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change.modules import plan
from ..module_utils._look import tree


def main():
    tree.exit_with_result(AnsibleModule(argument_spec=plan.OPTIONS, supports_check_mode=True, **plan.RULES), plan.run)


if __name__ == "__main__":
    main()
