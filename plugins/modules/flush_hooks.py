#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.flush_hooks."""

DOCUMENTATION = r"""
module: flush_hooks
short_description: Remove hooks that flush the firewall from a node, reversibly
version_added: 0.1.0
description:
  - Looks for hooks as the section V(flush_hooks) of M(kubenode.netfilter.node_facts) does and makes the smallest
    change that removes the danger of each.
  - Of an administrator's script, or of a line in a table of cron and the like, only the one command is removed. Where
    the command cannot simply be removed, C(:) replaces it. A restore of saved rules at boot stays and gets
    C(--noflush). The result must read the same but for that command, and on a live node the script's own shell must
    parse it (C(sh -n)).
  - A packaged unit is never edited. It gets a drop-in that clears a stop or reload that flushes, replaces a start that
    flushes by one with C(--noflush), orders it before kubelet, and refuses manual starts and stops. On a live node
    C(systemd-analyze verify) must accept the drop-in without an ordering cycle before it is written; elsewhere the
    order is derived from the files.
  - Saved rule sets lose the chains of Kubernetes and of its network plugin, with the rules that jump to them. No tool
    of the node is run on them.
  - Backups and a record of every change are kept in C(/var/lib/kubenode-netfilter/flush_hooks). They are written before
    the change is made, so a run that is killed can be undone, or run again.
  - Nothing is started, stopped, restarted or reloaded. Only C(systemctl daemon-reload) is run where units changed on a
    live node.
  - Where a script adds rules after a flush that is removed, each further run adds them once more. The module warns of
    that.
  - A file keeps its mode, owner, ACL, label and line endings.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.public
  - kubenode.netfilter.common.changes
  - kubenode.netfilter.common.tree
options:
  state:
    description:
      - V(present) removes the hooks.
      - V(absent) restores every file byte for byte and removes added files. A file that was changed since is left
        alone, and the module fails with its name.
    type: str
    choices: [present, absent]
    default: present
  only:
    description:
      - Change only these. Each is the path of a file, a path with a line (C(/opt/fw.sh:12)), the path of a directory,
        or the name of a unit.
      - Empty for all.
    type: list
    elements: str
    default: []
  start:
    description:
      - The change to a unit that flushes when it starts.
      - V(noflush) lets it restore with C(--noflush) where its program is known, or its command restores rules itself. A
        start that cannot be changed like this, such as C(nft -f) of a configuration that flushes the whole ruleset, is
        left to the boot, before kubelet.
      - V(mask) prevents its start, so its rules are no longer loaded. A unit whose own file is in
        C(/etc/systemd/system) cannot be masked and is treated as with V(noflush).
    type: str
    choices: [noflush, mask]
    default: noflush
  divert:
    description:
      - Whether a packaged script that no unit runs is replaced by an edited copy. C(dpkg-divert) puts the packaged one
        aside, and upgrades do not bring it back. Without C(dpkg) the script is reported and stays.
    type: bool
    default: false
  clean_saved:
    description: Whether chains of Kubernetes and of its network plugin are removed from saved rule sets.
    type: bool
    default: true
  hook_directories:
    description: Directories that are searched for scripts in addition to the places from which a node runs scripts
      automatically.
    type: list
    elements: path
    default: [/usr/local/bin, /usr/local/sbin]
notes:
  - The first restore with C(--noflush) after a boot fills empty tables. Each further one would add the rules of
    built-in chains once more, which is why manual starts are refused. Use C(iptables-restore) by hand, or reboot, to
    load other rules.
  - If a script fails because a unit now refuses manual stops, remove the call from the script. This module does so in
    the scripts that it finds.
  - The scripts of Azure Linux and Photon no longer run, so their other commands, such as writing sysctls, are not run
    either.
seealso:
  - module: kubenode.netfilter.node_facts
"""

EXAMPLES = r"""
- name: Neutralise every hook
  kubenode.netfilter.flush_hooks:

- name: See what would be done about one unit and one script
  kubenode.netfilter.flush_hooks:
    only: [iptables.service, /usr/local/sbin/maintenance.sh]
  check_mode: true
  diff: true

- name: Undo
  kubenode.netfilter.flush_hooks:
    state: absent
"""

RETURN = r"""
hooks:
  description: One row for each hook, saved rule set and order that was changed, or could not be changed.
  returned: always; empty with O(state=absent)
  type: list
  elements: dict
  contains:
    path: {description: Its file., type: str, returned: always, sample: /usr/local/sbin/maintenance.sh}
    line: {description: Its line; null where it is the whole file or unit., type: int, returned: always, sample: 12}
    command: {description: 'The command, secrets masked; null where none exists.', type: str, returned: always,
              sample: systemctl restart iptables}
    kind:
      description: Kind of the file, V(saved_rules) or as in
        RV(kubenode.netfilter.node_facts#module:ansible_facts.node_flush_hooks.hooks[].kind).
      type: str
      returned: always
      sample: script
    unit: {description: The unit that runs it., type: str, returned: always, sample: null}
    triggers: {description: Its trigger., type: list, elements: str, returned: always, sample: [by_hand]}
    action:
      description:
        - The change.
        - V(removed) removes the command, V(noflush) adds C(--noflush) to it, V(drop_in) disables it in its unit,
          V(ordered) runs it only at boot before kubelet, V(masked) prevents the start of its unit, V(diverted) replaces
          a packaged script by an edited copy, V(cleaned) removes chains from a saved rule set. Null where nothing is
          changed.
      type: str
      returned: always
      sample: removed
    failed: {description: Whether the change was tried and failed., type: bool, returned: always, sample: false}
    msg: {description: 'The reason for no change, or the part that stays.', type: str, returned: always, sample: ''}
files:
  description: Files that were written, linked or removed, in that order. Backups, and what a killed run left behind,
    are not listed.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/kubenode-netfilter/flush_hooks/record.json, /usr/local/sbin/maintenance.sh]
daemon_reload:
  description: Whether systemd reads its units again (daemon-reload).
  returned: always
  type: bool
  sample: false
msg:
  description: What failed, in one sentence for each file or unit.
  returned: failure
  type: str
  sample: '/opt/fw.sh is not put back: it was changed since; its former content is in
    /var/lib/kubenode-netfilter/flush_hooks/files/7d865e95'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._change.hooks import plan
from ..module_utils._look import tree


def main():
    tree.exit_with_result(AnsibleModule(argument_spec=plan.OPTIONS, supports_check_mode=True, **plan.RULES), plan.run)


if __name__ == "__main__":
    main()
