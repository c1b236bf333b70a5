# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a tree to findings: healthy nodes have no failing finding, and each danger has its own finding."""

import os

import hook_nodes
import node_processes
import node_tree
import pytest
import whole_nodes
from case_rows import cases
from healthy import healthy
from hook_nodes import (AZURE, CRON_DEBIAN, DEBIAN, RHEL, SNAPSHOT, UBUNTU, firewalld, iptables_services,
                        netfilter_persistent, ufw)
from node_tree import executable, link, merged

from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.other_hosts import BundleHost
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.bounds import fitted
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._bundle import bundles
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._checks import assess, catalogue
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies

CHECKS = ["HOOK%03d" % number for number in range(1, 11)]
FLUSH = executable("#!/bin/sh\niptables -F\nip6tables -t nat -F\n")


def findings(manifest, folder):
    """[(check, subject, status)] of the findings that fail or are unknown, for an image."""
    return sorted((row["check"], row["subject"], row["status"]) for row in judged(node_tree.unpack(manifest, folder)))


def judged(tree):
    """The findings that fail or are unknown, for an image."""
    section = collect_flush_hooks(Host(tree), {"place": "image"})
    evidence = healthy([], changes={"node_host": {"place": "image"}})
    evidence.update(fitted({"node_flush_hooks": section}))
    policy = policies.default_policy()
    found, _requirements = assess.judged(evidence, policy, [catalogue.catalogue()[check] for check in CHECKS])
    assert not [row for row in found if "{" in "".join(str(value) for value in row.values())]
    return [row for row in found if row["status"] in ("fail", "unknown")]


@pytest.mark.parametrize("manifest", [
    DEBIAN, UBUNTU, RHEL, hook_nodes.SYSTEMD, merged(UBUNTU, ufw(enabled="yes")),
    merged(DEBIAN, netfilter_persistent("IPTABLES_RESTORE_NOFLUSH=yes\n")),
], ids=["debian", "ubuntu", "rhel", "bare", "ubuntu with ufw", "own rules, kept apart"])
def test_healthy_nodes(manifest, tmp_path):
    assert findings(manifest, tmp_path) == []


def test_a_script_of_a_package_is_not_to_be_edited(tmp_path):
    tree = node_tree.unpack(merged(RHEL, firewalld(enabled=False), iptables_services()), tmp_path)
    (row,) = [row for row in judged(tree) if row["subject"] == "/usr/libexec/iptables/iptables.init"]
    assert ("Remove" not in row["remediation"] and "run systemctl mask iptables.service" in row["remediation"]
            and "with iptables-restore --noflush; or role" in row["remediation"])


@pytest.mark.parametrize("files, remedy", [
    (merged(RHEL, firewalld("FirewallBackend=iptables\n")),
     "Set FirewallBackend=nftables in line 1 of /etc/firewalld/firewalld.conf"),
    (merged(RHEL, firewalld(direct="<direct>\n<rule ipv='ipv4'>-j ACCEPT</rule>\n</direct>\n")),
     "Replace the direct rules of /etc/firewalld/direct.xml (line 2) by rich rules or policies of firewalld"),
    (merged(UBUNTU, ufw(enabled="yes", manage_builtins="yes")), "Set MANAGE_BUILTINS=no in line 3 of /etc/default/ufw"),
])
def test_a_setting_of_a_firewall_has_its_value(files, remedy, tmp_path):
    assert [row for row in judged(node_tree.unpack(files, tmp_path)) if row["remediation"].startswith(remedy)]


@pytest.mark.parametrize("name", ["fw", "f\u00fc\n" + "x" * 150])
def test_advice_is_not_cut_within_a_sentence(name, tmp_path):
    script = "".join("iptables -t %s -F\n" % table for table in ("nat", "filter", "mangle", "raw") * 5)
    script += "nft flush ruleset\niptables -P FORWARD DROP\niptables-restore /etc/rules\n"
    files = {"usr/local/sbin/" + name: executable("#!/bin/sh\n" + script)}
    (row,) = judged(node_tree.unpack(merged(DEBIAN, files), tmp_path))
    assert "Remove the commands in lines 2-22 of" in row["remediation"]
    assert row["remediation"].partition("; or role")[0].endswith((")", "save rules", "NAME", "line 24", "line 23"))
    assert row["reason"].endswith("are recreated.")


