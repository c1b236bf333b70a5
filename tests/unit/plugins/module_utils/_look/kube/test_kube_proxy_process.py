# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modes that a node allows, and a real process that listens; the rest is in tests/looks/kube."""

import json
import os
import subprocess
import sys

from case_rows import cases
import node_tree
from fake_tools import ToolNode
from node_manifests import DEBIAN, merged
from node_processes import needs_mounts, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_modes import modes_of

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
