# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a tree to findings: healthy nodes have none that fails, and each danger has its own."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "fixtures"), str(TESTS / "checks")]

import hook_nodes
import node_tree
from healthy import healthy
from hook_nodes import AZURE, CRON_DEBIAN, DEBIAN, RHEL, SNAPSHOT, UBUNTU, firewalld, iptables_services, netfilter_persistent, ufw
from node_tree import executable, link, merged

from ansible_collections.kubenode.netfilter.plugins.module_utils import _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect._bounds import fitted
from ansible_collections.kubenode.netfilter.plugins.module_utils._collect.flush_hooks import collect_flush_hooks
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _assess, _catalogue, _policy

CHECKS = ["HOOK%03d" % number for number in range(1, 8)]
FLUSH = executable("#!/bin/sh\niptables -F\nip6tables -t nat -F\n")


def findings(manifest, folder):
    """[(check, subject)] of what fails and what is unknown, for an image."""
    section = collect_flush_hooks(_host.Host(node_tree.unpack(manifest, folder)), {"place": "image"})
    evidence = healthy([], changes={"node_host": {"place": "image"}})
    evidence.update(fitted({"node_flush_hooks": section}))
    policy = _policy.default_policy()
    found, _requirements = _assess.judged(evidence, policy, [_catalogue.catalogue()[check] for check in CHECKS])
    assert not [row for row in found if "{" in "".join(str(value) for value in row.values())]
    return sorted((row["check"], row["subject"], row["status"]) for row in found if row["status"] in ("fail", "unknown"))


@pytest.mark.parametrize("manifest", [DEBIAN, UBUNTU, RHEL, hook_nodes.SYSTEMD, merged(UBUNTU, ufw(enabled="yes")), merged(
    DEBIAN, netfilter_persistent("IPTABLES_RESTORE_NOFLUSH=yes\n"))], ids=["debian", "ubuntu", "rhel", "bare", "ubuntu with ufw", "own rules, kept apart"])
def test_healthy_nodes(manifest, tmp_path):
    assert findings(manifest, tmp_path) == []


@pytest.mark.parametrize("manifest, expected", [
    (AZURE, [("HOOK001", "/etc/systemd/scripts/iptables"), ("HOOK001", "/etc/systemd/scripts/iptables.stop"), ("HOOK004", "iptables.service")]),
    (merged(DEBIAN, {"etc/cron.daily/fw": FLUSH}), [("HOOK001", "/etc/cron.daily/fw")]),
    (merged(DEBIAN, {"etc/rc.local": FLUSH}), [("HOOK001", "/etc/rc.local")]),
    (merged(DEBIAN, {"etc/network/interfaces": "auto e\niface e inet dhcp\n pre-up iptables -F\n"}), []),
    (merged(DEBIAN, {"usr/local/sbin/fw": FLUSH}), [("HOOK003", "/usr/local/sbin/fw")]),
    (merged(DEBIAN, {hook_nodes.WANTS + "nftables.service": link("/usr/lib/systemd/system/nftables.service")}),
     [("HOOK002", "/etc/nftables.conf"), ("HOOK002", "/usr/lib/systemd/system/nftables.service")]),
    (merged(RHEL, firewalld(enabled=False), iptables_services(config="IPTABLES_SAVE_ON_STOP=yes\n")),
     [("HOOK002", "/usr/libexec/iptables/iptables.init"), ("HOOK007", "/etc/sysconfig/iptables")]),
    (merged(RHEL, firewalld("FirewallBackend=iptables\n")), [("HOOK002", "/etc/firewalld/firewalld.conf")]),
    (merged(DEBIAN, netfilter_persistent("IPTABLES_RESTORE_NOFLUSH=yes\n", SNAPSHOT)), [("HOOK005", "/etc/iptables/rules.v4")]),
    (merged(AZURE, CRON_DEBIAN, {"etc/systemd/system/iptables.service": node_tree.MASKED,
                                 "etc/cron.weekly/maintain": executable("#!/bin/sh\nsystemctl restart iptables\n")}), []),
], ids=["azure", "cron", "rc.local", "before kubelet", "by hand", "nftables.service", "rhel saves", "firewalld", "snapshot", "masked"])
def test_each_danger_has_its_finding(manifest, expected, tmp_path):
    assert findings(manifest, tmp_path) == [row + ("fail",) for row in expected]
