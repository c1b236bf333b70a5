# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the record, its backups and the owners of files make of an undo."""

import json
import os
import re
import shutil
import subprocess

import node_processes
import node_tree
import pytest
from hook_changes import DROP_IN, SCRIPT, read, run, undo
from node_tree import executable

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks import record as hooks_record
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.hooks.record import FOLDER, RECORD
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.record import Contents
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.files import plan_undo
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host


def test_a_file_that_was_changed_since_is_left_alone_and_named(azure):
    run(azure)
    (azure / SCRIPT).write_text("#!/bin/sh\n# mine\n")
    result = undo(azure)
    assert result["failed"] and "/%s is not put back: it was changed since" % SCRIPT in result["msg"]
    backup = re.search(r"former content is in (\S+)", result["msg"]).group(1)
    assert "systemctl restart iptables" in read(azure, backup[1:])
    assert read(azure, SCRIPT) == "#!/bin/sh\n# mine\n"
    assert "iptables -t nat -F" in read(azure, "etc/cron.d/firewall")
    assert not os.path.exists(str(azure / (DROP_IN % "iptables.service")))
    assert list(json.loads(read(azure, RECORD[1:]))["changed"]) == ["/" + SCRIPT]
    again = undo(azure)
    assert again["failed"] and not again["changed"]


@pytest.mark.parametrize("damage, message", [
    (lambda path: path.unlink(), "it was removed since"),
    (lambda path: (path.unlink(), path.mkdir()), "cannot be read")])
def test_a_file_that_is_gone_is_named(azure, damage, message):
    run(azure)
    damage(azure / SCRIPT)
    assert message in undo(azure)["msg"]


def test_what_is_changed_again_by_its_owner_gets_a_new_backup(azure):
    run(azure)
    newer = "#!/bin/sh\nlogger newer\nsystemctl stop iptables\nlogger end\n"
    (azure / SCRIPT).write_text(newer)
    run(azure, only=["/" + SCRIPT])
    assert read(azure, SCRIPT) in (newer, "#!/bin/sh\nlogger newer\nlogger end\n")
    undo(azure)
    assert read(azure, SCRIPT) == newer


def test_a_damaged_backup_is_not_put_back(azure):
    run(azure)
    for path in (azure / FOLDER[1:] / "files").iterdir():
        path.write_text("other")
    result = undo(azure)
    assert "is damaged" in result["msg"] and "restart" not in read(azure, SCRIPT)


# Scripts of packages, diverted by the real dpkg-divert over a copy of this machine's own database, in private mounts.

# Every Debian has it, and it is a shell script.
PACKAGED = "/usr/sbin/add-shell"
needs_dpkg = pytest.mark.skipif(not (shutil.which("dpkg-divert") and os.path.exists(PACKAGED)),
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
    before = open(PACKAGED).read()
    return hooks_record.diversion(host, PACKAGED, before, before + "# edited\n")


@needs_dpkg
@node_processes.needs_mounts
def test_a_packaged_script_is_put_aside_and_comes_back():
    def work():
        host, before = Host("/"), open(PACKAGED).read()
        made = change(host)
        entries = {PACKAGED: made.entry(None, None)}
        made.make(host)
        seen = [open(PACKAGED).read() == before + "# edited\n", os.stat(PACKAGED).st_mode & 0o777, PACKAGED in listed()]
        seen.append(open(hooks_record.aside_of(PACKAGED)).read() == before)
        record = hooks_record.Record(host)
        record.held = Contents(entries, [], {})
        changes, kept, problems = plan_undo(record)
        for each in changes:
            each.make(host)
        return seen + [kept, problems, open(PACKAGED).read() == before, listed(),
                       os.path.exists(hooks_record.aside_of(PACKAGED))]
    assert apart(work) == [True, 0o755, True, True, {}, [], True, "", False]


@needs_dpkg
@node_processes.needs_mounts
def test_an_upgrade_of_the_package_is_what_comes_back():
    def work():
        host = Host("/")
        made = change(host)
        entry = made.entry(None, None)
        made.make(host)
        with open(hooks_record.aside_of(PACKAGED), "w") as stream:
            stream.write("#!/bin/sh\n# newer\n")
        record = hooks_record.Record(host)
        record.held = Contents({PACKAGED: entry}, [], {})
        for each in plan_undo(record)[0]:
            each.make(host)
        return open(PACKAGED).read(), listed()
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
    for options, said in (({}, "dpkg-divert can be run on a live node only"),
                          ({"divert": False}, "divert: true puts an edited copy in its place")):
        result = run(tmp_path, **dict({"divert": True, "hook_directories": []}, **options))
        assert not result["changed"] and said in result["hooks"][0]["msg"]
