# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What distributions install, and which of it flushes."""

import pytest

import hook_nodes
import node_tree
from hook_nodes import AZURE, DEBIAN, RHEL, SNAPSHOT, UBUNTU, firewalld, iptables_services, netfilter_persistent, ufw
from node_tree import link, merged
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import collect_flush_hooks


def look(manifest, tmp_path, place="image", **options):
    return collect_flush_hooks(Host(node_tree.unpack(manifest, tmp_path)), {"place": place}, **options)


def rows(section, **fields):
    return [row for row in section["hooks"] if all(row[key] == value for key, value in fields.items())]


def offending(section):
    """What any check would find."""
    return ([row["path"] for row in section["files"] if row["live"] is not False] + section["unordered"]
            + section["waiting"] + [row["path"] for row in section["saved_rule_sets"] if row["kubernetes"]
                                    or row["saved_by"]])


@pytest.mark.parametrize("manifest", [DEBIAN, UBUNTU, RHEL, hook_nodes.SYSTEMD],
                         ids=["debian", "ubuntu", "rhel", "bare"])
def test_a_healthy_node_has_nothing_to_be_found(manifest, tmp_path):
    section = look(manifest, tmp_path)
    assert offending(section) == []
    assert not set(section["collected"].values()) & {"denied", "timeout", "unparsed"}


def test_what_is_installed_and_off_is_told_and_not_live(tmp_path):
    section = look(DEBIAN, tmp_path)
    assert {(row["path"], row["sort"], row["live"]) for row in section["hooks"]} == {
        ("/usr/lib/systemd/system/nftables.service", "ruleset", False), ("/etc/nftables.conf", "ruleset", False)}
    assert {row["live_because"] for row in section["hooks"]} == {"nftables.service is disabled"}


def test_azure_linux(tmp_path):
    section = look(AZURE, tmp_path)
    start, stop = "/etc/systemd/scripts/iptables", "/etc/systemd/scripts/iptables.stop"
    assert {row["path"] for row in section["hooks"]} == {start, stop}
    assert {(row["path"], tuple(row["triggers"]), row["live"], row["owner"], row["unit"])
            for row in section["hooks"]} == {
                (start, ("boot", "start", "restart", "package_upgrade"), True, "package", "iptables.service"),
                (stop, ("stop", "restart", "package_upgrade"), True, "package", "iptables.service")}
    assert all(row["through"] and row["through"][0].startswith("/usr/lib/systemd/system/iptables.service:")
               for row in section["hooks"])
    assert [row["unit"] for row in section["unordered"]] == ["iptables.service"]
    assert {(row["path"], row["automatic"]) for row in section["files"]} == {(start, True), (stop, True)}
    assert rows(section, path=start, sort="restore")[0]["tables"] == ["filter"]
    assert section["saved_rule_sets"][0]["replayed_by"] == ["iptables.service"]


def test_a_script_that_is_not_executable_starts_nothing(tmp_path):
    """ConditionFileIsExecutable= of the unit."""
    script = AZURE["etc/systemd/scripts/iptables"]["content"]
    section = look(merged(AZURE, {"etc/systemd/scripts/iptables": script}), tmp_path)
    assert {row["live"] for row in section["hooks"]} == {False}
    assert offending(section) == []


def test_rhel_iptables_services(tmp_path):
    section = look(merged(RHEL, firewalld(enabled=False), iptables_services()), tmp_path)
    init = "/usr/libexec/iptables/iptables.init"
    assert {(row["path"], row["sort"], tuple(row["tables"]), tuple(row["triggers"]), row["fix"])
            for row in rows(section, live=True)} == {
                (init, "restore", ("filter",), ("boot", "start", "restart", "reload"), "drop_in"),
                (init, "flush", ("raw", "mangle", "filter", "nat"), ("stop", "restart"), "drop_in"),
                (init, "delete", ("raw", "mangle", "filter", "nat"), ("stop", "restart"), "drop_in")}
    assert section["unordered"] == [] and section["saved_rule_sets"][0]["replayed_by"] == ["iptables.service"]


def test_rhel_with_a_script_that_cannot_be_read(tmp_path):
    section = look(merged(RHEL, iptables_services(), {"usr/libexec/iptables/iptables.init": node_tree.executable()}),
                   tmp_path)
    assert [(row["sort"], row["kind"], row["tables"], row["triggers"]) for row in rows(section, live=True)] == [
        ("restore", "unit", ["filter"], ["boot", "start", "restart"]), ("restore", "unit", ["filter"], ["reload"]),
        ("flush", "unit", ["raw", "mangle", "filter", "nat"], ["stop", "restart"])]


def test_rhel_without_a_file_starts_nothing(tmp_path):
    """AssertPathExists= of the unit."""
    section = look(merged(RHEL, iptables_services(), {"etc/sysconfig/iptables": None}), tmp_path)
    assert {row["live"] for row in section["hooks"]} == {False}


def test_rhel_saves_everything_at_its_stop(tmp_path):
    section = look(merged(RHEL, iptables_services(config="# comment\nIPTABLES_SAVE_ON_STOP=\"yes\"\n")), tmp_path)
    assert [row["saved_by"] for row in section["saved_rule_sets"]] == [["/etc/sysconfig/iptables-config:2"]]


@pytest.mark.parametrize(
    "settings, rules, sorts", [
        ("FLUSH_ON_STOP=0\n", None, [("restore", "replaced")]),
        ("FLUSH_ON_STOP=1\n", None, [("flush", "no"), ("restore", "replaced")]),
        ("IPTABLES_RESTORE_NOFLUSH=yes\n", None, []),
        ("IPTABLES_RESTORE_NOFLUSH=yes\n", "*nat\n-F\n-X mine\nCOMMIT\n", [("flush", "no")]), ("", "", []),
    ])
