# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switching the backend of trees: each distribution's layout, undo, refusals, and runs that are killed or cannot
write."""

import json
import os

import backend_trees
import pytest
from backend_trees import backends, debian, plain, red_hat, run, unpacked
from case_rows import cases
from hook_changes import content
from node_tree import executable, link, merged

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.backends.groups import choose_backend
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.backends.record import RECORD, Record
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host

LAYOUTS = {
    "debian": debian(), "debian with families apart": debian("legacy", "nft"),
    "debian by hand": debian("legacy", "legacy", "manual"), "red hat": red_hat(),
    "red hat legacy": red_hat("legacy", "manual"), "plain": plain(), "plain legacy": plain("legacy"),
}


def target(tree, program):
    return os.path.basename(Host(str(tree)).tree_path("/usr/sbin/" + program))


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@pytest.mark.parametrize("backend", ["nft", "legacy"])
def test_all_programs_of_a_layout_are_switched_announced_and_put_back(tmp_path, name, backend):
    tree = unpacked(LAYOUTS[name], tmp_path / "tree")
    before = content(tree)
    announced = run(tree, backend=backend, check=True)
    assert content(tree) == before
    done = run(tree, backend=backend)
    assert done == announced and done["refused"] is None and done["backend"] == backend
    for program in backend_trees.NAMES:
        for suffix in ("", "-save", "-restore"):
            assert target(tree, program + suffix) == "xtables-%s-multi" % backend
    again = run(tree, backend=backend)
    assert not again["changed"] and again["files"] == [] and again["diff"] == []
    changed = {path for path, held in content(tree).items() if before.get(path) != held}
    assert {path[1:] for path in done["files"]} == changed
    run(tree, backend="legacy" if backend == "nft" else "nft")
    announced = run(tree, "absent", check=True)
    assert run(tree, "absent") == announced and announced["changed"]
    assert content(tree) == before
    assert not run(tree, "absent")["changed"]


def test_an_image_whose_groups_disagree_is_aligned(tmp_path):
    tree = unpacked(debian("nft", "legacy"), tmp_path / "tree")
    result = run(tree)
    assert result["backend"] == "nft" and result["changed"] and "differ" in result["backend_because"]
    assert backends(result) == {"iptables": ("nft", "nft", "auto"), "ip6tables": ("legacy", "nft", "manual"),
                                "arptables": ("nft", "nft", "auto"), "ebtables": ("nft", "nft", "auto")}


def test_an_image_that_agrees_stays_as_it_is(tmp_path):
    tree = unpacked(debian("legacy", "legacy"), tmp_path / "tree")
    result = run(tree)
    assert (result["backend"], result["changed"], result["refused"]) == ("legacy", False, None)


def test_programs_of_one_group_that_differ_are_switched_together(tmp_path):
    tree = unpacked(merged(debian(), {"etc/alternatives/iptables-save": link("/usr/sbin/iptables-legacy-save")}),
                    tmp_path / "tree")
    result = run(tree, backend="nft")
    assert backends(result)["iptables"] == ("mixed", "nft",
                                            "manual") and target(tree, "iptables-save") == "xtables-nft-multi"


def test_the_bridge_tools_stay_where_there_is_no_other_and_that_is_said(tmp_path):
    tree = unpacked(debian(), tmp_path / "tree")
    rows = {row["name"]: row for row in run(tree, backend="legacy")["groups"]}
    assert rows["arptables"]["after"] == "nft" and "no arptables of the legacy backend" in rows["arptables"]["msg"]


@pytest.mark.parametrize(
    "tree, backend, sentence", [
        ({"etc/os-release": "ID=talos\n"}, "nft", "no iptables program"),
        (plain("nft", {"usr/sbin/xtables-nft-multi": executable()}, "rhel"), "legacy",
         "no iptables of the legacy backend (links has nft)"),
        ({"etc/os-release": "ID=rhel\n", "usr/sbin/xtables-nft-multi": executable(),
          "usr/sbin/iptables": link("xtables-nft-multi")}, "legacy",
         "no iptables of the legacy backend (links has nft)"),
        (plain("legacy", {"usr/sbin/xtables-legacy-multi": executable()}, "mariner"), "nft",
         "no iptables of the nft backend"),
        (red_hat(choices=(("nft", "10"),)), "legacy",
         "no iptables of the legacy backend (alternatives has nft)"),
        (plain(system="flatcar"), "legacy", "this system is immutable (flatcar)"),
        (merged(debian(), {"usr/sbin/iptables": link("xtables-nft-multi")}), "legacy",
         "/usr/sbin/iptables is not a link to /etc/alternatives/iptables"),
        (merged(plain(), {"usr/sbin/iptables": executable("#!/bin/sh\nexec iptables-wrapper\n")}), "legacy",
         "is a program or a wrapper, not a link"),
        (merged(debian(), {"var/lib/dpkg/alternatives/iptables": "auto\n"}), "legacy",
         "/var/lib/dpkg/alternatives/iptables is damaged"),
        (merged(debian(), {"var/lib/dpkg/alternatives/ip6tables": None}), "legacy",
         "but no state of such a group is kept"),
        (merged(debian(), {"usr/sbin/iptables-legacy": None, "usr/sbin/iptables-legacy-save": None}), "legacy",
         "no iptables of the legacy backend"),
    ])
def test_what_cannot_be_switched_is_refused_and_nothing_is_touched(tmp_path, tree, backend, sentence):
    tree = unpacked(tree, tmp_path / "tree")
    before = content(tree)
    result = run(tree, backend=backend)
    assert sentence in result["refused"] and not result["changed"] and not result["live_rules"]
    assert content(tree) == before


def test_a_kernel_without_legacy_tables_is_refused(tmp_path):
    kernel = {"usr/lib/modules/6.18.1/modules.dep": "kernel/nf_tables.ko:\nkernel/nft_compat.ko: kernel/nf_tables.ko\n",
              "usr/lib/modules/6.18.1/kernel/nf_tables.ko": "x", "usr/lib/modules/6.18.1/kernel/nft_compat.ko": "x",
              "usr/lib/modules/6.18.1/modules.builtin": "", "usr/lib/modules/6.18.1/modules.dep.bin": "x",
              "usr/lib/modules/6.18.1/modules.alias": "", "lib": link("usr/lib")}
    tree = unpacked(merged(debian(), kernel), tmp_path / "tree")
    result = run(tree, backend="legacy")
    assert "the legacy backend cannot be used: kernel 6.18.1 lacks ip_tables" in result["refused"]
    assert run(unpacked(merged(debian("legacy", "legacy"), kernel), tmp_path / "other"), backend="nft")["changed"]


def test_what_somebody_changed_since_is_not_put_back(tmp_path):
    tree = unpacked(debian("legacy", "legacy"), tmp_path / "tree")
    run(tree, backend="nft")
    os.unlink(str(tree / "etc/alternatives/ip6tables"))
    os.symlink("/opt/ip6tables", str(tree / "etc/alternatives/ip6tables"))
    before = content(tree)
    result = run(tree, "absent")
    assert "ip6tables was changed since: /etc/alternatives/ip6tables now links to /opt/ip6tables" in result["refused"]
    assert content(tree) == before, "the other group stays too"


@pytest.mark.parametrize("recorded, now, waits", [("a", "a\n", True), ("a", "b\n", False), ("", "", False)])
def test_a_switch_waits_in_the_boot_that_is_recorded_and_in_no_unknown_one(tmp_path, recorded, now, waits):
    held = {"schema": 2, "changed": {}, "folders": [], "pending": {"boot_id": recorded, "backend": "nft", "saved": []}}
    tree = unpacked({RECORD[1:]: json.dumps(held), "proc/sys/kernel/random/boot_id": now}, tmp_path / "tree")
    assert Record(Host(str(tree))).waits is waits


def users(kubelet, proxy, kubelet6="none", proxy6="none"):
    return [("kubelet", "ipv4", kubelet), ("kubelet", "ipv6", kubelet6), ("kube-proxy", "ipv4", proxy),
            ("kube-proxy", "ipv6", proxy6)]


@cases
def test_auto(who, programs, has, backend, because):
    found, why = choose_backend("auto", who, programs, lambda name: name in has)
    assert found == backend and because in why
