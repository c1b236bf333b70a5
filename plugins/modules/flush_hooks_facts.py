#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.flush_hooks_facts."""

DOCUMENTATION = r"""
module: flush_hooks_facts
short_description: Find commands that flush the firewall of a Kubernetes node, and their triggers
version_added: 0.1.0
description:
  - A script or a service that flushes rules also removes the rules of Kubernetes and of the network plugin. kubelet
    sets up its chains once, at its start, so a chain that it could not set up then stays broken until kubelet is
    restarted.
  - It searches units of systemd with their drop-ins, the scripts that they run and that these scripts run, cron,
    cloud-init, the dispatchers of NetworkManager and systemd-networkd, ifupdown, rc.local, init scripts, udev,
    logrotate, hooks of apt and dnf, the firewall services of distributions with their settings, saved rule sets, and
    the directories that you name.
  - For each command it returns the tables that it flushes, its trigger, and whether it is live. Comments, printed
    texts, here-documents that are only written, functions that are never called and flushes of a program's own chains
    are no hooks.
  - It only reads files, and runs C(systemctl show) once on a live node. No script is run.
  - Scripts in languages other than shells and nft are not read; the ones with a word of the firewall are named.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.looks
  - kubenode.netfilter.common.tree
options:
  hook_directories:
    description:
      - Directories with scripts that are run by hand, searched six levels deep. Links to directories are not followed.
      - Scripts that run automatically are found in every directory, listed here or not.
    type: list
    elements: str
    default: [/usr/local/bin, /usr/local/sbin]
seealso:
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.iptables_chain_audit
"""

EXAMPLES = r"""
- name: Look for hooks
  kubenode.netfilter.flush_hooks_facts:
    hook_directories: [/usr/local/bin, /usr/local/sbin, /opt/maintenance]
  become: true

- name: Name the hooks that run automatically
  ansible.builtin.debug:
    msg: "{{ item.path }}:{{ item.line }} {{ item.command }}"
  loop: "{{ ansible_facts.node_flush_hooks.hooks | selectattr('live') }}"
"""

