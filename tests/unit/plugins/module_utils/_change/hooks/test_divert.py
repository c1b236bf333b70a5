# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of packages, diverted by the real dpkg-divert over a copy of this machine's own database, in private
mounts."""

import functools
import os
import shutil
import subprocess

import node_processes
import node_tree
import pytest
from node_tree import executable

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks import plan, record as hooks_record
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.record import Contents
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.undo import plan_undo
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host

# Every Debian has it, and it is a shell script.
SCRIPT = "/usr/sbin/add-shell"
OPTIONS = {"state": "present", "only": [], "start": "noflush", "divert": True, "clean_saved": True,
           "hook_directories": []}

needs_dpkg = pytest.mark.skipif(not (shutil.which("dpkg-divert") and os.path.exists(SCRIPT)),
                                reason="needs Debian's dpkg")


def apart(work):
    """What `work()` returns in a child that may change /usr/sbin and /var/lib: it alone sees the copies that take their
    place."""
    def inside():
        node_processes.private_mounts()
        node_processes.mount("none", "/mnt", "tmpfs")
        shutil.copytree("/usr/sbin", "/mnt/sbin", symlinks=True)
        shutil.copytree("/var/lib/dpkg", "/mnt/lib/dpkg", symlinks=True)
        node_processes.bind("/mnt/sbin", "/usr/sbin")
        node_processes.bind("/mnt/lib", "/var/lib")
        return work()
    return node_processes.in_child(inside)


def listed():
    return subprocess.run(["dpkg-divert", "--list", "*add-shell*"], stdout=subprocess.PIPE, check=True).stdout.decode()


def change(host):
    before = open(SCRIPT).read()
    return hooks_record.diversion(host, SCRIPT, before, before + "# edited\n")


@needs_dpkg
@node_processes.needs_mounts
def test_a_packaged_script_is_put_aside_and_comes_back():
    def work():
        host, before = Host("/"), open(SCRIPT).read()
        made = change(host)
        entries = {SCRIPT: made.entry(None, None)}
        made.make(host)
        seen = [open(SCRIPT).read() == before + "# edited\n", os.stat(SCRIPT).st_mode & 0o777, SCRIPT in listed()]
        seen.append(open(hooks_record.aside_of(SCRIPT)).read() == before)
        record = hooks_record.Record(host)
        record.held = Contents(entries, [], {})
        changes, kept, problems = plan_undo(record)
        for undo in changes:
            undo.make(host)
        return seen + [kept, problems, open(SCRIPT).read() == before, listed(),
                       os.path.exists(hooks_record.aside_of(SCRIPT))]
    assert apart(work) == [True, 0o755, True, True, {}, [], True, "", False]


@needs_dpkg
@node_processes.needs_mounts
def test_an_upgrade_of_the_package_is_what_comes_back():
    def work():
        host = Host("/")
        made = change(host)
        entry = made.entry(None, None)
        made.make(host)
        with open(hooks_record.aside_of(SCRIPT), "w") as stream:
            stream.write("#!/bin/sh\n# newer\n")
        record = hooks_record.Record(host)
        record.held = Contents({SCRIPT: entry}, [], {})
        for undo in plan_undo(record)[0]:
            undo.make(host)
        return open(SCRIPT).read(), listed()
    assert tuple(apart(work)) == ("#!/bin/sh\n# newer\n", "")


@needs_dpkg
@node_processes.needs_mounts
def test_a_file_of_no_package_is_not_diverted():
    def work():
        with open("/usr/sbin/kubenode-own", "w") as stream:
            stream.write("#!/bin/sh\niptables -F\n")
        with pytest.raises(_errors.ChangeFailed, match="dpkg does not know the package"):
            hooks_record.diversion(Host("/"), "/usr/sbin/kubenode-own", "", "")
        return True
    assert apart(work)


def test_nothing_is_diverted_in_an_image_or_unasked(tmp_path):
    node_tree.unpack({"etc/debian_version": "12.8\n",
                      "usr/lib/NetworkManager/dispatcher.d/50-fw": executable("#!/bin/sh\niptables -F\n"),
                      "usr/sbin/NetworkManager": executable(), "etc/os-release": "ID=debian\n"}, tmp_path)
    run = functools.partial(plan.run, check_mode=False)
    for options, said in (({}, "dpkg-divert can be run on a live node only"),
                          ({"divert": False}, "divert: true puts an edited copy in its place")):
        result = run(dict(OPTIONS, root=str(tmp_path), place="auto", **options))
        assert not result["changed"] and said in result["hooks"][0]["msg"]
