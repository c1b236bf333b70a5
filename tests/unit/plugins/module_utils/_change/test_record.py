# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one format of all records: what it tells of a file, and records of the first schema as earlier versions wrote
them (tests/fixtures/records)."""

import json
import os
import pathlib
import pwd
import re

import backend_trees
import conntrack_changes
import hook_changes
import node_tree
import pytest
from conntrack_node import FORWARD, UFW, tracking
from hook_changes import content
from node_manifests import DEBIAN, kernel, merged
from node_processes import needs_root

from ansible_collections.kubenode.netfilter.plugins.module_utils import _names
from ansible_collections.kubenode.netfilter.plugins.module_utils._change import record
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules import plan as modules_plan

RECORDS = pathlib.Path(__file__).resolve().parents[4] / "fixtures" / "records"
STATE = "var/lib/kubenode-netfilter"
BLOCK = "etc/modprobe.d/site.conf"
IMAGE = merged(DEBIAN, {
    "etc/modules-load.d": node_tree.DIRECTORY, "etc/modprobe.d": node_tree.DIRECTORY, "var/lib": node_tree.DIRECTORY,
    BLOCK: "install ip_vs /bin/false\n"}, kernel("6.1.0-49-amd64", {"ip_vs": ["nf_conntrack"], "nf_conntrack": []}))


class Subject:
    """A tree, and how its module is run on it; `further` are options that change more, `later` a file that appears and
    has to be changed then."""

    def __init__(self, tree, run, options, further, later=None):
        self.tree, self._run, self.options, self.further, self.later = tree, run, options, further, later

    def present(self, check=False, **options):
        return self._run(check, state="present", **dict(self.options, **options))

    def absent(self, check=False):
        return self._run(check, state="absent", **self.options)


def kernel_modules(tmp_path):
    tree = node_tree.unpack(IMAGE, tmp_path)

    def run(check, **options):
        params = dict({"root": str(tree), "place": "auto", "load": True, "persist": True, "unblock": True,
                       "file": "kubenode-netfilter.conf"}, **options)
        return modules_plan.run(params, check, _names.checked(params.pop("name")))
    return Subject(tmp_path, run, {"name": ["ip_vs"]}, {"name": ["ip_vs", "nf_conntrack"]},
                   ("etc/modprobe.d/later.conf", "blacklist nf_conntrack\ninstall nf_conntrack /bin/false\n"))


def conntrack(tmp_path):
    node_tree.unpack(merged(tracking(), UFW), tmp_path)
    return Subject(tmp_path, lambda check, **options: conntrack_changes.run(tmp_path, check, **options),
                   {"max": 524288, "sysctls": [FORWARD], "comment_out_conflicts": True, "lower": True},
                   {"max": 600000})


def flush_hooks(tmp_path):
    node_tree.unpack(hook_changes.AZURE, tmp_path)
    return Subject(tmp_path, lambda check, **options: hook_changes.run(tmp_path, check, **options),
                   {"start": "mask"}, {}, ("etc/cron.d/later", "* * * * * root iptables -F\n"))


def iptables_backend(tmp_path):
    tree = backend_trees.unpacked(backend_trees.debian(), tmp_path)

    def run(check, state, backend="legacy"):
        return backend_trees.run(tree, state, backend=backend, check=check)
    return Subject(pathlib.Path(str(tree)), run, {}, {"backend": "nft"})


SUBJECTS = {"kernel_modules": kernel_modules, "conntrack": conntrack, "flush_hooks": flush_hooks,
            "iptables_backend": iptables_backend}


def record_of(name, tree):
    return tree / STATE / name / "record.json"


def test_times_are_utc(monkeypatch):
    monkeypatch.undo()
    assert re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$", record._now())


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_every_entry_has_time_user_and_what_was_before(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    held = json.loads(record_of(name, subject.tree).read_text())
    assert held["schema"] == 2 and held["changed"]
    for path, entry in held["changed"].items():
        assert entry["time"] == "2026-01-02T03:04:05Z"
        assert entry["by"] in [row.pw_name for row in pwd.getpwall()] or entry["by"].isdigit()
        if entry.get("before") and "digest" in entry["before"]:
            mode, held_before = before[path.lstrip("/")]
            assert entry["before"]["mode"] == "%04o" % (mode & 0o7777)
            assert (entry["before"]["uid"], entry["before"]["gid"]) == (os.geteuid(), os.getegid())
            backup = subject.tree / STATE / name / "files" / entry["before"]["digest"]
            assert backup.read_bytes() == held_before
    text = record_of(name, subject.tree).read_text()
    assert not subject.present()["changed"] and record_of(name, subject.tree).read_text() == text
    subject.absent()
    assert content(subject.tree) == before


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_record_of_the_first_schema_is_undone(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    record_of(name, subject.tree).write_text((RECORDS / (name + ".json")).read_text())
    announced = subject.absent(check=True)
    done = subject.absent()
    assert done == announced and done["changed"] and not done.get("failed")
    assert content(subject.tree) == before


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_a_record_of_the_first_schema_stays_until_something_changes(name, tmp_path):
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    old = (RECORDS / (name + ".json")).read_text()
    record_of(name, subject.tree).write_text(old)
    again = subject.present()
    assert not again["changed"] and again["files"] == [] and record_of(name, subject.tree).read_text() == old
    if subject.later:
        path, text = subject.later
        (subject.tree / path).write_text(text)
        (subject.tree / path).chmod(0o640)
        before[path] = content(subject.tree)[path]
    announced = subject.present(check=True, **subject.further)
    done = subject.present(**subject.further)
    assert (done["files"], done["diff"]) == (announced["files"], announced["diff"])
    held = json.loads(record_of(name, subject.tree).read_text())
    assert held["schema"] == 2 and set(json.loads(old)["changed"]) <= set(held["changed"])
    assert not subject.present(**subject.further)["changed"]
    subject.absent()
    assert content(subject.tree) == before


def test_a_mode_that_was_changed_since_stays_and_is_named(tmp_path):
    subject = flush_hooks(tmp_path / "tree")
    before = content(subject.tree)
    subject.present()
    script = subject.tree / hook_changes.SCRIPT
    script.chmod(0o700)
    announced = subject.absent(check=True)
    done = subject.absent()
    assert announced == done and not done.get("failed")
    assert done["warnings"] == ["/%s: changed since and kept: mode 0700, was 0755" % hook_changes.SCRIPT]
    assert script.read_bytes() == before[hook_changes.SCRIPT][1] and script.stat().st_mode & 0o7777 == 0o700


@needs_root
def test_attributes_of_a_file_are_recorded(tmp_path):
    subject = flush_hooks(tmp_path / "tree")
    script = subject.tree / hook_changes.SCRIPT
    try:
        os.setxattr(str(script), "user.site", b"one")
    except OSError:
        pytest.skip("the file system of temporary files has no extended attributes")
    os.chown(str(script), 12, 34)
    subject.present()
    before = json.loads(record_of("flush_hooks", subject.tree).read_text())["changed"]["/" + hook_changes.SCRIPT][
        "before"]
    assert (before["uid"], before["gid"], before["xattrs"]["user.site"]) == (12, 34, b"one".hex())
    subject.absent()
    assert os.getxattr(str(script), "user.site") == b"one" and script.stat().st_uid == 12


UNKNOWN = {"mode": None, "uid": None, "gid": None, "xattrs": None}
DAMAGED = [("time", 7), ("by", {}), ("before", "0123"), ("before", dict(UNKNOWN, digest=1)),
           ("before", {"digest": "x"}), ("after", None)]


@pytest.mark.parametrize("key, value", DAMAGED)
def test_a_damaged_entry_is_an_error_and_nothing_is_changed(tmp_path, key, value):
    from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import ChangeFailed
    subject = flush_hooks(tmp_path / "tree")
    subject.present()
    path = record_of("flush_hooks", subject.tree)
    held = json.loads(path.read_text())
    held["changed"]["/" + hook_changes.SCRIPT][key] = value
    path.write_text(json.dumps(held))
    before = content(subject.tree)
    with pytest.raises(ChangeFailed, match="is damaged, so the earlier changes are not known"):
        subject.absent()
    assert content(subject.tree) == before


def test_a_file_that_is_as_it_was_before_a_killed_run_is_recorded_as_it_is(tmp_path):
    subject = kernel_modules(tmp_path / "tree")
    path = subject.tree / BLOCK
    # A comment of an earlier life of the image, whose record is gone.
    path.write_text(modules_plan.MARK + "blacklist ip_vs\n" + path.read_text())
    before = content(subject.tree)
    subject.present()
    path.write_bytes(before[BLOCK][1])
    subject.present()
    subject.absent()
    assert content(subject.tree) == before


@pytest.mark.parametrize("name", sorted(SUBJECTS))
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_run_does_not_write_over_the_record_of_another_that_came_between(name, state, tmp_path, monkeypatch):
    from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import ChangeFailed
    subject = SUBJECTS[name](tmp_path / "tree")
    before = content(subject.tree)
    if state == "absent":
        subject.present()
    first, between = record.Record.refuse_stale, []

    def after_another(self):
        if not between:
            between.append(None)
            getattr(subject, state)()
            between[0] = content(subject.tree)
        first(self)

    monkeypatch.setattr(record.Record, "refuse_stale", after_another)
    with pytest.raises(ChangeFailed, match="another run wrote .* at the same time. Nothing was changed; run it again"):
        getattr(subject, state)()
    assert content(subject.tree) == between[0]
    subject.absent()
    assert content(subject.tree) == before
