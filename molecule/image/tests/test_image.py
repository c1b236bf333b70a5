# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image tree, judged and hardened from the builder and from within; the builder stays as it is."""

import json
import os
import pathlib

import pytest

testinfra_hosts = ["local://"]

FOLDER = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
OWN = "etc/modules-load.d/kubenode-netfilter.conf"
SYSCTL = "etc/sysctl.d/zz-kubenode-netfilter.conf"
DROP_IN = "etc/systemd/system/site-firewall.service.d/zz-kubenode-netfilter.conf"
HOSTS = ["image_by_root", "image_by_chroot"]


def snapshot(label):
    return json.loads((FOLDER / (label + ".json")).read_text())


def configuration(label):
    """{path: content, mode, owner, group} of the tree; times of what was written and put back differ."""
    return {path: entry[:4] for path, entry in snapshot(label)["files"].items()}


def report(label, name):
    return json.loads((FOLDER / "reports" / label / "nodes" / (name + ".json")).read_text())


def failing(label, name):
    return {(row["check"], row["subject"]) for row in report(label, name)["findings"] if row["status"] == "fail"}


@pytest.mark.parametrize("name", HOSTS)
def test_the_breakage_is_found(name):
    # Checks about modules and sysctls that nobody listed for the boot yet are not about what prepare broke.
    found = {(check, subject) for check, subject in failing("audit", name)
             if check not in ("KMOD005", "KMOD006", "CTRACK016")}
    assert found == {("KMOD002", "xt_comment"), ("KMOD010", "xt_statistic"),
                     ("HOOK002", "/etc/systemd/system/site-firewall.service"), ("BACKEND002", "iptables and ip6tables")}


def test_both_connections_see_the_same():
    by_root, by_chroot = (report("audit", name)["findings"] for name in HOSTS)
    assert by_root == by_chroot


def test_looking_changes_nothing_in_the_image():
    assert snapshot("audited")["files"] == snapshot("broken")["files"]


def test_hardening_from_the_builder_satisfies_the_judge_within():
    assert failing("hardened", "image_by_chroot") == {("KMOD010", "xt_statistic")}


def test_hardening_writes_the_boot_list_lifts_the_block_and_stops_the_flush(host):
    before, after = configuration("broken"), configuration("hardened")
    changed = {path for path in after if before.get(path) != after[path]}
    assert {OWN, SYSCTL, DROP_IN, "etc/modprobe.d/site.conf"} <= changed
    assert all(path.startswith("etc/") for path in changed)
    listed = host.file(str(FOLDER / "tree" / OWN)).content_string.split()
    assert {"nf_conntrack", "xt_comment", "br_netfilter"} <= set(listed)
    assert "net.ipv4.ip_forward = 1" in host.file(str(FOLDER / "tree" / SYSCTL)).content_string.splitlines()


def test_hardening_switches_the_family_as_the_tool_of_the_image_would(host):
    links = {path: entry[0] for path, entry in snapshot("again")["files"].items()
             if path.startswith("etc/alternatives/ip6tables")}
    assert {path.rpartition("/")[2]: target for path, target in links.items() if not path.endswith(".gz")} == {
        "ip6tables" + part: "/usr/sbin/ip6tables-nft" + part for part in ("", "-save", "-restore")}
    shown = host.run("chroot %s update-alternatives --query ip6tables" % (FOLDER / "tree"))
    assert shown.rc == 0 and "Value: /usr/sbin/ip6tables-nft\n" in shown.stdout


def test_undo_from_within_leaves_the_image_as_it_was():
    assert configuration("undone") == configuration("broken")


def test_hardening_from_within_writes_the_same():
    assert configuration("again") == configuration("hardened")


@pytest.mark.parametrize("part", ["modules", "sys_module", "sysctls", "rules"])
@pytest.mark.parametrize("label", ["audited", "hardened", "undone", "again"])
def test_the_builder_stays_as_it_is(label, part):
    # A builder whose kernel has everything built in has no /proc/modules; then that part is None both times.
    assert snapshot(label)[part] == snapshot("broken")[part]
