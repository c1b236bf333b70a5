# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of place a tree is, found out in real chroots and namespaces, and the section node_host."""

import os

import pytest
import node_tree
from case_rows import cases
from node_processes import answer_of, become_nobody, bind, enter, in_child, mount, needs_mounts, private_mounts
from node_sections import collect_sections
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host import place as host_place
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.host import collect_host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.place import (
    detect_place, system_tree_problem)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_asked, open_to_look, open_tree

IMAGE = {"etc/os-release": "ID=debian\n", "proc": node_tree.DIRECTORY, "usr": node_tree.DIRECTORY}


def detected():
    return list(detect_place(Host("/")))


def initial_namespace():
    return Host("/").read_text("/proc/2/comm").text.strip() == "kthreadd"


def test_another_root_is_an_image(tmp_path):
    host, node = open_tree(node_tree.unpack(IMAGE, tmp_path))
    assert (node["place"], node["place_reason"]) == ("image", "the option root is not /")
    assert host.commands is False
    section = collect_host(host, node)
    assert [section[key] for key in ("kernel_release", "boot_id", "uptime_seconds", "init", "architecture",
                                     "memory_bytes", "cpu_count", "ipv6")] == [None] * 8


@pytest.mark.parametrize("place", ["live", "image", "container"])
def test_a_forced_place(place, tmp_path):
    host, node = open_tree(node_tree.unpack(IMAGE, tmp_path), place)
    assert (node["place"], node["place_reason"]) == (place, "given as an option")
    # No program of a tree is ever run, whatever it is called.
    assert host.commands is False


@pytest.mark.skipif(not initial_namespace(),
                    reason="these tests run in a container themselves: no live place is at hand")
def test_this_machine_is_live():
    place, reason = detected()
    assert (place, "kernel threads are visible" in reason) == ("live", True)


def bind_proc(root):
    private_mounts()
    bind("/proc", root + "/proc")


def mount_all(root):
    private_mounts()
    mount("proc", root + "/proc", "proc")
    bind("/dev", root + "/dev")
    bind("/sys", root + "/sys")


def mount_root(root):
    private_mounts()
    mount("image", root, "tmpfs")
    node_tree.unpack(IMAGE, root)
    bind("/proc", root + "/proc")


@needs_mounts
@pytest.mark.parametrize("prepare, words", [
    (str, "/proc is not mounted, as in a bare chroot"), (bind_proc, "this is a chroot"),
    (mount_all, "this is a chroot"), (mount_root, "")])
def test_a_chroot_is_an_image_whatever_is_mounted(prepare, words, tmp_path):
    root = node_tree.unpack(dict(IMAGE, dev=node_tree.DIRECTORY, sys=node_tree.DIRECTORY), tmp_path)

    def look():
        prepare(root)
        enter(root)
        return detected() + [open_tree("/")[0].commands]
    place, reason, commands = in_child(look)
    assert (place, commands, words in reason) == ("image", False, True)


@needs_mounts
@pytest.mark.parametrize("first", [True, False])
def test_hidden_processes_make_no_container(first):
    """A user of a node whose /proc is mounted with hidepid=2 sees neither process 1 nor kernel threads."""
    def look():
        private_mounts()
        mount("proc", "/proc", "proc", "hidepid=2")
        host_place.FIRST_PID_NAMESPACE = os.readlink("/proc/self/ns/pid") if first else "pid:[1]"
        become_nobody()
        host = Host("/")
        return list(detect_place(host)) + [find_processes(host, ("kubelet",))[0]]
    place, reason, processes = in_child(look)
    assert processes == "denied"
    if first:
        assert place in ("live", "image") and ("hidepid" in reason or "could not be read" in reason)
    else:
        assert (place, reason.startswith("a pid namespace of its own")) == ("container", True)


# Process 1 of a pid namespace takes the first name; a child takes the second, in the root directory that is given.
SCRIPT = """\
import json, os, sys, time
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_tree
ready, begun = os.pipe()
child = os.fork()
if child == 0:
    open("/proc/self/comm", "w").write(sys.argv[2])
    os.chroot(sys.argv[3])
    os.write(begun, b"x")
    time.sleep(600)
open("/proc/self/comm", "w").write(sys.argv[1])
os.read(ready, 1)
host, node = open_tree("/")
print(json.dumps([node["place"], node["place_reason"], host.commands, host.run(["true"]).status]))
os.kill(child, 9)
"""


@needs_mounts
@pytest.mark.parametrize("init, program, root, answer", [
    ("systemd", "kubelet", "/", ["live", "a node in a container", True, "ok"]),
    ("k3s-server", "k3s-agent", "/", ["live", "a node in a container", True, "ok"]),
    ("systemd", "kubelet", "/usr", ["container", "without kernel threads", False, "denied"]),
    ("systemd", "sshd", "/", ["container", "without kernel threads", False, "denied"]),
    ("sh", "kubelet", "/", ["container", "without kernel threads", False, "denied"])])
def test_a_pid_namespace_without_kernel_threads(init, program, root, answer):
    found = answer_of(["unshare", "-pfm", "--mount-proc"], SCRIPT, init, program, root)
    assert [found[0], answer[1] in found[1]] + found[2:] == [answer[0], True] + answer[2:]


@cases
def test_no_system_tree(manifest, root, words, tmp_path):
    with pytest.raises(_errors.BadInput, match=words):
        open_tree(node_tree.unpack(manifest, tmp_path) if root is None else root)


@pytest.mark.parametrize("path", ["etc/x", "proc/x", "boot/config-6.1.0", "lib/modules/6.1.0/modules.dep",
                                  "usr/lib/modules/6.1.0/modules.dep"])
def test_a_system_tree_or_kernels_alone(path, tmp_path):
    assert system_tree_problem(Host(node_tree.unpack({path: ""}, tmp_path))) is None


@pytest.mark.parametrize("programs, place",
                         [({}, "bundle"), ({"usr/bin/sh": ""}, "image"), ({"usr/lib/systemd/systemd": ""}, "image")])
def test_a_tree_without_programs_is_a_part_of_a_node(programs, place, tmp_path):
    root = node_tree.unpack(dict(programs, **{"etc/os-release": "ID=debian\n"}), tmp_path)
    assert open_to_look({"root": root, "place": "auto"})[1]["place"] == place
    assert open_asked({"root": root, "place": "auto"})[1]["place"] == "image"
    assert open_to_look({"root": root, "place": "image"})[1]["place"] == "image"


def test_fields_without_end(tmp_path):
    root = node_tree.unpack({"etc/os-release": 'ID="%s"\nVERSION_ID="%s"\n' % ("x" * 9999, "9" * 9999)}, tmp_path)
    found = collect_sections(["host"], root, "live")["node_host"]["os"]
    assert len(found["id"]) == len(found["version_id"]) == 200
