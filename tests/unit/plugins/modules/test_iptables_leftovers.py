# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module iptables_leftovers cleans the backend that is not in use, on a node of its own with the real iptables."""

from case_rows import cases
import backend_trees
import module_runs
import pytest
import yaml
from cleaned_node import BOTH, clean

pytest.importorskip("ansible.module_utils.basic", reason="ansible-core is not installed")


def tables(text):
    """{table: its lines} without counters."""
    found = {}
    for line in text.splitlines():
        if line.startswith("*"):
            lines = found.setdefault(line, [])
        elif line != "COMMIT":
            lines.append(line.partition(" [")[0] if line.startswith(":") else line)
    return found


@BOTH
def test_leftovers_go_and_come_back_where_nobody_confirms(tmp_path, nft):
    told = clean(tmp_path, nft, """\
told["announced"] = clean_leftovers(check=True)
told["looked"] = saved(OLD) == before and saved(NEW) == used
told["done"] = clean_leftovers()
told["left"], told["foreign"], told["used"] = saved(OLD, False), foreign, saved(NEW) == used
told["waits"] = clean_leftovers()["refused"]
token = told["done"]["rollback"]["token"]
time_is_up(token)
told["back"] = saved(OLD) == before
told["account"] = json.load(open(told["done"]["rollback"]["path"]))
told["late"] = clean_leftovers(rollback_token=token)
""")
    done = told["done"]
    assert told["looked"] and told["used"] and told["back"]
    assert done["refused"] is None and done["changed"] and len(done["removed"]) == 19
    assert dict(told["announced"],
                rollback=None) == dict(done, rollback=None) and told["announced"]["rollback"]["token"] is None
    left, foreign = tables(told["left"]), tables(told["foreign"])
    assert {name: lines for name, lines in left.items()
            if name != "*mangle"} == foreign and "KUBE" not in str(left["*mangle"])
    assert "confirm it with rollback_token: %s" % done["rollback"]["token"] in told["waits"]
    assert [row["problem"] for row in told["account"]["restored"]] == [None] * 3 and told["account"]["failed"] is False
    assert "the node has put the removed rules back" in told["late"]["failed"]


@BOTH
def test_who_confirms_first_has_won_for_good(tmp_path, nft):
    told = clean(tmp_path, nft, """\
done = clean_leftovers()
token, pid = done["rollback"]["token"], done["rollback"]["pid"]
told["announced"] = clean_leftovers(check=True, rollback_token=token)
told["armed"] = states(token)
told["confirmed"] = clean_leftovers(rollback_token=token)
told["again"] = clean_leftovers(rollback_token=token)
until(lambda: not os.path.exists("/proc/%d" % pid) or open("/proc/%d/stat" % pid).read().split()[2] == "Z")
told["states"], told["kube"] = states(token), saved(OLD).count("KUBE-SVC-ERIF")
told["second"] = clean_leftovers()
told["unknown"] = [clean_leftovers(rollback_token="../../x"), clean_leftovers(rollback_token="0" * 16)]
told["modes"] = sorted(set(oct(os.stat(FOLDER + "/rollback/" + name).st_mode & 0o777) for name in os.listdir(FOLDER + "/rollback")))
""")
    assert (told["armed"] == ["armed"] and told["states"] == ["confirmed"] and told["kube"] == 0
            and told["modes"] == ["0o600"])
    assert told["announced"] == told["confirmed"] and told["confirmed"]["confirmed"] and told["confirmed"]["changed"]
    assert told["again"]["confirmed"] and not told["again"]["changed"]
    assert (not told["second"]["changed"] and told["second"]["refused"] is None
            and told["second"]["rollback"]["token"] is None)
    assert "'../../x' is not a rollback token" in told["unknown"][0]["failed"]
    assert "no rollback" in told["unknown"][1]["failed"]


def test_of_a_family_without_kube_proxy_kubelets_marks_are_enough(tmp_path):
    told = clean(tmp_path, True, """\
marks = "*mangle\\n:KUBE-IPTABLES-HINT - [0:0]\\n:KUBE-KUBELET-CANARY - [0:0]\\nCOMMIT\\n"
load(OLD, marks, "ip6tables")
told["before"] = clean_leftovers(check=True)
load(NEW, marks, "ip6tables")
told["done"] = clean_leftovers()
told["left"] = sh("ip6tables-legacy-save").count("KUBE")
""")
    refused = "lacks a part of ipv6: KUBE-IPTABLES-HINT of table mangle exists only in the other backend"
    assert refused in told["before"]["refused"]
    assert told["done"]["changed"] and told["left"] == 0 and len([row for row in told["done"]["removed"]
                                                                  if row["family"] == "ipv6"]) == 2


