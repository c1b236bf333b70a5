# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_ipvs of large nodes and on this machine; the rest is in tests/looks/ipvs."""

import json
import subprocess
import sys

from fake_tools import script, unpacked
from ip_vs import HEADING, four, real
from node_processes import needs_root, python_path
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs


def look(tmp_path, sets, **files):
    tree = {"proc/net/" + name: text for name, text in files.items()}
    ipset = {"usr/sbin/ipset": script('cat "${0%/*}/sets"'), "usr/sbin/sets": sets, "sys/module/ip_set/x": ""}
    return collect_ipvs(unpacked(tmp_path, tree, ipset), {"place": "live"})


def test_a_large_node_stays_small(tmp_path):
    count = 5000
    addresses = ["10.%d.%d.%d" % (96 + index // 65536, index // 256 % 256, index % 256) for index in range(count)]
    servers = HEADING + "".join(four(address, 80) + (real("10.244.0.9", 80) * 4 if index % 2 else "")
                                for index, address in enumerate(addresses))
    local = "Local:\n" + "".join("     |-- %s\n        /32 host LOCAL\n" % address for address in addresses[:-7])
    sets = "".join("Name: KUBE-CLUSTER-IP%d\nNumber of entries: 1\n\n" % index for index in range(500))
    section = look(tmp_path, sets, ip_vs=servers, dev="kube-ipvs0: 0\n", fib_trie=local)
    assert (section["virtual_servers"], section["real_servers"],
            section["without_real_servers_count"]) == (count, count // 2 * 4, count // 2)
    assert (section["dummy_interface"]["missing_addresses"] == 7 and len(section["without_real_servers"]) == 5
            and len(section["ipsets"]) == 40)


def test_of_very_many_sets_only_those_of_kube_proxy_are_kept(tmp_path):
    """The program prints in pieces that end anywhere, and no empty line ends the last set."""
    others = "".join("Name: cali40s:%d\nType: hash:ip\n\n" % number for number in range(9000))
    text = "Name: KUBE-CLUSTER-IP\nType: hash:ip\n\n" + others + "Name: KUBE-6-LOOP-BACK\nType: hash:ip\n\n"
    section = look(tmp_path, text + others + "Name: KUBE-EXTERNAL-IP\nType: hash:ip")
    assert [row["name"] for row in section["ipsets"]] == ["KUBE-6-LOOP-BACK", "KUBE-CLUSTER-IP", "KUBE-EXTERNAL-IP"]


SCRIPT = """\
import json
from ansible_collections.kubenode.netfilter.plugins.module_utils._host import host as _host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.ipvs.ipvs import collect_ipvs
print(json.dumps(collect_ipvs(_host.Host("/"), {"place": "live"}, {"mode": "iptables", "ipvs_scheduler": None, "runs_in": "host"})))
"""


@needs_root
def test_what_is_left_on_a_real_kernel():
    # A veth stands in for the dummy device, which not every kernel has; like that one it is down.
    prepare = ("ip link add kube-ipvs0 type veth && ip addr add 10.96.0.1/32 dev kube-ipvs0 && ip addr add "
               "fd00:10:96::a/128 dev kube-ipvs0 && ipset create KUBE-CLUSTER-IP hash:ip,port && ipset create other "
               "hash:ip && exec \"$@\"")
    process = subprocess.Popen(["unshare", "-n", "sh", "-c", prepare, "sh", sys.executable, "-c", SCRIPT],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={"PYTHONPATH": python_path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    out, err = process.communicate()
    assert process.returncode == 0, err.decode("utf-8")
    section = json.loads(out.decode("utf-8"))
    assert section["dummy_interface"]["present"] is True and section["dummy_interface"]["addresses"] == 2
    assert section["dummy_interface"]["missing_addresses"] == 0
    assert section["ipsets"] == [{"name": "KUBE-CLUSTER-IP", "entries": 0, "size_limit": 65536}]
    assert section["leftover"] is True and "kube-ipvs0 and 1 ipsets" in section["leftover_because"]
