# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which modules are there after the next boot: lists, their precedence, and what undoes them."""

import pytest

import node_tree
from node_manifests import DEBIAN, kernel, merged, running
from node_processes import as_nobody
from node_sections import collect_sections

RELEASE = "6.1.0-49-amd64"
MODULES = {"ip_vs": ["nf_conntrack"], "nf_conntrack": [], "other": []}
UNIT = "systemd-modules-load.service"
SYSVINIT = {"usr/lib/systemd/systemd": None, "run/systemd/system/.keep": None, "proc/1/comm": "init\n",
            "etc/init.d/kmod": "#!/bin/sh\n"}
OPENRC = {"usr/lib/systemd/systemd": None, "run/systemd/system/.keep": None, "run/openrc/.keep": "",
          "sbin/openrc": node_tree.executable()}


def section(tree, name="ip_vs", place="live"):
    return collect_sections(["kernel_modules"], tree, place, [name])["node_kernel_modules"]


def look(extra, tmp_path, name="ip_vs", cmdline="ro\n", place="live", loaded=(), **fields):
    manifest = merged(DEBIAN, kernel(RELEASE, MODULES, **fields), running(RELEASE, loaded, cmdline), extra)
    found = section(node_tree.unpack(manifest, tmp_path), name, place)
    return found, found["modules"][0]


def listed(text="ip_vs\n", path="etc/modules-load.d/k8s.conf"):
    return {path: text}


@pytest.mark.parametrize(
    "extra, persisted, at_boot", [
        ({}, False, "on_demand"),
        (listed(), True, "loaded"),
        (listed("# x\n\n ip-vs \n"), True, "loaded"),
        (listed("ip_vs conn_tab_bits=12\n"), False, "on_demand"),
        (listed("# ip_vs\n; ip_vs\n"), False, "on_demand"),
        (listed(path="etc/modules-load.d/k8s.list"), False, "on_demand"),
        (listed(path="run/modules-load.d/k8s.conf"), True, "loaded"),
        (listed(path="usr/local/lib/modules-load.d/k8s.conf"), True, "loaded"),
        (listed(path="usr/lib/modules-load.d/k8s.conf"), True, "loaded"),
        (listed(path="lib/modules-load.d/k8s.conf"), True, "loaded"),
        (merged(listed(path="usr/lib/modules-load.d/k8s.conf"), {"etc/modules-load.d/k8s.conf": ""}), False,
         "on_demand"),
        (merged(listed(path="usr/lib/modules-load.d/k8s.conf"), {"etc/modules-load.d/k8s.conf": node_tree.MASKED}),
         False, "on_demand"),
        (merged(listed(path="usr/lib/modules-load.d/k8s.conf"), {"run/modules-load.d/k8s.conf": "other\n"}), False,
         "on_demand"),
        (merged(listed(), {"run/modules-load.d/k8s.conf": "other\n"}), True, "loaded"),
        (listed(path="etc/modules"), False, "on_demand"),
        (merged(listed(path="etc/modules"), {"etc/modules-load.d/modules.conf": node_tree.link("../modules")}), True,
         "loaded"),
        (merged(listed(), {"etc/systemd/system/" + UNIT: node_tree.MASKED}), True, "on_demand"),
        (merged(listed(), {"run/systemd/system/" + UNIT: node_tree.MASKED}), True, "on_demand"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "blacklist ip_vs\n"}), True, "blocked"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "install ip_vs /bin/true\n"}), True, "blocked"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "install nf_conntrack /bin/false\n"}), True, "blocked"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "alias ip_vs off\n"}), True, "blocked"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "blacklist nf_conntrack\n"}), True, "loaded"),
        (merged(listed(), {"etc/modprobe.d/a.conf": "install ip_vs /usr/local/sbin/decide\n"}), True, "unknown"),
        (merged(listed(), {"proc/sys/kernel/modules_disabled": "1\n"}), True, "loaded"),
        ({"etc/modprobe.d/a.conf": "blacklist ip_vs\n"}, False, "blocked"),
        (merged(listed("balance\n"), {"etc/modprobe.d/a.conf": "alias balance ip_vs\n"}), False, "on_demand"),
    ])
def test_systemd(extra, persisted, at_boot, tmp_path):
    found, row = look(extra, tmp_path)
    assert (row["persisted"], row["at_boot"]) == (persisted, at_boot), row["at_boot_cause"]
    assert found["boot_loader"] == "systemd"
    assert found["boot_service"] == ("masked" if any(UNIT in path for path in extra) else "enabled")


@pytest.mark.parametrize(
    "cmdline, persisted, at_boot", [
        ("modules_load=a,ip-vs", True, "loaded"), ("modules-load=ip_vs", True, "loaded"),
        ("modules_load=,,", False, "on_demand"), ("modules_load=ip_vs module_blacklist=ip_vs", True, "blocked"),
        ("modules_load=ip_vs modprobe.blacklist=ip_vs", True, "blocked"),
        ("modules_load=ip_vs nomodule", True, "blocked"),
    ])
