# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory, CPU, children and sockets of a kube-proxy, of trees and of real processes."""

import json
import os
import subprocess
import sys

import pytest

from case_rows import cases
import node_tree
from fake_tools import ToolNode
from node_manifests import DEBIAN, merged, process
from node_processes import needs_mounts, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_modes import modes_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_process import process_of
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import find_processes

ID, UID = "5eed" * 16, "a5c1f8d5-1111-2222-3333-444455556666"
POD = "kubepods.slice/kubepods-pod%s.slice" % UID.replace("-", "_")
SCOPE = "%s/cri-containerd-%s.scope" % (POD, ID)
V2 = "sys/fs/cgroup/" + SCOPE + "/"
VERSION_2 = {
    "proc/500/cgroup": "0::/%s\n" % SCOPE, V2 + "memory.max": "104857600\n", V2 + "memory.current": "62914560\n",
    V2 + "memory.stat": "anon 5\ninactive_file 10485760\n", V2 + "memory.events": "low 0\noom_kill 0\n",
    "sys/fs/cgroup/" + POD + "/memory.events": "oom 4\noom_kill 3\n", V2 + "cpu.max": "20000 100000\n",
    V2 + "cpu.stat": "usage_usec 9\nnr_periods 400\nnr_throttled 100\nthrottled_usec 2500000\n"}
LOGS = {"var/log/pods/kube-system_kube-proxy-x_%s/kube-proxy/%d.log" % (UID, number): "" for number in (2, 3)}
LOGS["var/log/containers/kube-proxy-x_kube-system_kube-proxy-%s.log" % ID] = ""


def look(tmp_path, *manifests, **options):
    proxy = process(500, "kube-proxy", ("kube-proxy",))
    host = ToolNode(node_tree.unpack(merged(DEBIAN, proxy, {"proc/uptime": "1000.00 1.00\n"}, *manifests), tmp_path))
    return process_of(host, find_processes(host, ("kube-proxy",))[1][0], {10249}, options.get("alone", True))


def test_version_2(tmp_path):
    statuses, found = look(tmp_path, VERSION_2, LOGS)
    assert statuses["cgroup"] == "ok" and found["resources"] == {
        "memory_limit_bytes": 104857600, "memory_used_bytes": 52428800, "memory_percent": 50.0, "oom_kills": 3,
        "oom_killed_recently": True, "cpu_quota_percent": 20.0, "throttled_percent": 25.0, "throttled_seconds": 2.5}
    assert (found["container"]["pod"], found["restarts"]) == ("kube-proxy-x", 3)


def test_version_2_without_limits(tmp_path):
    files = dict(VERSION_2, **{V2 + "memory.max": "max\n", V2 + "cpu.max": "max 100000\n"})
    resources = look(tmp_path, files)[1]["resources"]
    assert (resources["memory_limit_bytes"], resources["memory_percent"],
            resources["cpu_quota_percent"]) == (None, None, None)


def test_version_1(tmp_path):
    memory, cpu = "sys/fs/cgroup/memory/kubepods/x/", "sys/fs/cgroup/cpu/kubepods/x/"
    resources = look(tmp_path,
                     {
                         "proc/500/cgroup": "5:memory:/kubepods/x\n4:cpu,cpuacct:/kubepods/x\n", memory
                         + "memory.usage_in_bytes": "3000\n", memory + "memory.limit_in_bytes": "9223372036854771712\n",
                         memory + "memory.stat": "total_inactive_file 1000\n",
                         memory + "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
                         cpu + "cpu.cfs_quota_us": "-1\n", cpu + "cpu.cfs_period_us": "100000\n",
                         cpu + "cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"})[1]["resources"]
    assert resources == {"memory_limit_bytes": None, "memory_used_bytes": 2000, "memory_percent": None, "oom_kills": 2,
                         "oom_killed_recently": True, "cpu_quota_percent": None, "throttled_percent": None,
                         "throttled_seconds": 0.0}


@pytest.mark.parametrize("text, status", [("0::/../../x\n", "unparsed"), ("0::/gone\n", "absent"), (None, "absent"),
                                          ("junk\n", "absent")])
def test_a_cgroup_that_cannot_be_read(text, status, tmp_path):
    statuses, found = look(tmp_path, {"proc/500/cgroup": text} if text else {})
    assert (found["resources"], found["restarts"]) == (None, None)
    assert statuses["cgroup"] in (status, "ok")