def test_debian_netfilter_persistent(settings, rules, sorts, tmp_path):
    fields = {"settings": settings} if rules is None else {"settings": settings, "rules": rules}
    section = look(merged(DEBIAN, netfilter_persistent(**fields)), tmp_path)
    assert sorted((row["sort"], row["comes_back"]) for row in rows(section, live=True)) == sorted(sorts)


@pytest.mark.parametrize("settings, number", [("", 0), ("IPTABLES_RESTORE_NOFLUSH=no\n", 1)])
def test_the_environment_of_a_unit_counts_less_than_the_file(settings, number, tmp_path):
    drop_in = {"etc/systemd/system/netfilter-persistent.service.d/kube.conf": "[Service]\nEnvironment=IPTABLES_RESTORE_"
                                                                              "NOFLUSH=yes\n"}
    assert len(rows(look(merged(DEBIAN, netfilter_persistent(settings), drop_in), tmp_path), live=True)) == number


@pytest.mark.parametrize("noflush", ["", "IPTABLES_RESTORE_NOFLUSH=yes\n"])
def test_a_snapshot_with_chains_of_kubernetes(noflush, tmp_path):
    section = look(merged(DEBIAN, netfilter_persistent(settings=noflush, rules=SNAPSHOT)), tmp_path)
    row = section["saved_rule_sets"][0]
    assert (row["path"], row["owners"]["kube_proxy"], row["owners"]["calico"],
            row["at_boot"]) == ("/etc/iptables/rules.v4", 4, 2, True)
    assert row["replayed_by"] == ["netfilter-persistent.service"] and row["kubernetes"] == 6


def test_a_snapshot_that_nobody_loads(tmp_path):
    section = look(merged(DEBIAN, {"etc/iptables.rules": SNAPSHOT}), tmp_path)
    assert [(row["path"], row["replayed_by"], row["at_boot"])
            for row in section["saved_rule_sets"]] == [("/etc/iptables.rules", [], False)]


@pytest.mark.parametrize("options, found",
                         [
                             ({}, []), ({"enabled": "yes"}, []), ({"manage_builtins": "yes"}, []),
                             ({"enabled": "yes", "manage_builtins": "yes"}, [("/etc/default/ufw", 3, "flush")]),
                             ({"enabled": "yes", "ipv6": "no"}, [("/etc/default/ufw", 1, "restore")]),
                             ({"enabled": "yes", "before_rules": "*nat\n:POSTROUTING ACCEPT [0:0]\n-F\n-F ufw-mine\n"
                                                                 "COMMIT\n"}, [("/etc/ufw/before.rules", 3, "flush")]),
                         ])
def test_ufw(options, found, tmp_path):
    section = look(merged(UBUNTU, ufw(**options)), tmp_path)
    assert sorted((row["path"], row["line"], row["sort"]) for row in rows(section, live=True)) == found
    assert all((row["kind"], row["fix"], row["unit"]) == ("service_config", None, "ufw.service")
               for row in rows(section, live=True))


@pytest.mark.parametrize(
    "settings, direct, triggers", [
        ("FirewallBackend=nftables\n", None, None),
        ("FirewallBackend=nftables\n", "<?xml version='1.0'?>\n<direct>\n</direct>\n", None),
        ("FirewallBackend=nftables\n", "<direct>\n <rule ipv='ipv4' table='filter' chain='INPUT' priority='0'>-j "
                                       "ACCEPT</rule>\n</direct>\n", ["boot", "start", "stop", "restart", "reload"]),
        ("FirewallBackend=iptables\n", None, ["boot", "start", "stop", "restart", "reload"]),
        ("FirewallBackend=iptables\nCleanupOnExit=no\n", None, ["boot", "start", "restart", "reload"]),
    ])
def test_firewalld(settings, direct, triggers, tmp_path):
    section = look(merged(RHEL, firewalld(settings, direct=direct)), tmp_path)
    assert [row["triggers"] for row in rows(section, live=True)] == ([triggers] if triggers else [])
    assert section["firewalld"]["live"] is True


def test_a_service_of_nft_by_what_its_file_says(tmp_path):
    enabled = {hook_nodes.WANTS + "nftables.service": link("/usr/lib/systemd/system/nftables.service")}
    section = look(merged(DEBIAN, enabled), tmp_path / "flushing")
    assert {(row["path"], row["kind"]) for row in rows(section, live=True)} == {
        ("/etc/nftables.conf", "nft_config"), ("/usr/lib/systemd/system/nftables.service", "unit")}
    own = {"etc/nftables.conf": "destroy table inet site\ntable inet site {\n}\ninclude \"/etc/nftables.d/*.nft\"\n",
           "etc/nftables.d/a.nft": "flush table ip nat\n", "etc/nftables.d/b.txt": "flush ruleset\n"}
    section = look(merged(DEBIAN, enabled, own), tmp_path / "own")
    assert [(row["path"], row["line"], row["tables"])
            for row in rows(section, kind="nft_config")] == [("/etc/nftables.d/a.nft", 1, ["nat"])]
    assert rows(section, kind="nft_config")[0]["through"] == [
        "/etc/nftables.conf:4", "/usr/lib/systemd/system/nftables.service:11",
        "/usr/lib/systemd/system/nftables.service:12"]
