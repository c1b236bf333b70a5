# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modes that a node allows, and a real process that listens; the rest is in tests/looks/kube."""


import pytest
import node_tree
from case_rows import cases
from fake_tools import ToolNode
from node_manifests import DEBIAN, merged, process
from node_processes import answer_of, needs_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.kube.kube_proxy_process import (
    files_of, lacks_of, modes_of)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.processes import Process

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
print(json.dumps(dict(collect_sections(["kube_proxy"], "/", "live")["node_kube_proxy"], child=child.pid)))
child.kill()
"""


@needs_mounts
@cases
def test_who_listens(name, argument, running, by, replaced):
    section = answer_of(["unshare", "-npfm", "--mount-proc"], SCRIPT, name, argument)
    assert (section["running"], section["found_by"], section["replaced_by"]) == (running, by, replaced)
    assert section["pid"] == (section["child"] if running else None)
    # It accepts and does not answer, as one that is stopped.
    assert section["collected"]["metrics"] == ("timeout" if running else "absent")


# Files in the root of kube-proxy.

MATCHES = ["addrtype", "comment", "conntrack", "mark", "statistic"]
WHOLE = dict({"usr/lib64/xtables/libxt_%s.so" % name: "" for name in MATCHES},
             **{"etc/protocols": "", "usr/lib64/libm.so.6": "", "lib64": node_tree.link("usr/lib64"),
                "usr/lib64/libc.so.6": "", "proc/500/environ": "PATH=/bin\0"})


def files(tmp_path, without=(), more=()):
    tree = {path: content for path, content in WHOLE.items() if not path.endswith(tuple(without) or ("-",))}
    root = node_tree.unpack(merged(tree, process(500, "kube-proxy", ["kube-proxy"]), dict(more)), tmp_path)
    return files_of(Host(str(root)), Process(Host(str(root)), 500, "kube-proxy"))


@pytest.mark.parametrize("without, more, mode, synced, names", [
    ([], {}, "iptables", False, []),
    (["libm.so.6"], {}, "iptables", False, ["libm.so.6"]), (["libm.so.6"], {}, "ipvs", True, ["libm.so.6"]),
    (["libm.so.6", "/protocols"], {}, "nftables", False, ["/etc/protocols"]),
    (["/protocols"], {}, "iptables", False, []), (["libm.so.6"], {}, None, False, []),
    (["libxt_mark.so"], {}, "iptables", False, ["libxt_mark.so"]), (["libxt_mark.so"], {}, "iptables", True, []),
    (["_statistic.so"], {}, "iptables", True, ["libxt_statistic.so"]),
    # musl, a program with all matches built in, another folder, and one that syncs without a library.
    (["libc.so.6", "libm.so.6", "/protocols"], {}, "nftables", False, []),
    (["libc.so.6", "libm.so.6"], {}, "iptables", False, []), ([".so"], {}, "iptables", False, []),
    (["_mark.so"], {"proc/500/environ": "XTABLES_LIBDIR=/opt\0"}, "iptables", False, []),
    (["_comment.so", "_statistic.so"], {}, "iptables", True, []),
])
def test_what_is_missing(without, more, mode, synced, names, tmp_path):
    assert [row["name"] for row in lacks_of(files(tmp_path, without, more), mode, None, synced)] == names


@pytest.mark.parametrize("version, names", [("1.32.9", []), ("1.33.0", ["/etc/protocols"])])
def test_versions_that_compare_texts(version, names, tmp_path):
    assert [row["name"] for row in lacks_of(files(tmp_path, ["/protocols"]), "nftables", version, True)] == names