CHILDREN = merged(
    {"proc/500/task/500/children": "", "proc/500/task/507/children": "600 601 602 603 604 605 "},
    process(600, "iptables-resto", ("iptables-restore", "-w", "5"), start_time="40000"),
    process(601, "ipset", ("/usr/sbin/ipset", "restore"), start_time="20000"),
    process(602, "iptables", ("iptables",), state="Z"),
    process(603, "sh", ("/bin/sh", "/usr/sbin/nft", "-f", "-"), start_time="30000"),
    # A script that starts kube-proxy may start others as well, and a program may be called alike.
    process(604, "python3", ("python3", "/srv/metrics"), start_time="20000"),
    process(605, "nftables-export", ("/usr/bin/nftables-exporter",), start_time="20000"))


def test_children(tmp_path):
    assert look(tmp_path / "a", CHILDREN)[1]["children"] == [
        {"pid": 601, "command": "ipset restore", "age_seconds": 800.0, "state": "S"},
        {"pid": 603, "command": "sh /usr/sbin/nft -f -", "age_seconds": 700.0, "state": "S"},
        {"pid": 600, "command": "iptables-restore -w 5", "age_seconds": 600.0, "state": "S"}]
    # k3s runs containerd and more.
    assert [row["pid"] for row in look(tmp_path / "b", CHILDREN, alone=False)[1]["children"]] == [600]


HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: 0100007F:%04X 0200007F:192B %s 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 0\n"


def test_sockets(tmp_path):
    links = {"proc/500/fd/%d" % number: node_tree.link("socket:[%d]" % number) for number in (11, 12, 13)}
    table = HEAD + ROW % (40000, "01", 11) + ROW % (40001, "02", 12) + ROW % (10249, "01", 13) + ROW % (40002, "01", 99)
    statuses, found = look(tmp_path / "a", links, {"proc/500/net/tcp": table})
    assert (statuses["sockets"], found["api_sockets"]) == ("ok", {"established": 1, "connecting": 1, "other": 0})
    statuses, found = look(tmp_path / "b", links, {"proc/500/net/tcp": table * 9000})
    assert (statuses["sockets"], found["api_sockets"]) == ("unparsed", None)


TOOLS = dict.fromkeys(("iptables", "iptables-restore", "iptables-save", "ipset", "nft"), "present")
INDEX = {"lib/modules/6.1.0/modules.dep": "kernel/net/netfilter/x_tables.ko:\nkernel/net/netfilter/nf_tables.ko:\n",
         "lib/modules/6.1.0/modules.builtin": ""}


@cases
def test_modes(release, version, tools, found, advice, tmp_path):
    host = ToolNode(node_tree.unpack(merged(DEBIAN, INDEX), tmp_path))
    rows, told = modes_of(host, release, dict(TOOLS, **tools), version)
    expected = [True if state is None and release == "4.18.0" else state for state in found]
    assert ([row["possible"] for row in rows], told) == (expected, advice)
    assert [row["mode"] for row in rows] == ["iptables", "ipvs", "nftables"] and all(row["because"] for row in rows)


# A network of its own, in which its ports are free; `name` is what the process calls itself.
SCRIPT = """\
import json, os, subprocess, sys
from node_sections import collect_sections
name, argument = sys.argv[1:]
subprocess.check_call(["ip", "link", "set", "lo", "up"])
program = ("import socket, os, time; open('/proc/self/comm', 'w').write(%r); a = socket.socket();"
           "a.bind(('127.0.0.1', 10249)); a.listen(5); print(1, flush=True); time.sleep(60)" % name)
child = subprocess.Popen([argument, "-c", program], executable=sys.executable, stdout=subprocess.PIPE)
child.stdout.readline()
json.dump(dict(collect_sections(["kube_proxy"], "/", "live")["node_kube_proxy"], child=child.pid), sys.stdout)
child.kill()
"""


@needs_mounts
@cases
def test_who_listens(name, argument, running, by, replaced):
    tool = subprocess.Popen(["unshare", "-npfm", "--mount-proc", sys.executable, "-c", SCRIPT, name, argument],
                            stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=python_path()))
    section = json.loads(tool.communicate()[0].decode("utf-8"))
    assert (section["running"], section["found_by"], section["replaced_by"]) == (running, by, replaced)
    assert section["pid"] == (section["child"] if running else None)
    # It accepts and does not answer, as one that is stopped.
    assert section["collected"]["metrics"] == ("timeout" if running else "absent")
