# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_host."""

import os

import pytest

import node_tree
from node_manifests import DEBIAN, RHEL10, merged, running
from node_sections import collect_sections

LIVE = merged(DEBIAN, running("6.1.0-49-amd64"), {
    "proc/sys/kernel/random/boot_id": "e7a253d2-85a0-4000-9bbe-14594b2bea2b\n", "proc/uptime": "86400.55 1.0\n",
    "proc/meminfo": "MemTotal:       2048 kB\nMemFree: 1 kB\n", "proc/stat": "cpu  1\ncpu0 1\ncpu1 1\nintr 1\n",
    "proc/net/if_inet6": "", "run/containerd/containerd.sock": "", "usr/sbin/iptables": node_tree.executable(),
})


def look(manifest, tmp_path, place="live"):
    return collect_sections(["host"], node_tree.unpack(manifest, tmp_path), place)["node_host"]


def test_a_live_node(tmp_path):
    section = look(LIVE, tmp_path)
    tools = section.pop("tools")
    assert section == {
        "schema": 1, "collected": {"os_release": "ok", "kernel_release": "ok", "place": "ok"}, "place": "live",
        "place_reason": "given as an option", "as_root": os.geteuid() == 0, "root": str(tmp_path),
        "architecture": None, "kernel_release": "6.1.0-49-amd64",
        "os": {"id": "debian", "id_like": [], "version_id": "12", "name": "Debian GNU/Linux 12 (bookworm)",
               "variant_id": None}, "boot_id": "e7a253d2-85a0-4000-9bbe-14594b2bea2b", "uptime_seconds": 86400,
        "init": "systemd", "container_runtimes": ["containerd"], "bundle": None, "immutable": False,
        "immutable_by": None, "memory_bytes": 2048 * 1024, "cpu_count": 2, "ipv6": True,
    }
    assert tools["iptables"] == "/usr/sbin/iptables" and tools["nft"] is None


def test_an_image_has_no_running_kernel(tmp_path):
    section = look(LIVE, tmp_path, "image")
    assert [section[key] for key in ("kernel_release", "boot_id", "uptime_seconds", "init", "memory_bytes", "cpu_count",
                                     "ipv6")] == [None] * 7
    assert section["os"]["id"] == "debian" and section["collected"]["kernel_release"] == "absent"


@pytest.mark.parametrize("extra, init",
                         [
                             ({}, "systemd"), ({"run/systemd/system/.keep": None, "run/openrc/x": ""}, "openrc"),
                             ({"run/systemd/system/.keep": None, "proc/1/comm": "init\n"}, "sysvinit"),
                             ({"run/systemd/system/.keep": None, "proc/1/comm": "tini\n"}, "other"),
                             ({"run/systemd/system/.keep": None, "proc/1/comm": None}, "other")])
def test_init(extra, init, tmp_path):
    assert look(merged(LIVE, extra), tmp_path)["init"] == init


@pytest.mark.parametrize("extra, by",
                         [
                             ({"run/ostree-booted": ""}, "ostree"), ({"etc/os-release": "ID=flatcar\n"}, "flatcar"),
                             ({"etc/os-release": "ID=fedora\nVARIANT_ID=coreos\n"}, "coreos"),
                             ({"etc/os-release": "ID=fedora\nVARIANT_ID=server\n"}, None), ({}, None)])
def test_immutable(extra, by, tmp_path):
    section = look(merged(LIVE, extra), tmp_path)
    assert (section["immutable"], section["immutable_by"]) == (by is not None, by)


@pytest.mark.parametrize("extra, ipv6", [
    ({}, True), ({"proc/net/if_inet6": None}, False), ({"proc/sys/net/ipv6/conf/all/disable_ipv6": "1\n"}, False),
    ({"proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n"}, True), ({"proc/net/if_inet6": node_tree.FIFO}, None)])
def test_ipv6(extra, ipv6, tmp_path):
    assert look(merged(LIVE, extra), tmp_path)["ipv6"] is ipv6


def test_the_second_place_of_os_release(tmp_path):
    section = look(merged(RHEL10, {"etc/os-release": None, "etc/hosts": "",
                                   "usr/lib/os-release": 'ID="rhel"\nID_LIKE="fedora centos"\n'}), tmp_path, "image")
    assert (section["os"]["id"], section["os"]["id_like"],
            section["collected"]["os_release"]) == ("rhel", ["centos", "fedora"], "ok")


GARBAGE = b"\xff\xfe\x00\x01 = \n\n:::\n" * 5


@pytest.mark.parametrize("path",
                         [
                             "etc/os-release", "proc/uptime", "proc/meminfo", "proc/stat", "proc/1/comm",
                             "proc/sys/kernel/osrelease", "proc/sys/kernel/random/boot_id"])
@pytest.mark.parametrize("content", [GARBAGE, "", "MemTotal:\n", "MemTotal: much\n", "-\n", node_tree.FIFO, None])
def test_garbage_is_no_traceback(path, content, tmp_path):
    assert look(merged(LIVE, {path: content}), tmp_path)["schema"] == 1


def test_a_release_that_is_none(tmp_path):
    for number, text in enumerate(["", "6.1.0\0x", "6.1 0", "9" * 65, b"\xff"]):
        assert look(merged(LIVE, {"proc/sys/kernel/osrelease": text}), tmp_path / str(number))["kernel_release"] is None


def test_fields_without_end(tmp_path):
    section = look(merged(LIVE, {"etc/os-release": 'ID="%s"\nVERSION_ID="%s"\n' % ("x" * 9999, "9" * 9999)}), tmp_path)
    assert len(section["os"]["id"]) == len(section["os"]["version_id"]) == 200


def test_nothing_but_a_folder(tmp_path):
    section = look({"etc": node_tree.DIRECTORY}, tmp_path)
    assert section["os"] == {"id": None, "id_like": [], "version_id": None, "name": None, "variant_id": None}
    assert (section["kernel_release"], section["collected"]["os_release"], section["cpu_count"],
            section["memory_bytes"]) == (None, "absent", None, None)
