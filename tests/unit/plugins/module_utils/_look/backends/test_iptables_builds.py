# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""iptables builds in containers: they are read and distinguished, never run, and the look never waits for them."""

import os

import pytest
import node_tree
from case_rows import cases
from iptables_programs import OTHER, WRAPPER_IN_GO, program
from node_manifests import merged, process
from node_processes import (
    CLONE_NEWNET, Sleeper, _libc, as_nobody, dead_file_system, enter, needs_mounts, needs_root, private_mounts)
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends import iptables_builds
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.backends.iptables_builds import (
    collect_builds, judge_stripping)

# A separate name for the agents of this file, because other tests run on the same machine.
NAME = "agent-%d" % os.getpid()
SCRIPT = node_tree.executable("#!/bin/sh\ntouch /ran\n")


def executable(backend, version):
    return node_tree.executable(program(backend, version))


@pytest.fixture(autouse=True)
def only_ours(monkeypatch):
    monkeypatch.setattr(iptables_builds, "AGENTS", (NAME,))


def agent(root, name=NAME, before=lambda: None):
    """A process of that name in a root of its own."""
    def prepare():
        kept = before()
        with open("/proc/self/comm", "w") as comm:
            comm.write(name)
        enter(root)
        return kept
    return Sleeper(prepare)


def rows_of_this_machine():
    status, rows, left_out = collect_builds(Host("/"))
    assert status == "ok" and left_out == 0
    return rows


LINKED = {"usr/sbin/iptables": node_tree.link("/etc/alternatives/iptables"),
          "etc/alternatives/iptables": node_tree.link("/usr/sbin/iptables-nft"),
          "usr/sbin/iptables-nft": node_tree.link("xtables-nft-multi")}
CASES = {
    "as Debian lays it out": (merged(LINKED, {"usr/sbin/xtables-nft-multi": executable("nft", "1.8.7")}),
                              ("/usr/sbin/iptables", "nft", "1.8.7", "ok")),
    "legacy": ({"sbin/iptables": executable("legacy", "1.8.11")}, ("/sbin/iptables", "legacy", "1.8.11", "ok")),
    "local": ({"usr/local/sbin/iptables": executable("nft", "1.8.9"),
               "usr/sbin/iptables": executable("legacy", "1.8.4")}, ("/usr/local/sbin/iptables", "nft", "1.8.9", "ok")),
    "in opt": ({"opt/bin/iptables": executable("nft", "1.8.13")}, ("/opt/bin/iptables", "nft", "1.8.13", "ok")),
    "a wrapper script": ({"usr/sbin/iptables": SCRIPT, "usr/sbin/xtables-nft-multi": executable("nft", "1.8.9")},
                         ("/usr/sbin/iptables", "wrapper", "1.8.9", "ok")),
    "a wrapper in Go": ({"usr/sbin/iptables": node_tree.executable(WRAPPER_IN_GO),
                         "usr/sbin/xtables-nft-multi": executable("nft", "1.8.11")},
                        ("/usr/sbin/iptables", "wrapper", "1.8.11", "ok")),
    "a wrapper and nothing behind it": ({"usr/sbin/iptables": SCRIPT}, ("/usr/sbin/iptables", "wrapper", None, "ok")),
    "another program": ({"usr/sbin/iptables": node_tree.executable(OTHER)},
                        ("/usr/sbin/iptables", None, None, "unparsed")),
    "a FIFO": ({"usr/sbin/iptables": node_tree.FIFO}, ("/usr/sbin/iptables", None, None, "unparsed")),
    "a sparse file of 10 GB": ({"usr/sbin/iptables": node_tree.sparse(10 * 1024 ** 3)},
                               ("/usr/sbin/iptables", None, None, "unparsed")),
    # The target exists on the machine that runs the test, and not in the container.
    "a link to the host": ({"usr/sbin/iptables": node_tree.link("/bin/sh")}, (None, None, None, "absent")),
    "a link through proc": ({"usr/sbin/iptables": node_tree.link("/proc/1/root/bin/sh")}, (None, None, None, "absent")),
    "none": ({"usr/sbin/conntrack": SCRIPT}, (None, None, None, "absent")),
}


@needs_root
@pytest.mark.parametrize("case", sorted(CASES))
def test_what_is_in_a_container(case, tmp_path):
    manifest, expected = CASES[case]
    root = node_tree.unpack(manifest, tmp_path)
    with agent(root) as container:
        rows = rows_of_this_machine()
    assert [(row["path"], row["backend"], row["version"], row["status"]) for row in rows] == [expected]
    assert rows[0]["pid"] == container.pid and rows[0]["comm"] == NAME and not os.path.exists(root + "/ran")


@needs_mounts
@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse: a mount that never answers cannot be made")
def test_a_file_that_hangs(tmp_path):
    root = node_tree.unpack({"usr/sbin": node_tree.DIRECTORY}, tmp_path)

    def hang():
        private_mounts()
        return dead_file_system(root + "/usr/sbin")
    with agent(root, before=hang):
        assert [(row["status"], row["backend"]) for row in rows_of_this_machine()] == [("timeout", None)]