def test_the_command_line(cmdline, persisted, at_boot, tmp_path):
    row = look({}, tmp_path, cmdline=cmdline + "\n")[1]
    assert (row["persisted"], row["at_boot"]) == (persisted, at_boot)
    assert row["persisted_by"] == ([{"file": "/proc/cmdline", "line": 1}] if persisted else [])


@pytest.mark.parametrize("loader, init", [("sysvinit", SYSVINIT), ("openrc", OPENRC)])
@pytest.mark.parametrize("extra, persisted",
                         [
                             (listed(path="etc/modules"), True), (listed("ip_vs conn_tab_bits=12\n", "etc/modules"),
                                                                  True), (listed("ip_vs x=1\n"), True), ({}, False)])
def test_the_older_inits(loader, init, extra, persisted, tmp_path):
    for place in ("live", "image"):
        found, row = look(merged(init, extra), tmp_path / place, place=place)
        assert (found["boot_loader"], row["persisted"],
                row["at_boot"]) == (loader, persisted, "loaded" if persisted else "on_demand")


def test_nothing_reads_the_lists(tmp_path):
    found, row = look(merged(listed(), {"usr/lib/systemd/systemd": None}), tmp_path, place="image")
    assert (found["boot_loader"], found["boot_service"], row["at_boot"]) == ("unknown", "unknown", "unknown")


def test_a_list_of_an_alias(tmp_path):
    row = look(listed("balance\n"), tmp_path, name="balance", aliases=["balance ip_vs"])[1]
    assert (row["module"], row["persisted"], row["at_boot"]) == ("ip_vs", True, "loaded")


@pytest.mark.parametrize("extra, at_boot", [
    ({}, "loaded"),
    ({"etc/modprobe.d/a.conf": "blacklist nf_conntrack\n"}, "loaded"),
    ({"etc/modprobe.d/a.conf": "alias nf_conntrack off\n"}, "loaded"),
    ({"etc/modprobe.d/a.conf": "install nf_conntrack /bin/true\n"}, "blocked"),
    ({"etc/modprobe.d/a.conf": "install ip_vs /bin/true\n"}, "on_demand"),
    ({"etc/modprobe.d/a.conf": "blacklist ip_vs\n"}, "on_demand"),
])
def test_what_a_listed_module_needs(extra, at_boot, tmp_path):
    row = look(merged(listed(), extra), tmp_path, name="nf_conntrack")[1]
    assert (row["persisted"], row["at_boot"]) == (False, at_boot), row["at_boot_cause"]


def test_what_is_loaded_now_proves_nothing(tmp_path):
    row = look({}, tmp_path, loaded=["ip_vs"])[1]
    assert (row["state"], row["at_boot"], row["state_next_boot"]) == ("loaded", "on_demand", "loadable")


def test_what_is_built_in_needs_no_list(tmp_path):
    row = look({}, tmp_path, name="bridge", builtin=["bridge"])[1]
    assert (row["persisted"], row["at_boot"]) == (False, "builtin")


def test_at_most_three_places(tmp_path):
    extra = {"etc/modules-load.d/%d.conf" % number: "ip_vs\n" for number in range(9)}
    assert [place["file"] for place in look(extra, tmp_path)[1]["persisted_by"]] == ["/etc/modules-load.d/%d.conf"
                                                                                     % number for number in range(3)]


def test_garbage_in_the_lists(tmp_path):
    found, row = look(merged(listed(b"\xff\x00\xfe\nip_vs\n../../etc\nip vs\n")), tmp_path)
    assert row["persisted_by"] == [{"file": "/etc/modules-load.d/k8s.conf", "line": 2}]
    assert [entry["line"] for entry in found["unreadable"]] == [1, 3, 4] and found["unreadable_count"] == 3


@pytest.mark.parametrize("content", [node_tree.FIFO, node_tree.sparse(10 * 1024 ** 3)])
def test_a_list_that_cannot_be_read(content, tmp_path):
    found, row = look({"etc/modules-load.d/a.conf": content}, tmp_path)
    assert (found["collected"]["modules_load"], row["persisted"], row["at_boot"]) == ("unparsed", None, "unknown")


def test_a_list_that_may_not_be_read():
    folder = node_tree.open_folder()
    node_tree.unpack(merged(DEBIAN, kernel(RELEASE, MODULES), running(RELEASE),
                            {"etc/modules-load.d/a.conf": node_tree.mode(0, "ip_vs\n")}), folder)
    found = as_nobody(lambda: section(folder))
    assert (found["collected"]["modules_load"], found["modules"][0]["persisted"],
            found["modules"][0]["at_boot"]) == ("denied", None, "unknown")
    # It is no error in it, and another user reads it.
    assert (found["unreadable"], found["unreadable_count"]) == ([], 0)
