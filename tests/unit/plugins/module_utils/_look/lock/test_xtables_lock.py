# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_xtables_lock, in trees that show what no test can make."""

import os

import pytest

import node_tree
from node_manifests import merged, process
from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.lock.xtables_lock import collect_xtables_lock
from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.proc.locks import device_of

LIVE = {"place": "live"}
NODE = {
    "run/xtables.lock": "", "proc/uptime": "10000.00 9000.00\n", "proc/1/ns/pid": node_tree.link("pid:[4026531836]"),
    "proc/1/ns/net": node_tree.link("net:[4026531840]"), "proc/locks": "",
}
ELF = node_tree.executable()
UID, ID = "a5c1f8d5-1919-434d-add7-4afaafdaef89", "5e" * 32
CGROUP = "0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope\n" % (UID.replace("-", "_"), ID)


def look(manifest, tmp_path, locks=None, device=None, mounted=True, **options):
    """The section; `locks` are lines of /proc/locks with %s for device and inode of the lock file of the tree."""
    tree = node_tree.unpack(merged(NODE, manifest), tmp_path)
    numbers = device_of(os.stat(tree).st_dev)
    if mounted:
        os.makedirs(tree + "/proc/self", exist_ok=True)
        with open(tree + "/proc/self/mountinfo", "w") as stream:
            stream.write("24 1 %d:%d / / rw - ext4 /dev/x rw\n" % numbers)
    if locks is not None:
        found = os.stat(tree + "/run/xtables.lock")
        name = "%02x:%02x:%d" % ((numbers if device is None else device) + (found.st_ino,))
        with open(tree + "/proc/locks", "w") as stream:
            stream.write("".join(line.replace("%s", name) + "\n" for line in locks))
    return collect_xtables_lock(Host(tree), LIVE, **options)


def opened(pid, name="/run/xtables.lock", lock=None):
    """A descriptor of a process; `lock` is the line of /proc/locks that its fdinfo repeats."""
    return {"proc/%d/fd/3" % pid: node_tree.link(name),
            "proc/%d/fdinfo/3" % pid: "pos:\t0\nflags:\t02\n" + ("lock:\t%s\n" % lock if lock else "")}


def test_nothing_but_nulls_outside_of_a_live_place(tmp_path):
    tree = node_tree.unpack(NODE, tmp_path)
    for place in ("image", "container"):
        section = collect_xtables_lock(Host(tree), {"place": place})
        assert set(section["collected"].values()) == {"absent"}
        assert (section["kind"], section["matters"], section["holder"], section["agents"]) == (None, None, None, [])


@pytest.mark.parametrize(
    "options, message", [
        ({"path": "xtables.lock"}, "path 'xtables.lock' is not absolute"), ({"path": ""}, "path '' is not absolute"),
        ({"window_seconds": 61}, "window_seconds is 61"), ({"window_seconds": -1}, "window_seconds is -1"),
        ({"hung_after_seconds": 0}, "hung_after_seconds is 0"),
    ])