@needs_mounts
def test_only_who_writes_rules_of_the_node_counts(tmp_path):
    root = node_tree.unpack({"usr/sbin/iptables": executable("nft", "1.8.7")}, tmp_path)
    with agent(root, "some-daemon", private_mounts), agent("/", before=private_mounts), \
            agent(root, before=lambda: _libc("unshare", CLONE_NEWNET) or private_mounts()), agent(
            root, before=private_mounts) as one:
        assert [row["pid"] for row in rows_of_this_machine()] == [one.pid]


@needs_mounts
def test_one_row_for_each_build_and_those_that_differ_first(tmp_path):
    trees = [node_tree.unpack({"usr/sbin/iptables": executable("nft", version)}, tmp_path / str(number))
             for number, version in enumerate(["1.8.9", "1.8.9", "1.8.7"])]
    with agent(trees[0], before=private_mounts) as first, agent(trees[0], before=private_mounts), \
            agent(trees[1], before=private_mounts) as same_build, agent(trees[2], before=private_mounts) as other:
        rows = rows_of_this_machine()
    assert [(row["pid"], row["version"]) for row in rows] == [(first.pid, "1.8.9"), (other.pid, "1.8.7"),
                                                              (same_build.pid, "1.8.9")]


@needs_mounts
def test_bounds(tmp_path, monkeypatch):
    trees = [node_tree.unpack({"usr/sbin/iptables": executable("nft", "1.8.9")}, tmp_path / str(number))
             for number in range(3)]
    with agent(trees[0], before=private_mounts), agent(trees[1],
                                                       before=private_mounts), agent(trees[2], before=private_mounts):
        monkeypatch.setattr(iptables_builds, "ROWS_LIMIT", 2)
        status, rows, left_out = collect_builds(Host("/"))
        assert (status, len(rows), left_out) == ("ok", 2, 1)
        monkeypatch.setattr(iptables_builds, "CONTAINERS_LIMIT", 1)
        status, rows, left_out = collect_builds(Host("/"))
        assert (status, len(rows), left_out) == ("timeout", 1, 2)
        monkeypatch.setattr(iptables_builds, "SECONDS", -1.0)
        status, rows, left_out = collect_builds(Host("/"))
        assert (status, len(rows), left_out) == ("timeout", 0, 3)


@needs_root
def test_a_root_that_may_not_be_seen(tmp_path):
    root = node_tree.unpack({"usr/sbin/iptables": executable("nft", "1.8.9")}, tmp_path)
    with agent(root):
        rows = as_nobody(rows_of_this_machine)
    assert [(row["status"], row["backend"], row["version"]) for row in rows] == [("denied", None, None)]


def test_the_pod_has_its_names(tmp_path):
    uid, identity = "9c1b5a52-6b0e-4a7e-8a9d-2f1f3d0c7e11", "a" * 64
    cgroup = "0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope\n" % (uid.replace("-", "_"), identity)
    tree = node_tree.unpack(merged(process(7, NAME, ["kube-proxy"], root=None), {
        "proc/7/cgroup": cgroup,
        "var/log/pods/kube-system_kube-proxy-x7k2p_%s/x" % uid: "",
        "var/log/containers/kube-proxy-x7k2p_kube-system_kube-proxy-%s.log" % identity: "",
    }), tmp_path)
    _status, rows, _left_out = collect_builds(Host(tree))
    assert [(row["container"], row["pod"], row["namespace"], row["status"]) for row in rows] == [
        ("kube-proxy", "kube-proxy-x7k2p", "kube-system", "denied")]


@needs_root
def test_a_process_that_ends_meanwhile_has_no_row(tmp_path, monkeypatch):
    root = node_tree.unpack({"usr/sbin/iptables": executable("nft", "1.8.9")}, tmp_path)
    read = iptables_builds.host_container.read_first_in_groups

    def slow(*arguments):
        container.__exit__()
        return read(*arguments)
    monkeypatch.setattr(iptables_builds.host_container, "read_first_in_groups", slow)
    container = agent(root)
    container.__enter__()
    assert rows_of_this_machine() == []


def build(backend, version, status="ok"):
    return {"comm": "flanneld", "container": None, "backend": backend, "version": version, "status": status,
            "strips": None, "because": ""}


@cases
def test_who_loses_matches(backend, version, builds, strips):
    rows = [build(*pair) for pair in builds]
    judge_stripping(rows, backend, version)
    assert [row["strips"] for row in rows] == strips
    assert all(row["because"] for row in rows)


def test_a_container_without_iptables_loses_none():
    rows = [build(None, None, "absent"), build(None, None, "timeout")]
    judge_stripping(rows, "nft", "1.8.9")
    assert [row["strips"] for row in rows] == [False, None]