@cases
def test_what_speaks_against_it_refuses_and_nothing_is_touched(tmp_path, change, sentence):
    told = clean(tmp_path, True, """\
options = {}
%s
before, used = saved(OLD), saved(NEW)
told["result"] = clean_leftovers(**options)
told["same"] = saved(OLD) == before and saved(NEW) == used and not os.path.exists(FOLDER)
""" % change)
    assert (told["same"] and not told["result"]["changed"]
            and sentence in told["result"]["refused"]), told["result"]["refused"]


def test_what_an_earlier_boot_left_waits_no_more_and_two_at_once_do_not_mix(tmp_path):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import clean as clean
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import rollback as rollback
os.makedirs(FOLDER + "/rollback")
mine = {"boot_id": "another", "pid": os.getpid(), "started": _host_detached.start_time_of(os.getpid())}
with open(FOLDER + "/rollback/%s.armed" % ("a" * 16), "w") as stream:
    json.dump(mine, stream)
told["stale"] = clean_leftovers(check=True)["refused"]
mine["boot_id"] = open("/proc/sys/kernel/random/boot_id").read().strip()
with open(FOLDER + "/rollback/%s.armed" % ("a" * 16), "w") as stream:
    json.dump(mine, stream)
clean.still_armed = lambda host, boot_id: None
told["second"] = clean_leftovers()
told["same"] = saved(OLD) == before and os.listdir(FOLDER + "/rollback") == ["a" * 16 + ".armed"]
""")
    assert told["stale"] is None and told["same"] and "another run is cleaning this node" in told["second"]["failed"]


def test_rules_that_iptables_cannot_tell_refuse(tmp_path):
    told = clean(tmp_path, False, """\
sh('nft "add chain ip nat mine { type nat hook prerouting priority 5; }"')
told["result"] = clean_leftovers()
told["kept"] = saved(OLD).count("KUBE-SEP-IT2ZTR26TO4XFPTO -")
""")
    assert "incompatible" in told["result"]["refused"] and told["kept"] == 3


@cases
def test_a_change_between_the_readings_refuses(tmp_path, change, sentence):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import clean as clean
class Clock(object):
    @staticmethod
    def sleep(_seconds):
        sh(%r)
clean.time = Clock
told["result"] = clean_leftovers()
told["kept"] = saved(OLD).count("KUBE-SEP-IT2ZTR26TO4XFPTO -")
""" % change)
    assert ("rules of the legacy backend (ipv4) are still written: "
            "" + sentence in told["result"]["refused"] and told["kept"] == 3)


def test_traffic_over_stale_rules_is_counted_and_is_no_change(tmp_path):
    told = clean(tmp_path, True, """\
import socket
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import clean as clean
class Clock(object):
    @staticmethod
    def sleep(_seconds):
        sh("ip link set lo up")
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
clean.time = Clock
told["result"] = clean_leftovers(check=True)
""")
    assert told["result"]["refused"] is None and told["result"]["sampled"]["packets"] > 0


def test_a_held_lock_is_waited_for_and_then_nothing_is_half_done(tmp_path):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import rollback as rollback
rollback.LOCK_SECONDS = 1
holder = subprocess.Popen(["flock", "/run/xtables.lock", "sleep", "600"])
until(lambda: "FLOCK" in open("/proc/locks").read() and subprocess.call(["flock", "-n", "/run/xtables.lock", "true"]) == 1)
told["result"] = clean_leftovers()
sh("pkill -P %d || true; kill %d" % (holder.pid, holder.pid))
told["same"] = saved(OLD) == before
told["again"] = clean_leftovers()
""")
    assert ("was not cleaned: iptables-legacy-restore ended with status 4" in told["result"]["failed"]
            and "All rules were put back" in told["result"]["failed"])
    assert told["same"] and told["again"]["changed"]


def test_the_rollback_waits_for_a_held_lock_as_well(tmp_path):
    told = clean(tmp_path, True, """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import rollback as rollback
