# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node to which a kube-proxy or kubelet belongs: processes of other nodes on this machine have another network."""


import node_tree
from case_rows import cases
from node_manifests import DEBIAN, merged, process, running
from node_processes import answer_of, needs_mounts
from node_sections import collect_sections

OURS, OTHERS = "net:[4026531840]", "net:[4026532999]"


def networks(own, *of_processes):
    links = {"proc/%d/ns/net" % pid: None if network is None else node_tree.link(network)
             for pid, network in of_processes}
    return dict(links, **{"proc/self/ns/net": node_tree.link(own)})


def look(tmp_path, *manifests):
    sections = collect_sections(["kube_proxy", "kubelet"],
                                node_tree.unpack(merged(DEBIAN, running("6.1.0"), *manifests), tmp_path), "live")
    return sections["node_kube_proxy"], sections["node_kubelet"]


@cases
def test_of_two_the_one_of_this_network(first, second, mode, tmp_path):
    both = merged(process(500, "kube-proxy", ("kube-proxy", "--proxy-mode=ipvs")),
                  process(600, "kube-proxy", ("kube-proxy", "--proxy-mode=nftables")))
    section = look(tmp_path, both, networks(OURS, (500, first), (600, second)))[0]
    assert (section["mode"], section["running"]) == (mode, mode is not None)


def test_a_node_in_a_container_beside_a_plain_machine(tmp_path):
    """kind: the machine sees kubelet and kube-proxy of the nodes that run on it, but the machine itself is no node."""
    of_kind = merged(process(500, "kubelet", ("kubelet",)), process(600, "kube-proxy", ("kube-proxy",)),
                     process(700, "k3s-server", ("k3s",)))
    proxy, kubelet = look(tmp_path, of_kind, networks(OURS, (500, OTHERS), (600, OTHERS), (700, "net:[4026533000]")))
    assert (proxy["running"], proxy["mode"], proxy["runs_in"]) == (False, None, None)
    assert (kubelet["running"], kubelet["distribution"], kubelet["pid"]) == (False, None, None)


# Real processes: two nodes in networks of their own, and a look from a third network and from the second. All run in a
# pid namespace of their own, in which no other processes are seen.
_NODES = """\
import ctypes, json, os, subprocess, sys
from node_sections import collect_sections
receiver, sender = os.pipe()
fake = "import os, sys, time; open('/proc/self/comm', 'w').write(sys.argv[1]); os.write(%d, (str(os.getpid()) + ' ').encode()); time.sleep(60)" % sender
for mode in ("ipvs", "nftables"):
    for command in ([sys.executable, "-c", fake, "kubelet"], [sys.executable, "-c", fake, "kube-proxy", "--proxy-mode=" + mode]):
        enter = ["unshare", "-n"] if command[-1] == "kubelet" else ["nsenter", "--net=/proc/%d/ns/net" % last]
        subprocess.Popen(enter + command, pass_fds=(sender,))
        last = int(os.read(receiver, 99))
def look():
    found = collect_sections(["kube_proxy", "kubelet"], "/", "live")
    return [found["node_kube_proxy"]["running"], found["node_kube_proxy"]["mode"], found["node_kubelet"]["running"]]
answers = [look()]
ctypes.CDLL(None).setns(os.open("/proc/%d/ns/net" % last, os.O_RDONLY), 0)
print(json.dumps(answers + [look()]))
"""


@needs_mounts
def test_real_processes_in_networks_of_their_own():
    found = answer_of(["timeout", "60", "unshare", "-npfm", "--mount-proc", "--kill-child"], _NODES)
    assert found == [[False, None, False], [True, "nftables", True]]
