# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cause is one finding, with advice that can help: kernels without netfilter, without modules and without legacy
tables, as nodes, images, bundles."""

import bundles
import pytest
from case_rows import cases
from node_manifests import DEBIAN, WHOLE, kernel, running
from node_tree import merged, unpack

R61, R612 = "6.1.0-49-amd64", "6.12.9-amd64"
NO_NETFILTER = WHOLE + "# CONFIG_NETFILTER is not set\n"
NO_MODULES = WHOLE.replace("CONFIG_MODULES=y",
                           "# CONFIG_MODULES is not set") + "CONFIG_NETFILTER=y\nCONFIG_NF_CONNTRACK=y\n"
KERNELS = ("KMOD001", "KMOD009", "KMOD010", "KMOD014", "KMOD016")
WITHOUT = [
    ("CONFIG_NETFILTER", NO_NETFILTER,
     "Boot a kernel that is built with CONFIG_NETFILTER; no package adds it to kernel %s." % R61),
    ("CONFIG_MODULES", NO_MODULES, "Boot a kernel with CONFIG_MODULES=y, or one that has ipt_REJECT, "),
]


def failing(found):
    return [(check, row) for check in KERNELS for row in found[check] if row["status"] == "fail"]


@pytest.mark.parametrize("option, config, advice", WITHOUT)
@pytest.mark.parametrize("place", ["live", "image", "bundle"])
def test_an_option_that_is_off_is_one_finding(option, config, advice, place, tmp_path):
    if place == "bundle":
        found, _evidence = bundles.judged(bundles.folder(tmp_path / "b", {"config-" + R61: config}))
    else:
        node = running(R61, None) if option == "CONFIG_MODULES" else running(R61, [])
        found, _evidence = bundles.judged_tree(unpack(merged(DEBIAN, node if place == "live" else {},
                                                             {"boot/config-" + R61: config}), tmp_path), place)
    (check, row), = failing(found)
    assert (check, row["subject"], row["severity"]) == ("KMOD001", option, "high")
    assert "%s is not set in /boot/config-%s, so 1" % (option,
                                                       R61) in row["observed"] and "xt_statistic" in row["observed"]
    assert row["remediation"].startswith(advice) and "nstall" not in row["remediation"]


def test_the_kernel_that_boots_next_lacks_netfilter(tmp_path):
    whole = [name for name in bundles.module_names() if not name.startswith("ip_vs")]
    node = merged(DEBIAN, kernel(R61, whole, config=WHOLE), kernel(R612, ["overlay"], config=NO_NETFILTER),
                  running(R61, whole))
    found, _evidence = bundles.judged_tree(unpack(node, tmp_path), "live")
    (check, row), = failing(found)
    assert (check, row["subject"]) == ("KMOD009", "CONFIG_NETFILTER") and "/boot/config-" + R612 in row["observed"]


@cases
def test_legacy_tables_are_gone(modules, words, tmp_path):
    config = WHOLE + "CONFIG_NETFILTER=y\n# CONFIG_NETFILTER_XTABLES_LEGACY is not set\n"
    others = ["x_tables", "xt_comment", "xt_nat"] + list(modules)
    node = merged(DEBIAN, kernel("6.17.0-1", others, config=config))
    found, _evidence = bundles.judged_tree(unpack(node, tmp_path), "image", iptables_backend="legacy")
    row, = [row for row in found["KMOD001"] if row["subject"] == "CONFIG_NETFILTER_XTABLES_LEGACY"]
    assert ("ip_tables, iptable_filter, iptable_mangle, iptable_nat" in row["observed"]
            and row["remediation"].startswith(words))


def test_nothing_is_installed_on_an_immutable_node(tmp_path):
    node = merged({"etc/os-release": "ID=talos\n"}, kernel(R61, ["xt_comment"]))
    found, _evidence = bundles.judged_tree(unpack(node, tmp_path), "image")
    row = next(row for row in found["KMOD001"] if row["subject"] == "xt_recent")
    assert (row["remediation"] == "Use an image whose kernel has xt_recent; nothing can be installed on this node "
                                  "(talos).")
