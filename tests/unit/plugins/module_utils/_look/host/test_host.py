# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_host."""

import os


import node_tree
from node_manifests import DEBIAN, merged, running
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


def test_fields_without_end(tmp_path):
    section = look(merged(LIVE, {"etc/os-release": 'ID="%s"\nVERSION_ID="%s"\n' % ("x" * 9999, "9" * 9999)}), tmp_path)
    assert len(section["os"]["id"]) == len(section["os"]["version_id"]) == 200
