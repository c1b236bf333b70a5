# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nft of containers: its version is read and never run, and versions that break with each other are known."""

import os

import pytest
import node_tree
from case_rows import cases
from node_processes import Sleeper, enter, needs_root
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends import iptables_builds
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.nft_builds import (
    PAIRS, each_once, fault_of_iptables, judge_nft, own_nft)
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.program_files import parse_nft_program

NAME = "agent-%d" % os.getpid()
START = b"\x7fELF\2\1\1\0GLIBC_2.34\0libnftables.so.1\0"


def nft(version, json=True):
    """The strings of Debian's nft 1.0.6, with another version."""
    return (START + b"Lester Gooch #5\0" + version.encode("ascii") + b"\0nftables\0%s v%s (%s)\n\0"
            + (b"" if json else b"JSON support not compiled-in\n\0"))


@pytest.mark.parametrize("data, expected", [
    (nft("1.0.6"), ("1.0.6", True)), (nft("1.0.6.1"), ("1.0.6.1", True)), (nft("0.9.8"), ("0.9.8", True)),
    (nft("1.1.5", json=False), ("1.1.5", False)), (nft("1.1.5") + b"\0002.14\0006.3.0\0", ("1.1.5", True)),
    (nft("1.1.5") + b"\0001.1.4\0", (None, True)), (nft("x"), (None, True)), (b"#!/bin/sh\n", (None, None)),
    (b"\x7fELF\0001.0.6\0", (None, None)), (b"", (None, None))])
def test_the_version_of_a_program(data, expected):
    assert parse_nft_program(data) == expected


def test_the_program_of_this_machine():
    row = own_nft(Host("/"))
    if row["status"] == "absent":
        pytest.skip("no nft")
    assert row["status"] == "ok" and row["version"][0] in "01" and row["json"] in (True, False)
    assert row["built"] > "2010"


@needs_root
@pytest.mark.parametrize("manifest, expected", [
    ({"usr/sbin/nft": node_tree.link("/usr/bin/nft"), "usr/bin/nft": node_tree.executable(nft("1.0.6"))},
     ("/usr/sbin/nft", "ok", "1.0.6", True)),
    ({"sbin/nft": node_tree.executable(nft("1.1.5", json=False))}, ("/sbin/nft", "ok", "1.1.5", False)),
    ({"usr/sbin/nft": node_tree.executable("#!/bin/sh\ntouch /ran\n")}, ("/usr/sbin/nft", "unparsed", None, None)),
    ({"usr/sbin/nft": node_tree.FIFO}, ("/usr/sbin/nft", "unparsed", None, None)),
    ({"usr/sbin/nft": node_tree.link("/proc/1/root/bin/sh")}, (None, "absent", None, None)),
    ({"etc": node_tree.DIRECTORY}, (None, "absent", None, None))])
def test_what_is_in_a_container(manifest, expected, tmp_path, monkeypatch):
    root = node_tree.unpack(manifest, tmp_path)
    for path in manifest:
        os.utime(os.path.join(root, path), (1694822400, 1694822400), follow_symlinks=False)
    monkeypatch.setattr(iptables_builds, "AGENTS", (NAME,))

    def prepare():
        with open("/proc/self/comm", "w") as comm:
            comm.write(NAME)
        enter(root)
    found = []
    with Sleeper(prepare) as container:
        iptables_builds.collect_builds(Host("/"), found)
        rows, left_out = each_once(found + found[:1])
    row = rows[0]
    assert (row["path"], row["status"], row["version"], row["json"]) == expected and row["pid"] == container.pid
    assert (len(rows) == 1 or row["status"] != "ok") and left_out == 0 and not os.path.exists(root + "/ran")
    assert row["built"] == ("2023-09-16" if row["version"] else None)


def row_of(comm, version, built="2023-09-16", **more):
    return dict({"comm": comm, "container": None, "status": "ok", "version": version, "built": built, "json": True},
                **more)


@cases
def test_versions_that_break(node, rows, tables, sets, breaks, because):
    own = dict({"status": "ok" if node else "absent", "built": "2025-08-01", "json": True, "version": None}, **node)
    found = [row_of(**row) for row in rows]
    judge_nft(found, own, tables, sets)
    assert [row["breaks"] for row in found] + [own["breaks"]] == breaks
    texts = [row["because"] for row in found + [own]]
    assert all(texts) and any(because in text for text in texts)


@pytest.mark.parametrize("comm, version, fault", [
    ("kube-router", "1.8.10", True), ("kube-router", "1.8.11", False), ("kube-router", "1.8.9", False),
    ("kube-router", None, False), ("kube-proxy", "1.8.10", False)])
def test_versions_of_iptables(comm, version, fault):
    assert bool(fault_of_iptables({"comm": comm, "version": version})) is fault


def test_each_pair_has_a_source_and_an_effect():
    assert all(pair["sources"] and pair["effect"] and pair["tool"] in ("nft", "iptables") for pair in PAIRS)
