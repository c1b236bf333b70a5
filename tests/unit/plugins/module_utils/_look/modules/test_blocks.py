# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a module, and in which of the three ways; and directories newer than the index."""

import os

import pytest
import node_tree
from case_rows import cases
from node_manifests import DEBIAN, NETFILTER, kernel, merged, node, running
from node_processes import as_nobody
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.modules.blocks import install_effect

RELEASE = "6.1.0-49-amd64"
ALL = ["load", "autoload", "boot"]
MODULES = {
    "nf_conntrack": ["nf_defrag_ipv4"], "nf_defrag_ipv4": [], "ip_vs": ["nf_conntrack", "nf_defrag_ipv4"],
    "xt_comment": ["x_tables"], "x_tables": [], "br_netfilter": ["bridge"], "bridge": [], "nft_chain_nat": [],
    "other": [],
}


def section(tree, name="ip_vs"):
    return collect_sections(["kernel_modules"], tree, "live", modules=[name])["node_kernel_modules"]


STOP = "install ip_vs /bin/true\n"


@pytest.mark.parametrize("text", [b"\xff\xfe\x00garbage\n\x00\n", "nonsense\n" * 500])
def test_garbage_is_counted_and_does_not_hide_what_follows(text, tmp_path):
    extra = {"etc/modprobe.d/a.conf": text, "etc/modprobe.d/b.conf": STOP}
    manifest = merged(node(modules=MODULES), extra)
    found = section(node_tree.unpack(manifest, tmp_path))
    assert found["modules"][0]["blocked_for"] == ALL
    assert found["unreadable_count"] == len(text.split(b"\n" if isinstance(text, bytes) else "\n")) - 1
    assert 0 < len(found["unreadable"]) <= 20


@pytest.mark.parametrize("content", [node_tree.FIFO, node_tree.sparse(10 * 1024 ** 3), "x" * (4 * 1024 * 1024 + 1)])
def test_what_cannot_be_read_may_say_anything(content, tmp_path):
    manifest = merged(DEBIAN, kernel(RELEASE, MODULES), running(RELEASE, []), {"etc/modprobe.d/a.conf": content})
    found = section(node_tree.unpack(manifest, tmp_path))["modules"][0]
    assert (found["blocked_for"], found["blocked_unclear"]) == ([], ALL)
    assert found["blocks"][0]["file"] == "/etc/modprobe.d/a.conf"


@pytest.mark.parametrize("closed", ["etc/modprobe.d/a.conf", "etc/modprobe.d"])
def test_what_may_not_be_read_may_say_anything(closed):
    folder = node_tree.open_folder()
    manifest = node(modules=MODULES, extra={"etc/modprobe.d/a.conf": STOP})
    manifest[closed] = node_tree.mode(0o000, manifest.get(closed, node_tree.DIRECTORY))
    node_tree.unpack(manifest, folder)
    found = as_nobody(lambda: section(folder))
    assert (found["collected"]["modprobe_conf"], found["unreadable_count"]) == ("denied", 0)
    assert found["modules"][0]["blocked_unclear"] == ALL


@cases
def test_what_an_install_command_does(command, effect):
    assert install_effect("ip_vs", command) == effect


TREE = "lib/modules/%s/" % RELEASE


@pytest.mark.parametrize("age, extra, index", [
    (60, {}, "ok"), (60, {"/new.ko": b""}, "stale"), (60, {"/readme.txt": ""}, "ok"), (-60, {"/new.ko": b""}, "ok")])
def test_directories_newer_than_the_index_are_compared(age, extra, index, tmp_path):
    manifest = node(modules=["ip_vs"], extra={TREE + NETFILTER + path: content for path, content in extra.items()})
    tree = node_tree.unpack(manifest, tmp_path)
    written = os.stat(os.path.join(tree, TREE, "modules.dep")).st_mtime
    os.utime(os.path.join(tree, TREE, NETFILTER), (written + age, written + age))
    found = section(tree, "new")
    assert found["kernels"][0]["index"] == index
    assert bool(found["kernels"][0]["index_cause"]) == (index != "ok")
    assert (found["modules"][0]["state"] == "installable") == (index == "stale")
    assert section(tree, "ip_vs")["modules"][0]["state"] == "loadable"
