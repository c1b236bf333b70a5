# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of place a tree is, found out in real chroots and namespaces."""

import json
import os
import subprocess
import sys

import pytest

from case_rows import cases
import node_tree
from node_processes import (become_nobody, bind, enter, in_child, may_mount, mount, needs_mounts, needs_root,
                            private_mounts, python_path)
from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host import place as host_place
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.host import collect_host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.host.place import (detect_place,
                                                                                          system_tree_problem)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_asked, open_to_look, open_tree

IMAGE = {"etc/os-release": "ID=debian\n", "proc": node_tree.DIRECTORY, "usr": node_tree.DIRECTORY}


def detected():
    return list(detect_place(Host("/")))


def initial_namespace():
    try:
        with open("/proc/2/comm") as stream:
            return stream.read().strip() == "kthreadd"
    except (OSError, IOError):
        return False


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


@needs_root
def test_a_bare_chroot(tmp_path):
    root = node_tree.unpack(IMAGE, tmp_path)

    def look():
        enter(root)
        return detected()
    assert in_child(look) == ["image", "/proc is not mounted, as in a bare chroot"]


@needs_mounts
def test_a_chroot_with_proc(tmp_path):
    root = node_tree.unpack(IMAGE, tmp_path)

    def look():
        private_mounts()
        bind("/proc", root + "/proc")
        enter(root)
        return detected()
    place, reason = in_child(look)
    assert place == "image" and "this is a chroot" in reason


@needs_mounts
def test_a_chroot_with_a_proc_of_its_own_and_all_of_dev_and_sys(tmp_path):
    root = node_tree.unpack(dict(IMAGE, dev=node_tree.DIRECTORY, sys=node_tree.DIRECTORY), tmp_path)

    def look():
        private_mounts()
        mount("proc", root + "/proc", "proc")
        bind("/dev", root + "/dev")
        bind("/sys", root + "/sys")
        enter(root)
        return detected() + [open_tree("/")[0].commands]
    place, reason, commands = in_child(look)
    assert (place, commands) == ("image", False) and "this is a chroot" in reason


@needs_mounts
def test_an_image_that_is_a_mount_point_of_its_own(tmp_path):
    root = str(tmp_path)

    def look():
        private_mounts()
        mount("image", root, "tmpfs")
        node_tree.unpack(IMAGE, root)
        bind("/proc", root + "/proc")
        enter(root)
        return detected()
    assert in_child(look)[0] == "image"


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


SCRIPT = """\
import json, sys
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_asked, open_to_look, open_tree
host, node = open_tree("/")
json.dump([node["place"], node["place_reason"], host.commands, host.run(["true"]).status], sys.stdout)
"""


# Process 1 of a pid namespace takes the first name; a child takes the second, in the root directory that is given.
NAMESPACE = """\
import os, subprocess, sys, time
ready, begun = os.pipe()
child = os.fork()
if child == 0:
    open("/proc/self/comm", "w").write(sys.argv[2])
    os.chroot(sys.argv[3])
    os.write(begun, b"x")
    time.sleep(600)
open("/proc/self/comm", "w").write(sys.argv[1])
os.read(ready, 1)
subprocess.check_call(%s)
os.kill(child, 9)
"""


@needs_root
@pytest.mark.parametrize("init, program, root, answer", [
    ("systemd", "kubelet", "/", ["live", "a node in a container", True, "ok"]),
    ("k3s-server", "k3s-agent", "/", ["live", "a node in a container", True, "ok"]),
    ("systemd", "kubelet", "/usr", ["container", "without kernel threads", False, "denied"]),
    ("systemd", "sshd", "/", ["container", "without kernel threads", False, "denied"]),
    ("sh", "kubelet", "/", ["container", "without kernel threads", False, "denied"])])
def test_a_pid_namespace_without_kernel_threads(init, program, root, answer):
    if not may_mount():
        pytest.skip("a private mount namespace needs root outside of a restricted container")
    look = [sys.executable, "-c", SCRIPT]
    command = ["unshare", "-pfm", "--mount-proc", sys.executable, "-c", NAMESPACE % repr(look), init, program, root]
    said = json.loads(subprocess.check_output(command, env=dict(os.environ, PYTHONPATH=python_path())).decode("utf-8"))
    assert [said[0], answer[1] in said[1]] + said[2:] == [answer[0], True] + answer[2:]


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