rollback.LOCK_SECONDS, rollback.time = 1, Clock
done = clean_leftovers()
token = done["rollback"]["token"]
holder = subprocess.Popen(["flock", "/run/xtables.lock", "sleep", "600"])
until(lambda: subprocess.call(["flock", "-n", "/run/xtables.lock", "true"]) == 1)
open("/run/time-is-up", "w").close()
until(lambda: states(token) == ["restoring"])
told["missing"] = saved(OLD) != before
sh("pkill -P %d || true; kill %d" % (holder.pid, holder.pid))
until(lambda: states(token) == ["restored"])
told["back"] = saved(OLD) == before
""")
    assert told == {"missing": True, "back": True}


def test_the_rollback_needs_no_disk_and_leaves_alone_what_came_since(tmp_path):
    told = clean(tmp_path, True, """\
done = clean_leftovers()
token = done["rollback"]["token"]
sh("iptables-legacy -t nat -N KUBE-MARK-MASQ; iptables-legacy -I INPUT -s 192.0.2.1 -j ACCEPT")
sh("mount -o remount,ro /var/lib")
told["confirmed"] = clean_leftovers(rollback_token=token)
open("/run/time-is-up", "w").close()
until(lambda: "KUBE-SVC-ERIF" in saved(OLD) and "KUBE-IPTABLES-HINT" in saved(OLD))
until(lambda: not os.path.exists("/proc/%d" % done["rollback"]["pid"]) or open("/proc/%d/stat" % done["rollback"]["pid"]).read().split()[2] == "Z")
told["new"], told["masq"] = "-s 192.0.2.1/32 -j ACCEPT" in saved(OLD), "-A KUBE-MARK-MASQ" in saved(OLD)
told["rest"] = [line for line in before.splitlines() if line not in saved(OLD).splitlines()]
""")
    assert told["new"] and not told["masq"] and [line for line in told["rest"] if "KUBE-MARK-MASQ" not in line] == []
    assert not told["confirmed"].get("confirmed")


@BOTH
def test_a_module_that_is_killed_after_any_table_leaves_the_rollback_behind(tmp_path, nft):
    told = clean(tmp_path, nft, """\
import signal
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers import rollback as rollback
real, runs = rollback.Cleaning.clean, []
for number in range(1, 5):
    child = os.fork()
    if child == 0:
        seen = []
        def clean(self, host):
            seen.append(self)
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, host)
        rollback.Cleaning.clean = clean
        clean_leftovers()
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    missing = saved(OLD) != before
    token = [name for name in os.listdir(FOLDER + "/rollback") if name.endswith(".armed")][0].partition(".")[0]
    time_is_up(token)
    runs.append([killed, missing, saved(OLD) == before])
told["runs"] = runs
""")
    assert told["runs"] == [[True, False, True], [True, True, True], [True, True, True], [False, True, True]]


def test_what_is_returned_is_documented_to_the_leaf(tmp_path):
    from ansible_collections.kubenode.netfilter.plugins.modules import iptables_leftovers
    documented = yaml.safe_load(iptables_leftovers.RETURN)
    tree = str(backend_trees.unpacked(backend_trees.debian(), tmp_path / "tree"))
    _status, result = module_runs.run_module("iptables_leftovers", root=tree)
    assert "only a live node has rules" in result["refused"] and not result["changed"]
    assert set(result) - {"invocation", "diff", "changed"} == set(documented) - {"msg"}
    assert set(result["rollback"]) == set(documented["rollback"]["contains"])
    options = yaml.safe_load(iptables_leftovers.DOCUMENTATION)["options"]
    assert set(options) == set(iptables_leftovers.call.OPTIONS) - {"root", "place"}


@BOTH
def test_rows_of_a_result_are_documented(tmp_path, nft):
    from ansible_collections.kubenode.netfilter.plugins.modules import iptables_leftovers
    documented = yaml.safe_load(iptables_leftovers.RETURN)
    done = clean(tmp_path, nft, "told.update(clean_leftovers(check=True))")
    for key in ("left", "removed"):
        assert done[key] and {frozenset(row) for row in done[key]} == {frozenset(documented[key]["contains"])}
    assert set(done["sampled"]) == set(documented["sampled"]["contains"])


@cases
def test_a_wrong_option_is_refused(tmp_path, options, message):
    tree = str(backend_trees.unpacked(backend_trees.debian(), tmp_path / "tree"))
    status, result = module_runs.run_module("iptables_leftovers", **dict({"root": tree}, **options))
    assert status == 1 and result["failed"] and message in result["msg"]