@pytest.mark.parametrize("manifest, expected", [
    (AZURE, [("HOOK001", "/etc/systemd/scripts/iptables"), ("HOOK001", "/etc/systemd/scripts/iptables.stop"),
             ("HOOK004", "iptables.service")]),
    (merged(DEBIAN, {"etc/network/interfaces": "auto e\niface e inet dhcp\n pre-up iptables -F\n"}), []),
    (merged(DEBIAN, {"usr/local/sbin/fw": FLUSH}), [("HOOK003", "/usr/local/sbin/fw")]),
    (merged(DEBIAN, {hook_nodes.WANTS + "nftables.service": link("/usr/lib/systemd/system/nftables.service")}),
     [("HOOK002", "/etc/nftables.conf"), ("HOOK002", "/usr/lib/systemd/system/nftables.service")]),
    (merged(RHEL, firewalld(enabled=False), iptables_services(config="IPTABLES_SAVE_ON_STOP=yes\n")),
     [("HOOK002", "/usr/libexec/iptables/iptables.init"), ("HOOK007", "/etc/sysconfig/iptables")]),
    (merged(RHEL, firewalld("FirewallBackend=iptables\n")), [("HOOK002", "/etc/firewalld/firewalld.conf")]),
    (merged(DEBIAN, netfilter_persistent("IPTABLES_RESTORE_NOFLUSH=yes\n", SNAPSHOT)),
     [("HOOK005", "/etc/iptables/rules.v4")]),
    (merged(AZURE, CRON_DEBIAN,
            {"etc/systemd/system/iptables.service": node_tree.MASKED,
             "etc/cron.weekly/maintain": executable("#!/bin/sh\nsystemctl restart iptables\n")}), []),
], ids=["azure", "before kubelet", "by hand", "nftables.service", "rhel saves", "firewalld", "snapshot", "masked"])
def test_each_danger_has_its_finding(manifest, expected, tmp_path):
    assert findings(manifest, tmp_path) == [row + ("fail",) for row in expected]


STARTED = {"etc/cron.d/fw": "@daily root /opt/fw.sh\n"}
NUL, BIG = executable(b"#!/bin/sh\n\0iptables -F\n"), executable("#!/bin/sh\n" + "#" * (1 << 20) + "\niptables -F\n")
TIMED = merged(hook_nodes.service("fw.service", "Type=oneshot", "ExecStart=/opt/fw.sh"), hook_nodes.unit(
    "fw.timer", "[Timer]", "OnCalendar=daily", "[Install]", "WantedBy=timers.target", enabled=True))


def unknown(tree):
    """{check: (observed, reason)} of the unknown findings; no finding fails."""
    rows = judged(tree)
    assert {row["status"] for row in rows} <= {"unknown"}
    return {row["check"]: (row["observed"], row["reason"]) for row in rows}


# HOOK006, about units that wait for their first start, does not apply to an image.
OF_UNITS = [check for check in CHECKS[:9] if check != "HOOK006"]


@pytest.mark.parametrize("manifest, checks", [
    (merged(STARTED, {"opt/fw.sh": NUL}), ["HOOK001", "HOOK009"]),
    (merged(STARTED, {"opt/fw.sh": BIG}), ["HOOK001", "HOOK009"]), (merged(TIMED, {"opt/fw.sh": NUL}), OF_UNITS),
], ids=["NUL bytes", "over the limit", "of a unit"])
def test_a_script_that_could_not_be_read_is_no_pass(manifest, checks, tmp_path):
    found = unknown(node_tree.unpack(merged(DEBIAN, manifest), tmp_path))
    assert sorted(found) == checks
    assert all(observed == "not known: /opt/fw.sh" and reason.startswith("/opt/fw.sh ")
               for observed, reason in found.values())


TABLE = {"etc/cron.d/fw": "@daily root iptables -F\n"}


