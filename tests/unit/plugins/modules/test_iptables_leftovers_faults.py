# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cleaning the backend that is not in use where two do it at once, a disk fails, or the run is killed, with the real
iptables."""

import errno
import os

import disk_faults
import pytest
from cleaned_node import BOTH, clean

ROBUST = os.environ.get("KUBENODE_ROBUST") == "1"


def test_of_two_at_once_the_second_names_the_first_and_touches_nothing(tmp_path):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import clean as clean
class Slow(object):
    @staticmethod
    def sleep(_seconds):
        open("/run/between-the-readings", "w").close()
        until(lambda: os.path.exists("/run/go-on"))
clean.time = Slow
first = os.fork()
if first == 0:
    try:
        with open("/run/first", "w") as stream:
            json.dump(clean_leftovers(), stream)
    finally:
        os._exit(0)
until(lambda: os.path.exists("/run/between-the-readings"))
told["pid"], told["announced"], told["second"] = first, clean_leftovers(check=True), clean_leftovers()
told["same"] = saved(OLD) == before and saved(NEW) == used and not os.path.exists(FOLDER)
open("/run/go-on", "w").close()
os.waitpid(first, 0)
told["first"] = json.load(open("/run/first"))
told["third"] = clean_leftovers()["refused"]
told["lock"] = os.path.exists("/run/kubenode-netfilter.lock")
""")
    assert told["second"]["refused"].startswith("process %d is changing this node and holds /run/" % told["pid"])
    assert told["second"]["refused"] == told["announced"]["refused"] and not told["second"]["changed"] and told["same"]
    assert told["first"]["changed"] and told["first"]["refused"] is None
    assert "waits for its confirmation" in told["third"] and not told["lock"]


def test_a_lock_of_a_killed_run_is_taken_over(tmp_path):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import lock
LOCK = "/run/" + lock.NAME
with open(LOCK, "w") as stream:
    stream.write("%d 1" % os.getpid())
told["announced"], told["done"] = clean_leftovers(check=True), clean_leftovers()
told["lock"] = os.path.exists("/run/kubenode-netfilter.lock")
""")
    assert told["announced"]["refused"] is None and told["done"]["changed"] and not told["lock"]


FAULTS = """\
import shutil
import disk_faults
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import clean as clean
clean.time = Clock
told["runs"], told["wrong"] = [], []
real = _host_detached.claim
def cleaned(faults):
    # A run is struck, and the process on the node until it waits; nothing undoes the end of that process.
    _host_detached.claim = lambda *args: faults.end() or real(*args)
    return clean_leftovers()
def undone():
    # The process on the node undoes what was cleaned; of a run that was stopped before it there is nothing to undo.
    open("/run/time-is-up", "w").close()
    until(lambda: saved(OLD) == before)
    os.unlink("/run/time-is-up")
calls = disk_faults.struck(0, disk_faults.ONCE, None, cleaned, True)[0]
undone()
# The process on the node makes some more.
told["calls"] = calls + 12
for how, error in WAYS:
    for number in range(1, told["calls"] + 1, STEP):
        shutil.rmtree("/var/lib/kubenode-netfilter")
        what = [how, error, number]
        answer = disk_faults.struck(number, how, error, cleaned, True)[1]
        if disk_faults.unsafe_leftovers(disk_faults.snapshot("/var/lib"), ()):
            told["wrong"].append(what + ["left-over"])
        if how != disk_faults.KILL:
            # Cleaned under a rollback, or nothing happened and the message says so.
            gone = bool(answer.get("changed"))
            if gone == (saved(OLD) == before) or not (gone or "Nothing was changed" in answer.get("failed", "")):
                told["wrong"].append(what + [answer])
        undone()
        if saved(NEW) != used:
            told["wrong"].append(what + ["the backend in use"])
        if len(told["runs"]) % 4 == 0:
            token = clean_leftovers()["rollback"]["token"]
            if [name for name in os.listdir(FOLDER + "/rollback") if not name.startswith(token)] or os.path.exists("/run/kubenode-netfilter.lock"):
                told["wrong"].append(what + ["not tidied"])
            undone()
        os.makedirs(FOLDER, exist_ok=True)
        told["runs"].append(what)
"""


@pytest.mark.robust
@BOTH
def test_a_fault_at_any_call_leaves_the_rules_or_a_rollback(tmp_path, record_property, nft):
    ways = [(disk_faults.KILL, None), (disk_faults.ONCE, errno.ENOSPC), (disk_faults.ONCE, errno.EIO)]
    if ROBUST:
        ways += [(disk_faults.ONCE, errno.EROFS), (disk_faults.ONCE, errno.EACCES),
                 (disk_faults.FROM_THEN_ON, errno.EROFS)]
    told = clean(tmp_path, nft, "WAYS, STEP = %r, %d\n" % (ways, 1 if ROBUST else 5) + FAULTS)
    kills = sum(how == disk_faults.KILL for how, _error, _number in told["runs"])
    record_property("kill_points", kills)
    record_property("error_points", len(told["runs"]) - kills)
    print("cleaned: %d calls, %d kill points, %d error points" % (told["calls"], kills, len(told["runs"]) - kills))
    assert told["wrong"] == [] and told["calls"] > 20
