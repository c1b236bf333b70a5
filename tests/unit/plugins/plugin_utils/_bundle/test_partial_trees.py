# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees that hold a part of a node are incomplete, not broken. Evidence that was not collected is unknown, once, and
collected evidence is judged."""

import bundles
import pytest
from case_rows import cases
from node_manifests import DEBIAN, WHOLE, kernel, merged, running
from node_tree import executable, unpack

R61, R612 = "6.1.0-49-amd64", "6.12.9-amd64"
MODULES = [name for name in bundles.module_names() if not name.startswith("ip_vs")]
BUILT_IN = WHOLE.replace("CONFIG_MODULES=y", "# CONFIG_MODULES is not set") + "".join(
    "CONFIG_%s=y\n" % name for name in (
        "NETFILTER IP_NF_TARGET_REJECT IP6_NF_TARGET_REJECT NF_CONNTRACK NF_NAT NF_TABLES NFT_NAT NFT_COMPAT "
        "NETFILTER_XTABLES NETFILTER_NETLINK_ACCT NETFILTER_XT_TARGET_MASQUERADE NETFILTER_XT_TARGET_REDIRECT "
        "NF_CT_NETLINK NETFILTER_XT_MATCH_ADDRTYPE NETFILTER_XT_MATCH_COMMENT NETFILTER_XT_MATCH_CONNTRACK "
        "NETFILTER_XT_MARK NETFILTER_XT_NAT NETFILTER_XT_MATCH_RECENT NETFILTER_XT_MATCH_STATISTIC "
        "NETFILTER_XT_MATCH_NFACCT").split())
OS = {"etc/os-release": DEBIAN["etc/os-release"]}
LOOSE = {
    "only etc": merged(OS, {"etc/sysctl.d/k8s.conf": "net.ipv4.ip_forward = 1\n",
                            "etc/modules-load.d/k8s.conf": "br_netfilter\n"}),
    "only modules": kernel(R61, MODULES),
    "only the configuration of a kernel": {"boot/config-" + R61: BUILT_IN},
    "the configuration of a kernel with modules": {"boot/config-" + R61: WHOLE + "CONFIG_NF_CONNTRACK=m\n"
                                                                                 "CONFIG_NETFILTER=y\n"},
    "only proc": running(R61, ["xt_comment", "nf_conntrack"]),
    "two files of proc": {"proc/modules": "xt_comment 16384 3 - Live 0x0\n", "proc/sys/kernel/osrelease": R61 + "\n"},
    "sosreport": merged(OS, running(R61, ["xt_comment"]),
                        {
                            "sos_commands/kernel/lsmod": "Module Size Used by\nxt_comment 16384 1\n",
                            "usr/lib/sysctl.d/50-default.conf": "net.ipv4.ip_forward = 1\n"}),
    "the other root of a Bottlerocket": {
        "etc/os-release": "ID=bottlerocket\n", "x86_64-bottlerocket-linux-gnu/sys-root/usr/bin/x": "",
        "x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/modules/6.1.0/modules.dep": ""},
}
UNSURE = {"only the configuration of a kernel": set(),
          "the configuration of a kernel with modules": {"KMOD001", "KMOD014", "KMOD016"}}


@pytest.mark.parametrize("name", sorted(LOOSE))
def test_a_part_of_a_node_is_incomplete_and_not_broken(name, tmp_path):
    found, evidence = bundles.judged_tree(unpack(LOOSE[name], tmp_path))
    assert evidence["node_host"]["place"] == "bundle" and "no programs" in evidence["node_host"]["place_reason"]
    # A whole kernel configuration that does not name a module means that the module is off. The other trees here prove
    # nothing like this.
    assert set(bundles.told(found, "fail")) <= UNSURE.get(name, set())
    assert set(bundles.told(found, "unknown")) <= {"BUNDLE001"} | UNSURE.get(name, set())
    assert "the tree does not contain it" in [row["reason"] for row in found["BUNDLE001"]][0]


def test_what_a_part_holds_is_judged(tmp_path):
    tree = merged(LOOSE["only etc"], {"boot/config-" + R61: WHOLE + "# CONFIG_NETFILTER is not set\n"})
    found, _evidence = bundles.judged_tree(unpack(tree, tmp_path))
    assert bundles.told(found, "fail") == {"KMOD001": ["CONFIG_NETFILTER"]}


def test_a_part_is_judged_as_an_image_where_that_is_asked(tmp_path):
    found, evidence = bundles.judged_tree(unpack(LOOSE["only etc"], tmp_path), "image")
    assert evidence["node_host"]["place"] == "image" and found["BUNDLE001"][0]["status"] == "skip"


WHOLE_TREES = {
    "a container image": merged(OS, {"usr/bin/sh": executable(),
                                     "usr/sbin/xtables-nft-multi": executable(b"\x7fELF iptables 1.8.9 (nf_tables)")}),
    "a root whose kernel comes from elsewhere": merged(DEBIAN, {"sbin/init": executable()}),
}


@pytest.mark.parametrize("name", sorted(WHOLE_TREES))
def test_an_image_without_a_kernel_is_unknown_once(name, tmp_path):
    found, evidence = bundles.judged_tree(unpack(WHOLE_TREES[name], tmp_path))
    assert evidence["node_host"]["place"] == "image"
    assert [check for check in bundles.told(found, "unknown") if check.startswith("KMOD")] == ["KMOD001"]
    assert not [check for check in bundles.told(found, "fail") if check.startswith("KMOD")]


def test_an_image_whose_kernel_has_all_built_in(tmp_path):
    found, _evidence = bundles.judged_tree(unpack(merged(DEBIAN, {"boot/config-" + R61: BUILT_IN}), tmp_path))
    assert not [check for check in bundles.told(found, "fail", "unknown") if check.startswith("KMOD")]
    assert [row["status"] for check in ("KMOD001", "KMOD014") for row in found[check]] == ["pass", "pass"]


@cases
def test_an_upgrade_is_named_only_where_it_is_proven(installed, loaded, words, tmp_path):
    node = merged(DEBIAN, running(R61, loaded), kernel(installed, MODULES) if installed else {})
    found, _evidence = bundles.judged_tree(unpack(node, tmp_path), "live")
    row, = found["KMOD008"]
    assert row["status"] == "fail" and words in row["observed"]
    assert ("upgrade" in row["observed"] + row["reason"]) is ("upgrade" in words)