@node_processes.needs_root
@pytest.mark.parametrize("manifest, path, checks", [
    (merged(STARTED, {"opt/fw.sh": FLUSH}), "opt/fw.sh", ["HOOK001", "HOOK009"]),
    (TABLE, "etc/cron.d/fw", ["HOOK001", "HOOK009"]), (TABLE, "etc/cron.d", ["HOOK001", "HOOK009"]),
    ({"var/spool/cron/crontabs/root": "@daily iptables -F\n"}, "var/spool/cron", ["HOOK001", "HOOK009"]),
    ({"usr/local/sbin/fw": FLUSH}, "usr/local/sbin/fw", ["HOOK003", "HOOK008", "HOOK010"]),
    (merged(netfilter_persistent("IPTABLES_RESTORE_NOFLUSH=no\n", SNAPSHOT), {
        "usr/local/sbin/maintenance.sh": executable("#!/bin/sh\nsystemctl restart netfilter-persistent\n")}),
     "etc/iptables/rules.v4", OF_UNITS),
    ({"etc/init.d/fw": FLUSH, "usr/local/sbin/maintenance.sh": executable("#!/bin/sh\nservice fw restart\n")},
     "etc/init.d/fw", ["HOOK001", "HOOK002", "HOOK003", "HOOK008", "HOOK009"]),
], ids=["script", "table", "folder", "parent", "by hand", "saved rules", "of a service"])
def test_what_another_user_may_not_read_is_no_pass(manifest, path, checks):
    tree = node_tree.unpack(merged(DEBIAN, manifest), node_tree.open_folder())
    os.chmod(os.path.join(tree, path), 0o700 if os.path.isdir(os.path.join(tree, path)) else 0o600)
    found = node_processes.as_nobody(lambda: unknown(tree))
    assert sorted(found) == checks
    for observed, reason in found.values():
        assert "/" + path in observed and "/" + path in reason
        assert "is not readable as user 'nobody'; run with become" in reason


@node_processes.needs_root
def test_many_that_may_not_be_read_stay_few_in_the_evidence():
    scripts = {"etc/cron.d/job%03d" % number: node_tree.mode(0o600, "x") for number in range(300)}
    tree = node_tree.unpack(merged(DEBIAN, scripts), node_tree.open_folder())
    scanned = node_processes.as_nobody(lambda: collect_flush_hooks(Host(tree), {"place": "image"})["scanned"])
    assert (len(scanned["skipped"]), scanned["skipped_count"]) == (5, 300)


@cases
def test_whether_a_program_runs_a_script_is_not_known_of_a_bundle_without_it(tmp_path, program, path, text):
    checks = whole_nodes.CHECKS

    def of_bundle(manifest):
        with bundles.opened(node_tree.unpack(manifest, tmp_path)) as tree:
            return whole_nodes.judged(BundleHost(tree["root"]), [checks["HOOK001"], checks["HOOK003"]], "bundle")
    automatic, by_hand = of_bundle({path: executable(text), "usr/local/sbin/fw": FLUSH})
    assert (automatic["status"], by_hand["status"]) == ("unknown", "skip")
    assert "whether %s runs is not known: the bundle has neither" % program in automatic["reason"]
    if program == "cloud-init":
        unit = hook_nodes.service("cloud-init.service", "ExecStart=/bin/true")
        assert [row["status"] for row in of_bundle(unit)] == ["fail", "pass"]


@pytest.mark.parametrize("path, text, reason", [
    ("etc/cron.d/fw", "* * * * * root /usr/local/sbin/fw\n", "it is a table of cron"),
    ("etc/network/interfaces", "iface eth0 inet dhcp\n  up /usr/local/sbin/fw\n", "ifupdown runs it")])
def test_what_only_its_program_has_counts_in_a_bundle(tmp_path, path, text, reason):
    with bundles.opened(node_tree.unpack({path: text, "usr/local/sbin/fw": FLUSH}, tmp_path)) as tree:
        found, = whole_nodes.judged(BundleHost(tree["root"]), [whole_nodes.CHECKS["HOOK001"]], "bundle")
    assert found["status"] == "fail" and reason in found["reason"]
