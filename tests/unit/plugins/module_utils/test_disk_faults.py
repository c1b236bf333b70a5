# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module that changes files, with the n-th write, rename or fsync failing or the run killed there, for every n
until it completes.

The result of the module is true. Its changes are put back or can be undone byte for byte (mode, owner and directories
too). The next run completes, and leaves nothing of the killed run. With KUBENODE_ROBUST=1 every error is tried at every
call, otherwise a sample of them.
"""

import errno
import json
import os
import random
import shutil
import stat
import subprocess

import conntrack_changes
import hook_changes
import node_tree
import pytest
from backend_trees import debian, plain, red_hat
from backend_trees import run as switch
from conntrack_node import FORWARD, counters, tracking
from disk_faults import (ERRORS, FROM_THEN_ON, KILL, ONCE, is_leftover, snapshot, struck, unsafe_leftovers,
                         without_leftovers)
from node_manifests import DEBIAN, kernel
from node_tree import merged

from ansible_collections.kubenode.netfilter.plugins.module_utils import _errors
from ansible_collections.kubenode.netfilter.plugins.module_utils._change import record
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.modules import plan as modules_plan

ROBUST = os.environ.get("KUBENODE_ROBUST") == "1"
SEED = int(os.environ.get("KUBENODE_SEED") or 20240611)
SAMPLES = 6
STATE = "var/lib/kubenode-netfilter"

MODULES = merged(DEBIAN, kernel("6.1.0-49-amd64", {"ip_vs": ["nf_conntrack"], "nf_conntrack": [], "xt_comment": []}),
                 {"etc/modprobe.d/a.conf": node_tree.mode(0o640, "options ip_vs x=1\ninstall ip_vs /bin/true\n"),
                  "etc/modprobe.d/b.conf": "install ip_vs /bin/false\nblacklist xt_comment\n",
                  "usr/lib/modprobe.d/vendor.conf": "blacklist ip_vs\n", "var/lib": node_tree.DIRECTORY})
TRACKING = tracking({"etc/sysctl.d/zzz.conf": "# site\n%s = 0\n" % FORWARD, "proc/sys/net/ipv4/ip_forward": "0\n",
                     "var/lib": node_tree.DIRECTORY}, counters(drop=3))
ASKED = {"max": 524288, "buckets": 524288, "resize": "always", "timeouts": {"udp_timeout": 20}, "sysctls": [FORWARD],
         "comment_out_conflicts": True}
# A set-uid script too, in a folder whose scripts are run.
HOOKS = merged(hook_changes.AZURE, {
    "var/lib": node_tree.DIRECTORY,
    "etc/network/if-up.d/firewall": node_tree.mode(0o4755, "#!/bin/sh\niptables -F\nlogger up\n")})
each_state = pytest.mark.parametrize("state", ["present", "absent"])


def modules(tree, state):
    names = ["ip_vs", "xt_comment"]
    params = {"root": str(tree), "place": "auto", "state": state, "load": True, "persist": True, "unblock": True,
              "file": "kubenode-netfilter.conf", "name": names if state == "present" else []}
    return modules_plan.run(params, False)


def conntrack(tree, state):
    return conntrack_changes.run(tree, **ASKED) if state == "present" else conntrack_changes.undo(tree, lower=True)


def hooks(start):
    return lambda tree, state: hook_changes.run(tree, state=state, start=start)


def backend(name):
    return lambda tree, state: switch(tree, state, backend=name)


SUBJECTS = {"kernel_modules": (MODULES, modules), "conntrack": (TRACKING, conntrack),
            "flush_hooks": (HOOKS, hooks("noflush")), "flush_hooks, masked": (HOOKS, hooks("mask")),
            "iptables_backend, debian": (debian("legacy", "nft"), backend("nft")),
            "iptables_backend, red hat": (red_hat("legacy", "manual"), backend("nft")),
            "iptables_backend, links": (plain(), backend("legacy"))}
each_subject = pytest.mark.parametrize("name", sorted(SUBJECTS))


class Subject:
    """Trees of one module: `before` a run, and after a run without faults (`done`)."""

    def __init__(self, name, folder):
        self._manifest, self._run = SUBJECTS[name]
        self._name, self._folder, self._count = name, folder, 0
        self._tree_done = self.tree()
        self.before = snapshot(self._tree_done)
        assert not self.result(self._tree_done, "present").get("failed")
        self.done = snapshot(self._tree_done)
        assert self.done != self.before

    def tree(self, state="present"):
        """A new tree, on which `state` has something to do."""
        self._count += 1
        tree = self._folder / str(self._count)
        if state == "absent":
            subprocess.run(["cp", "-a", str(self._tree_done), str(tree)], check=True)
        else:
            tree.mkdir()
            node_tree.unpack(self._manifest, tree)
        return tree

    def result(self, tree, state):
        """What the module returns, as the caller of the module sees it."""
        try:
            return self._run(tree, state)
        except _errors.ChangeFailed as error:
            return dict(error.result(), failed=True)

    def goes_on(self, tree, state, what):
        """The next run completes, reports no failure, and leaves the same files as a run without faults."""
        told = self.result(tree, state)
        assert not told.get("failed"), (what, told)
        found, wanted = snapshot(tree), self.done if state == "present" else self.before
        if "flush_hooks" in self._name and state == "present":
            # An earlier run has disarmed the flush of this script in its unit, so the script stays as it is.
            same = [path for path in found
                    if not path.startswith(STATE) and (path != hook_changes.SCRIPT or found[path] != self.before[path])]
            found = {path: found[path] for path in same}
            wanted = {path: held for path, held in wanted.items() if path in same}
        assert comparable(found) == comparable(wanted), what


def comparable(found):
    """A snapshot without what may differ: the counters of losses when the limit was raised, which count from the run
    that could write them."""
    path = STATE + "/conntrack/record.json"
    if path not in found:
        return found
    return dict(found, **{path: found[path][:3] + (dict(json.loads(found[path][3]), lost=None),)})


def changed_files(before, after):
    """Files of others, and links, that differ."""
    paths = set(before) | set(after)
    files = [path for path in paths
             if not path.startswith((STATE, "proc/")) and (after.get(path) or before[path])[3] is not None]
    return sorted("/" + path for path in files if before.get(path) != after.get(path) and not is_leftover(path))


def check_truth(subject, state, told, after, what):
    """The result names what differs on the disk, and is a failure unless all of it was done."""
    start, end = (subject.before, subject.done) if state == "present" else (subject.done, subject.before)
    files = sorted(path for path in told["files"] if not path.startswith("/" + STATE))
    assert files == changed_files(start, after), (what, told)
    assert all(start.get(path[1:]) != after.get(path[1:]) for path in told["files"]), (what, told)
    assert bool(told["changed"]) >= bool(files), (what, told)
    for row in told.get("settings", ()):
        value = after["proc/sys/" + row["key"].replace(".", "/")][3]
        assert int(value) == row["after"], (what, row)
    if not told.get("failed"):
        assert without_leftovers(after) == end, (what, told)
    for path, held in without_leftovers(after).items():
        assert path.startswith((STATE, "proc/")) or held in (start.get(path), end.get(path)), (what, path)


def faults_of(name, state, calls):
    """[(how, error, number of the call)]."""
    numbers = range(1, calls + 1)
    ways = [(KILL, None), (FROM_THEN_ON, errno.EROFS)] + [(ONCE, error) for error in ERRORS]
    dice = random.Random("%s %s %s" % (SEED, name, state))
    return [(how, error, number) for how, error in ways
            for number in (numbers if ROBUST else sorted(dice.sample(numbers, SAMPLES)))]


@pytest.fixture(autouse=True)
def one_moment(monkeypatch):
    """Records contain the time of a change; records of runs with and without a fault are compared as bytes."""
    monkeypatch.setattr(record, "_now", lambda: "2026-01-02T03:04:05Z")


@pytest.mark.robust
@each_state
@each_subject
def test_a_fault_at_any_call_is_told_and_undone(tmp_path, record_property, name, state):
    subject = Subject(name, tmp_path)
    tree = subject.tree(state)
    calls, _told = struck(0, ONCE, None, lambda: subject.result(tree, state))
    faults = faults_of(name, state, calls)
    whole = {held for _mode, _owner, _group, held in list(subject.before.values()) + list(subject.done.values())}
    for count, (how, error, number) in enumerate(faults):
        what = (how, error and os.strerror(error), number)
        tree = subject.tree(state)
        came, told = struck(number, how, error, lambda tree=tree: subject.result(tree, state))
        assert came, what
        after = snapshot(tree)
        assert unsafe_leftovers(after, whole) == [], what
        if how != KILL:
            check_truth(subject, state, told, after, what)
        # The next run is `present` and `absent` in turn.
        then = ("present", "absent")[count % 2]
        subject.goes_on(tree, then, what)
        assert count % 10 or not subject.result(tree, then)["changed"], what
        shutil.rmtree(str(tree))
    kills = sum(how == KILL for how, _error, _number in faults)
    record_property("kill_points", kills)
    record_property("error_points", len(faults) - kills)
    print("seed %d, %s, %s: %d calls, %d kill points, %d error points"
          % (SEED, name, state, calls, kills, len(faults) - kills))
    assert calls > 10


@each_state
@each_subject
def test_a_file_with_another_name_is_refused(tmp_path, name, state):
    subject = Subject(name, tmp_path)
    start, end = (subject.before, subject.done) if state == "present" else (subject.done, subject.before)
    paths = [path[1:] for path in changed_files(start, end) if path[1:] in start and stat.S_ISREG(start[path[1:]][0])]
    for path in paths:
        tree = subject.tree(state)
        os.link(str(tree / path), str(tree / "another-name"))
        told = subject.result(tree, state)
        assert told["failed"] and "/%s cannot be changed: it has a hard link" % path in told["msg"], told
        assert snapshot(tree)[path] == start[path]
        check_truth(subject, state, told,
                    {each: held for each, held in snapshot(tree).items() if each != "another-name"}, path)
    assert paths or name in ("iptables_backend, links", "iptables_backend, red hat"), "of these only links change"