RETURN = r"""
ansible_facts:
  description: Facts that are added to the host.
  returned: success
  type: dict
  contains:
    node_flush_hooks:
      description: The section C(flush_hooks) of the evidence.
      returned: success
      type: dict
      contains:
        schema: {description: Version of this shape., type: int, returned: always, sample: 1}
        collected:
          description:
            - For each kind of place V(ok), V(absent), V(denied), V(unparsed) or V(timeout).
            - V(timeout) means that there were more files than one look reads.
          type: dict
          returned: always
          sample:
            {cloud_init: absent, cron: ok, directories: ok, ifupdown: absent, init: ok, logrotate: ok,
             network_manager: absent, networkd_dispatcher: absent, package_hooks: ok, rc_local: absent,
             saved_rules: absent, systemd: ok, udev: ok}
        hooks:
          description: One row for each command. Live commands come first, and automatic ones before commands that are
            run by hand.
          type: list
          elements: dict
          returned: always
          contains:
            path: {description: The file with the command., type: str, returned: always, sample: /etc/cron.d/firewall}
            line: {description: Its line., type: int, returned: always, sample: 4}
            command:
              description: 'The command, at most 200 characters, without what looks like a secret.'
              type: str
              returned: always
              sample: systemctl restart iptables
            kind:
              description:
                - V(script), V(unit), V(cron), V(cloud_init), V(dispatcher), V(ifupdown), V(rc_local), V(init), V(udev),
                  V(logrotate), V(package_hook), V(nft_config) or V(service_config) (a setting of a firewall service).
              type: str
              returned: always
              sample: cron
            owner:
              description:
                - V(administrator), V(package) or V(unknown), by the directory, and below C(/etc) by the lists of dpkg;
                  databases of rpm are not read.
              type: str
              returned: always
              sample: administrator
            sort:
              description:
                - V(flush), V(delete), V(policy), V(restore), V(ruleset), V(table), V(service) (a unit that does one of
                  these), V(sets), V(ipvs), or V(module).
              type: str
              returned: always
              sample: service
            families:
              description: 'V(ipv4), V(ipv6), and of nft V(inet), V(arp), V(bridge).'
              type: list
              elements: str
              returned: always
              sample: [ipv4]
            tables: {description: 'Tables that lose rules, V(*) is every one.', type: list, elements: str,
                     returned: always, sample: [filter]}
            chains: {description: 'Chains that lose rules, V(*) is every one.', type: list, elements: str,
                     returned: always, sample: ['*']}
            comes_back:
              description:
                - V(no), V(saved) (the same script restores its saved rules), V(replaced) (other rules are loaded), or
                  V(unknown).
              type: str
              returned: always
              sample: 'no'
            service: {description: 'The unit that the command starts, stops or reloads, or null.', type: str,
                      returned: always, sample: iptables.service}
            verb: {description: The verb for that unit; or null., type: str, returned: always, sample: restart}
            unit: {description: The unit that runs the command; or null., type: str, returned: always, sample: null}
            triggers:
              description:
                - V(boot), V(start), V(stop), V(restart), V(reload) (of
                  RV(ansible_facts.node_flush_hooks.hooks[].unit)), V(package_upgrade), V(timer), V(event) (a device, a
                  network, a file) or V(by_hand).
              type: list
              elements: str
              returned: always
              sample: [timer]
            through:
              description: 'The callers, the nearest first, as path and line; at most five.'
              type: list
              elements: str
              returned: always
              sample: ['/etc/cron.d/firewall:4']
            live:
              description:
                - Whether the node runs it. True where its unit is active or enabled, or the program that reads its
                  place would run it.
                - Null where that is not known, and for scripts that are only run by hand.
              type: bool
              returned: always
              sample: true
            live_because: {description: Why., type: str, returned: always, sample: cron.service is active}
            confidence:
              description: 'V(certain), V(likely) or V(possible): the certainty that the command does this.'
              type: str
              returned: always
              sample: certain
            fix:
              description:
                - The smallest change that removes the danger, V(remove_command), V(drop_in), V(divert) (the script of a
                  package), or null.
              type: str
              returned: always
              sample: remove_command
            saved_to: {description: 'File, or command of a service, with which the same script saves the remaining
                         rules; or null.', type: str, returned: always, sample: /etc/iptables/rules.v4}
            restarted: {description: 'V(kubelet) and V(kube-proxy), if the same script restarts them afterwards.',
                        type: list, elements: str, returned: always, sample: [kubelet]}
            appends: {description: 'Whether the same script adds rules afterwards, which would be there twice without
                        the command.', type: bool, returned: always, sample: true}
            purpose:
              description:
                - V(teardown) in a script of a distribution that removes Kubernetes from a node (k3s, RKE2), V(library)
                  in a function that no script calls, or null.
              type: str
              returned: always
              sample: null
        hook_count: {description: Number of hooks., type: int, returned: always, sample: 1}
        hooks_left_out: {description: Number of hooks without a row here., type: int, returned: always, sample: 0}
        files:
          description: The same hooks, grouped by file, as in the findings; at most forty rows.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: The file., type: str, returned: always, sample: /etc/systemd/scripts/iptables.stop}
            path: {description: The same., type: str, returned: always, sample: /etc/systemd/scripts/iptables.stop}
            line: {description: Line of the first command., type: int, returned: always, sample: 6}
            lines: {description: 'Lines of the first five commands.', type: list, elements: int, returned: always,
                    sample: [6, 7, 8]}
            command: {description: The first command., type: str, returned: always, sample: iptables -F}
            commands: {description: How many there are., type: int, returned: always, sample: 18}
            kind: {description: As of a hook., type: str, returned: always, sample: script}
            owner: {description: As of a hook., type: str, returned: always, sample: package}
            families: {description: Of all commands together., type: list, elements: str, returned: always,
                       sample: [ipv4, ipv6]}
            tables: {description: Of all commands together., type: list, elements: str, returned: always,
                     sample: [filter, mangle, nat, raw]}
            comes_back: {description: The worst of all commands., type: str, returned: always, sample: 'no'}
            shown: {description: 'All commands with their lines, at most 300 characters.', type: str, returned: always,
                    sample: 'line 6: iptables -F; line 7: iptables -t nat -F'}
            returns: {description: 'A sentence on who brings which rules back; empty where it is not known.', type: str,
                      returned: always, sample: ' Rules come back: those of kubelet and kube-proxy only with their
                        restart, because their canaries in mangle stay.'}
            remedy: {description: 'What to change by hand, for this kind of file.', type: str, returned: always,
                     sample: 'Remove the commands in lines 6 and 7 of /etc/systemd/scripts/iptables.stop.'}
            saved:
              description: A sentence that names the file to which the remaining rules are saved, empty where they are
                not saved.
              type: str
              returned: always
              sample: ' The rule set without these rules is saved afterwards (/etc/iptables/rules.v4): a boot does not
                bring rules of others back.'
            rebuilt: {description: 'The rules that kubelet and kube-proxy rebuild if the script restarts them
                        afterwards; otherwise empty.', type: str, returned: always,
                      sample: ' Afterwards it restarts kubelet. kubelet rebuilds KUBE-FIREWALL.'}
            lost: {description: The rules that stay lost despite these restarts., type: str, returned: always,
                   sample: ' Stays lost: KUBE-FORWARD of kube-proxy (until it is restarted), rules of others.'}
            advice: {description: 'Reason for care with a removal: the script adds rules later, or belongs to a
                       distribution; otherwise empty.', type: str, returned: always, sample: ''}
            purpose: {description: As of a hook., type: str, returned: always, sample: null}
            unit: {description: The unit that runs it or that it starts or stops; or null., type: str, returned: always,
                   sample: iptables.service}
            triggers: {description: Of all commands together., type: list, elements: str, returned: always,
                       sample: [stop, restart, package_upgrade]}
            before_kubelet:
              description: Whether every unit of a kubelet waits for the unit that runs it at boot; null where it does
                not run at boot or there is no kubelet.
              type: bool
              returned: always
              sample: null
            automatic:
              description: Whether it runs automatically while kubelet may run; commands of units at boot are
                in RV(ansible_facts.node_flush_hooks.unordered).
              type: bool
              returned: always
              sample: true
            asked: {description: 'Whether a start, stop, restart or reload of a unit runs it.', type: bool,
                    returned: always, sample: true}
            by_hand: {description: Whether it is only run by hand., type: bool, returned: always, sample: false}
            live: {description: As of a hook., type: bool, returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: iptables.service is active}
            confidence: {description: The highest certainty of all commands., type: str, returned: always,
                         sample: certain}
        file_count: {description: Number of such rows; at most forty are listed., type: int, returned: always,
                     sample: 2}
        saved_rule_sets:
          description: Files that hold rules, those with chains of Kubernetes first, at most twenty.
          type: list
          elements: dict
          returned: always
          contains:
            path: {description: The file., type: str, returned: always, sample: /etc/iptables/rules.v4}
            format: {description: 'V(iptables) or V(nft); null where it is still to be written.', type: str,
                     returned: always, sample: iptables}
            family: {description: 'V(ipv4), V(ipv6) or null.', type: str, returned: always, sample: ipv4}
            tables: {description: Its tables., type: list, elements: str, returned: always, sample: [filter, nat]}
            owners:
              description: >-
                Number of rules and chains of each owner, as in
                RV(kubenode.netfilter.iptables_chain_audit#module:ansible_facts.node_iptables_chains).
              type: dict
              returned: always
              sample: {kube_proxy: 211, calico: 84, other: 12}
            rules: {description: Rules in all; 0 for nft., type: int, returned: always, sample: 260}
            kubernetes:
              description: Number of rules and chains of Kubernetes or of a network plugin.
              type: int
              returned: always
              sample: 295
            replayed_by: {description: 'Units and scripts that load it, at most five.', type: list, elements: str,
                          returned: always, sample: [netfilter-persistent.service]}
            at_boot: {description: Whether a boot loads it; null where that is not known., type: bool, returned: always,
                      sample: true}
            saved_by: {description: 'Units and settings that overwrite it with all rules of the node, at most five.',
                       type: list, elements: str, returned: always, sample: ['/etc/sysconfig/iptables-config:12']}
        written:
          description: Scripts that write settings into C(modprobe.d) or C(sysctl.d) which block netfilter modules or
            turn forwarding off, or rules that flush, drop or copy those of Kubernetes into a file that a service loads,
            at most twenty.
          type: list
          elements: dict
          returned: always
          contains:
            subject: {description: The script., type: str, returned: always, sample: /etc/cron.daily/harden}
            path: {description: The same., type: str, returned: always, sample: /etc/cron.daily/harden}
            line: {description: Its line., type: int, returned: always, sample: 4}
            command: {description: 'The command, at most 200 characters, without what looks like a secret.', type: str,
                      returned: always, sample: 'echo net.ipv4.ip_forward=0 > /etc/sysctl.d/99-harden.conf'}
            file: {description: The file that it writes., type: str, returned: always,
                   sample: /etc/sysctl.d/99-harden.conf}
            settings: {description: 'Such lines, or what the rules do; at most five.', type: list, elements: str,
                       returned: always, sample: [net.ipv4.ip_forward=0]}
            setting_count: {description: How many there are., type: int, returned: always, sample: 1}
            applied: {description: When the file takes effect., type: str, returned: always,
                      sample: the next boot applies /etc/sysctl.d/99-hardening.conf}
            remedy: {description: What to change by hand., type: str, returned: always,
                     sample: 'Remove net.ipv4.ip_forward=0 from line 4 of /usr/local/sbin/harden, then correct
                       /etc/sysctl.d/99-hardening.conf.'}
            triggers: {description: As of a hook., type: list, elements: str, returned: always, sample: [timer]}
            by_hand: {description: Whether it is only run by hand., type: bool, returned: always, sample: false}
            through: {description: As of a hook., type: list, elements: str, returned: always,
                      sample: ['/etc/crontab:8']}
            live: {description: As of a hook., type: bool, returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: cron.service is active}
        saved_left_out: {description: How many more there are., type: int, returned: always, sample: 0}
        unordered:
          description: Units that flush at boot, and that the unit of kubelet does not wait for.
          type: list
          elements: dict
          returned: always
          contains:
            unit: {description: The unit., type: str, returned: always, sample: iptables.service}
            path: {description: Its file., type: str, returned: always,
                   sample: /usr/lib/systemd/system/iptables.service}
            before: {description: The unit that should wait., type: str, returned: always, sample: kubelet.service}
            reason: {description: Why., type: str, returned: always,
                     sample: neither it nor a unit between them says that kubelet.service starts after it}
        waiting:
          description: Units that start automatically, flush at their start, and have not started since the boot.
          type: list
          elements: dict
          returned: always
          contains:
            unit: {description: The unit., type: str, returned: always, sample: iptables.service}
            path: {description: Its file., type: str, returned: always,
                   sample: /usr/lib/systemd/system/iptables.service}
            state: {description: As C(systemctl is-enabled) prints it., type: str, returned: always, sample: enabled}
            active: {description: 'As C(systemctl is-active) prints it; null where systemd does not answer.', type: str,
                     returned: always, sample: inactive}
        firewalld:
          description: Settings of firewalld, null where it is not installed.
          type: dict
          returned: always
          contains:
            backend: {description: 'V(nftables) or V(iptables), which flushes every table.', type: str,
                      returned: always, sample: nftables}
            flush_all_on_reload: {description: FlushAllOnReload; it concerns rules of firewalld itself., type: bool,
                                  returned: always, sample: true}
            cleanup_on_exit: {description: CleanupOnExit., type: bool, returned: always, sample: true}
            direct_rules: {description: Direct rules in its file; with any it flushes every table of iptables.,
                           type: int, returned: always, sample: 0}
            forward: {description: Whether its default zone or a zone of the site with the target ACCEPT lets packets
                        between interfaces without a zone pass such as those of pods; null where that depends on the
                        interfaces and addresses of the node., type: bool, returned: always, sample: true}
            forward_by: {description: The file of its default zone., type: str, returned: always,
                         sample: /usr/lib/firewalld/zones/public.xml}
            live: {description: Whether it runs or starts automatically; null where it is not known., type: bool,
                   returned: always, sample: false}
            live_because: {description: Why., type: str, returned: always,
                           sample: firewalld.service is disabled and inactive}
        ufw:
          description: Settings of ufw, null where it is not installed.
          type: dict
          returned: always
          contains:
            enabled: {description: ENABLED., type: bool, returned: always, sample: false}
            manage_builtins: {description: MANAGE_BUILTINS; with it ufw flushes built-in chains., type: bool,
                              returned: always, sample: false}
            ipv6: {description: IPV6; without it ufw replaces the filter table of IPv6., type: bool, returned: always,
                   sample: true}
            forward_policy: {description: DEFAULT_FORWARD_POLICY; null where it is not set., type: str,
                             returned: always, sample: DROP}
            forward_by: {description: The line that sets it., type: str, returned: always,
                         sample: /etc/default/ufw:3}
            routes: {description: Whether a rule of ufw accepts forwarded packets of pods., type: bool,
                     returned: always, sample: false}
            live: {description: Whether its unit runs or starts automatically; null where it is not known., type: bool,
                   returned: always, sample: true}
            live_because: {description: Why., type: str, returned: always, sample: ufw.service is active}
        scanned:
          description: What was read.
          type: dict
          returned: always
          contains:
            files: {description: Files., type: int, returned: always, sample: 640}
            bytes: {description: Their bytes., type: int, returned: always, sample: 812344}
            skipped:
              description: Files and directories that could not be read, at most five of each source.
              type: list
              elements: dict
              returned: always
              contains:
                source: {description: 'The source that it belongs to, a key of C(collected).', type: str,
                         returned: always, sample: cron}
                path: {description: File or directory., type: str, returned: always, sample: /etc/cron.d/backup}
                reason: {description: Why and how to know., type: str, returned: always,
                         sample: "/etc/cron.d/backup is not readable as user 'ops'; run with become"}
            skipped_count: {description: How many there are in all., type: int, returned: always, sample: 1}
            other_languages:
              description: 'Scripts with a word of the firewall that neither a shell nor nft runs, at most ten.'
              type: list
              elements: str
              returned: always
              sample: [/usr/local/sbin/firewall.py]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._look import call, tree
from ..module_utils._look.hooks.flush_hooks import DIRECTORIES, collect_flush_hooks


def main():
    searched = {"type": "list", "elements": "str", "default": list(DIRECTORIES)}
    module = AnsibleModule(argument_spec=dict(tree.TREE_OPTIONS, hook_directories=searched), supports_check_mode=True)
    call.exit_with_facts(module, lambda host, node: {
        "node_flush_hooks": collect_flush_hooks(host, node, module.params["hook_directories"])})


if __name__ == "__main__":
    main()