def test_bad_options(options, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        look({}, tmp_path, **options)


@pytest.mark.parametrize("manifest, kind, status",
                         [
                             ({}, "file", "ok"), ({"run/xtables.lock": None, "run/x": ""}, "absent", "absent"),
                             ({"run/xtables.lock": node_tree.DIRECTORY}, "directory", "ok"),
                             ({"run/xtables.lock": node_tree.FIFO}, "other", "ok"),
                             ({"run/xtables.lock": node_tree.link("/nowhere")}, None, "denied"),
                             ({"run/xtables.lock": None, "var/x": ""}, "absent", "absent"),
                         ])
def test_kinds_of_the_lock_file(manifest, kind, status, tmp_path):
    section = look(manifest, tmp_path)
    assert (section["kind"], section["collected"]["lock_file"], section["holder"]) == (kind, status, None)
    assert (section["inode"] is None, section["device"] is None) == ((kind in (None, "absent")),) * 2


def test_the_folder_of_old_times(tmp_path):
    section = look({"var/run": node_tree.link("/run")}, tmp_path, path="/var/run/xtables.lock")
    assert (section["kind"], section["path_source"]) == ("file", "the option path")


LINE = "1: FLOCK  ADVISORY  WRITE 70 %s 0 EOF"


def test_device_numbers_that_only_the_inode_tells(tmp_path):
    section = look({}, tmp_path, [LINE], device=(0, 0x2b), mounted=False)
    assert section["holder"]["pid"] == 70 and "identified by the inode alone" in section["doubt"]


@pytest.mark.parametrize("device, mounted", [((0, 0x2b), True), ((8, 1), False)])
def test_the_same_inode_of_another_file_system(device, mounted, tmp_path):
    section = look({}, tmp_path, [LINE], device=device, mounted=mounted)
    assert (section["holder"], section["doubt"]) == (None, None)


@pytest.mark.parametrize("line",
                         [
                             "1: POSIX  ADVISORY  WRITE 70 %s 0 EOF", "1: OFDLCK ADVISORY  WRITE -1 %s 0 EOF",
                             "1: LEASE  ACTIVE    READ 70 %s 0 EOF"])
def test_locks_of_another_kind_do_not_stop_iptables(line, tmp_path):
    assert look({}, tmp_path, [line])["holder"] is None


def test_the_recorded_process_is_another_one_by_now(tmp_path):
    """Its pid now belongs to a process that has nothing to do with the lock; a shell still has the lock file open."""
    tree = tmp_path / "a"
    section = look(merged(process(70, "sshd", ["sshd"]), process(71, "bash", ["bash", "fw.sh"]),
                          {"proc/70/fd/0": node_tree.link("/dev/null")}, opened(71)), tree, [LINE])
    assert (section["holder"]["who"] is None and section["holder"]["alive"] is False
            and section["holder"]["held_through_pid"] is None)
    inode = str(section["inode"])
    with open(str(tree / "proc/71/fdinfo/3"), "a") as stream:
        stream.write("lock:\t1: FLOCK  ADVISORY  WRITE 70 00:00:%s 0 EOF\n" % inode)
    holder = collect_xtables_lock(Host(str(tree)), LIVE)["holder"]
    assert (holder["pid"], holder["alive"], holder["held_through_pid"], holder["comm"],
            holder["command"]) == (70, False, 71, "bash", "bash fw.sh")


def test_a_list_that_is_no_list_of_locks(tmp_path):
    section = look({}, tmp_path, ["1: FLOCK something %s 0 EOF"])
    assert (section["collected"]["locks"], section["holder"]) == ("unparsed", None)


def test_a_list_that_is_cut(tmp_path):
    assert look({}, tmp_path, [LINE, LINE[:30] + "%s 0 E"])["collected"]["locks"] == "unparsed"


def test_no_list(tmp_path):
    section = look({"proc/locks": None, "proc/x": ""}, tmp_path)
    assert (section["collected"]["locks"], section["holder"]) == ("absent", None)


@pytest.mark.parametrize("manifest, status", [
    ({"proc/1/ns/pid": node_tree.link("pid:[4026532201]")}, "denied"), ({"proc/1/ns/pid": None}, "denied"),
    ({"proc/1/ns/pid": None, "proc/2/comm": "kthreadd\n"}, "ok"), ({}, "ok"),
])
def test_whether_a_free_lock_is_free(manifest, status, tmp_path):
    assert look(manifest, tmp_path)["collected"]["locks"] == status


def test_a_holder_that_is_seen_is_known_from_anywhere(tmp_path):
    section = look({"proc/1/ns/pid": node_tree.link("pid:[4026532201]")}, tmp_path, [LINE])
    assert section["collected"]["locks"] == "ok" and section["holder"]["pid"] == 70


def test_waiters_are_counted_and_some_are_described(tmp_path):
    lines = [LINE] + ["1: %s-> FLOCK  ADVISORY  WRITE %d %%s 0 EOF" % (" " * depth, 80 + depth) for depth in range(8)]
    section = look(process(80, "iptables", ["/sbin/iptables", "-w", "-A", "X"], "999000"), tmp_path, lines)
    assert section["waiter_count"] == 8 and len(section["waiters"]) == 5
    first = section["waiters"][0]
    assert (first["pid"], first["command"], first["age_seconds"],
            first["age_is"]) == (80, "iptables -w -A X", 10.0, "at_most")
    assert section["waiters"][1]["comm"] is None


def test_others_that_wait_tell_how_long_an_agent_holds_it(tmp_path):
    lines = [LINE, LINE.replace("FLOCK", "-> FLOCK").replace("70", "80")]
    tree = merged(process(70, "calico-node", ["calico-node", "-felix"], "1000"),
                  process(80, "iptables", ["iptables", "-w"], "995000"), opened(70))
    section = look(tree, tmp_path, lines)
    with open(str(tmp_path / "proc/70/fdinfo/3"), "a") as stream:
        stream.write("lock:\t1: FLOCK  ADVISORY  WRITE 70 00:00:%d 0 EOF\n" % section["inode"])
    holder = collect_xtables_lock(Host(str(tmp_path)), LIVE)["holder"]
    assert (holder["who"], holder["alive"], holder["started_seconds_ago"]) == ("calico-node", True, 9990.0)
    assert (holder["age_seconds"], holder["age_is"]) == (50.0, "at_least")


@pytest.mark.parametrize("comm, arguments, age, hung", [
    ("iptables-restor", ["iptables-restore", "-w", "5"], 301, True),
    ("ip6tables-resto", ["/sbin/ip6tables-restore"], 301, True),
    ("iptables-legacy", ["/usr/sbin/iptables-legacy-restore"], 301, True),
    ("iptables-nft-re", ["iptables-nft-restore"], 301, True),
    ("xtables-nft-mul", ["xtables-nft-multi", "iptables-restore"], 301, True),
    ("iptables-restor", ["/bin/sh", "/usr/local/sbin/iptables-restore"], 301, True),
    ("iptables-restor", ["iptables-restore"], 299, False),
    ("iptables-restor", ["iptables-restore-translate"], 301, False),
    ("iptables-legacy", ["iptables-legacy-save"], 301, False),
    ("iptables", ["iptables", "-w", "-A", "iptables-restore"], 301, False),
    ("vim", ["vim", "/usr/sbin/iptables-restore"], 301, False),
])
def test_what_hangs(comm, arguments, age, hung, tmp_path):
    section = look(merged(process(41, comm, arguments, str((10000 - age) * 100)),
                          {"proc/41/wchan": "pipe_read", "proc/41/cgroup": CGROUP}), tmp_path)
    assert [row["pid"] for row in section["hung"]] == ([41] if hung else [])
    if hung:
        row = section["hung"][0]
        assert (row["age_seconds"], row["state"], row["container"]["pod_uid"]) == (301.0, "S", UID)
        assert row["who"] == "%s in the pod with UID %s" % (comm, UID)


@pytest.mark.parametrize("extra, waits", [
    ({"proc/41/wchan": "locks_lock_inode_wait"}, True), ({"proc/41/wchan": "pipe_read"}, False), (opened(41), True),
    (opened(41, lock="1: FLOCK  ADVISORY  WRITE 41 00:00:INODE 0 EOF"), False),
])
def test_whether_it_waits_for_the_lock(extra, waits, tmp_path):
    tree = node_tree.unpack(merged(NODE, process(41, "iptables-restor", ["iptables-restore"], "1"),
                                   {"proc/41/fd": node_tree.DIRECTORY}, extra), tmp_path)
    if "proc/41/fdinfo/3" in extra:
        place = tmp_path / "proc/41/fdinfo/3"
        place.write_text(place.read_text().replace("INODE", str(os.stat(tree + "/run/xtables.lock").st_ino)))
    assert collect_xtables_lock(Host(tree), LIVE)["hung"][0]["waits_for_lock"] is waits


def test_many_hang(tmp_path):
    manifest = merged(*[process(pid, "iptables-restor", ["iptables-restore"], str(100000 - 100 * pid))
                        for pid in range(100, 112)])
    section = look(manifest, tmp_path)
    assert section["hung_count"] == 12 and [row["pid"] for row in section["hung"]] == [111, 110, 109, 108, 107]


@pytest.mark.parametrize("time", ["", "x\n", "nan"])
def test_no_clock_no_age(time, tmp_path):
    section = look(merged(process(41, "iptables-restor", ["iptables-restore"], "1"), {"proc/uptime": time}), tmp_path)
    assert section["hung"] == []


NFT, LEGACY = {"usr/sbin/xtables-nft-multi": ELF}, {"usr/sbin/xtables-legacy-multi": ELF}


@pytest.mark.parametrize(
    "manifest, matters, because", [
        ({}, False, "no legacy table exists and the node has no iptables: nft writers take no lock"),
        (merged(NFT, {"usr/sbin/iptables": node_tree.link("xtables-nft-multi")}), False, "iptables of the node is nft"),
        (merged(LEGACY, {"usr/sbin/iptables": node_tree.link("xtables-legacy-multi")}), True,
         "iptables of the node is legacy"),
        (merged(NFT, LEGACY, {"usr/sbin/iptables": node_tree.link("xtables-nft-multi"),
                              "usr/sbin/ip6tables": node_tree.link("xtables-legacy-multi")}), True,
         "iptables of the node is legacy"),
        ({"usr/sbin/iptables": node_tree.executable("#!/bin/sh\n")}, None, "the file does not show which backend"),
        (merged(NFT, {"usr/sbin/iptables": node_tree.link("xtables-nft-multi"),
                      "proc/net/ip_tables_names": "nat\nfilter\n", "proc/net/ip6_tables_names": "nat\n"}), True,
         "legacy tables exist (filter, nat)"),
        (merged(NFT, {"usr/sbin/iptables": node_tree.link("xtables-nft-multi"), "proc/net/ip_tables_names": ""}), False,
         "nft writers take no lock"),
        ({"proc/net/ip_tables_names": node_tree.FIFO}, None, "could not be read"),
    ])
def test_whether_the_lock_matters(manifest, matters, because, tmp_path):
    section = look(manifest, tmp_path)
    assert section["matters"] is matters and because in section["matters_because"]


def agent(pid, comm, network="net:[4026531840]", environ=(), root="/"):
    extra = {"proc/%d/environ" % pid: "".join(variable + "\0" for variable in ("TOKEN=x",) + tuple(environ))}
    if network:
        extra["proc/%d/ns/net" % pid] = node_tree.link(network)
    return merged(process(pid, comm, [comm], root=root), extra)


def test_agents_are_those_in_the_network_of_the_node(tmp_path):
    manifest = merged(agent(5, "kube-proxy"), agent(6, "kube-proxy", "net:[4026532333]"), agent(7, "kubelet", None),
                      agent(8, "nginx"))
    section = look(manifest, tmp_path)
    assert [(row["pid"], row["lock"]) for row in section["agents"]] == [(5, "unknown"), (7, "unknown")]
    assert [row["reason"] for row in section["agents"]] == [
        "a tree has no running processes", "whether it uses the network of the node is not known"]


@pytest.mark.parametrize("environs, path, source", [
    (((), ()), "/run/xtables.lock", "the default of iptables"),
    ((("XTABLES_LOCKFILE=/run/x.lock",),) * 2, "/run/x.lock", "XTABLES_LOCKFILE of kube-proxy, kubelet"),
    ((("XTABLES_LOCKFILE=/run/x.lock",), ()), "/run/xtables.lock", "the default of iptables"),
    ((("XTABLES_LOCKFILE=x.lock",),) * 2, "/run/xtables.lock", "the default of iptables"),
    ((("XTABLES_LOCKFILE=",),) * 2, "/run/xtables.lock", "the default of iptables"),
    ((("XTABLES_LOCKFILE=/a", "XTABLES_LOCKFILE=/b"),) * 2, "/b", "XTABLES_LOCKFILE of kube-proxy, kubelet"),
])
def test_the_path_in_force(environs, path, source, tmp_path):
    section = look(merged(agent(5, "kube-proxy", environ=environs[0]), agent(6, "kubelet", environ=environs[1])),
                   tmp_path)
    assert (section["path"], section["path_source"]) == (path, source)
    assert [row["path"] for row in section["agents"]] == [
        environ[-1].partition("=")[2] or path if environ else path for environ in environs]
    assert "TOKEN" not in str(section)


def test_many_agents(tmp_path):
    section = look(merged(*[agent(pid, "kube-router") for pid in range(5, 25)]), tmp_path)
    assert (len(section["agents"]), section["agents_left_out"]) == (16, 4)


def test_a_sample_of_a_tree(tmp_path):
    section = look({}, tmp_path, [LINE], window_seconds=1)
    assert section["sample"]["held_percent"] == 100.0 and section["sample"]["holders"][0]["comm"] is None
    assert look({}, tmp_path / "b")["sample"] is None
