# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which form a kernel has a module: every state with every kind of evidence, over trees."""

import os

import pytest

import node_tree
from node_manifests import NETFILTER, node
from node_sections import collect_sections

R61, R612, R72 = "6.1.0-49-amd64", "6.12.9-1-amd64", "7.2.13-amd64"


def look(tree, name, **options):
    options.setdefault("place", "live")
    return collect_sections(["kernel_modules"], tree, modules=[name], **options)["node_kernel_modules"]


TREE = "lib/modules/%s/" % R61


@pytest.mark.parametrize("age, extra, index",
                         [
                             (-60, {}, "ok"), (60, {}, "ok"), (60, {"/new.ko": b""}, "stale"),
                             (60, {"/readme.txt": ""}, "ok"), (-60, {"/new.ko": b""}, "ok")])
def test_directories_newer_than_the_index_are_compared(age, extra, index, tmp_path):
    manifest = node(modules=["ip_vs"], extra={TREE + NETFILTER + path: content for path, content in extra.items()})
    tree = node_tree.unpack(manifest, tmp_path)
    written = os.stat(os.path.join(tree, TREE, "modules.dep")).st_mtime
    os.utime(os.path.join(tree, TREE, NETFILTER), (written + age, written + age))
    section = look(tree, "new")
    assert section["kernels"][0]["index"] == index
    assert bool(section["kernels"][0]["index_cause"]) == (index != "ok")
    assert (section["modules"][0]["state"] == "installable") == (index == "stale")
    assert look(tree, "ip_vs")["modules"][0]["state"] == "loadable"
