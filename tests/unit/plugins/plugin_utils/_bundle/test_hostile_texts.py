# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that no program prints and that a person can put into a bundle: each is judged, none ends the run, and none
takes more time than its length.

Python converts no number of more than 4300 digits, and what repeats the beginning of a form is searched again from each
of them.
"""

import json

import pytest

import bundles

LONG = "9" * 5000
ADDRESSES = "2: eth0: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n    inet 10.0.0.11/24 scope global eth0\n"
TEXTS = {
    "tcp flags of a listing": "Chain FORWARD (policy DROP 1 packets, 1 bytes)\n pkts bytes target     prot opt in     "
    "out     source               destination\n    1     1 ACCEPT     tcp  --  *      *       0.0.0.0/0            "
    "0.0.0.0/0            tcp flags:0xZZ/0x17\n",
    "counter of a listing": "Chain FORWARD (policy DROP %s packets, 1 bytes)\ntarget     prot opt source               "
    "destination\n" % LONG,
    "ranges in configz": json.dumps({"kubeproxy.config.k8s.io": {"mode": "iptables", "detectLocal": {
        "clusterCIDRs": [1]}}}),
    "one range in configz": json.dumps({"kubeproxy.config.k8s.io": {"mode": "iptables", "detectLocal": {
        "clusterCIDRs": 5}}}),
    "address in a set": {
        "config.conf": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\n",
        "ip-a.txt": ADDRESSES + "7: kube-ipvs0: <BROADCAST,NOARP> mtu 1500 qdisc noop state DOWN\n"
        "    inet 10.96.0.1/32 scope global kube-ipvs0\n",
        "ipset.txt": "create KUBE-CLUSTER-IP hash:ip,port family inet\nadd KUBE-CLUSTER-IP a.b,tcp:443\n"
        "add KUBE-CLUSTER-IP 10.96.0.1,tcp:%s\n" % LONG,
        "ipvsadm.txt": "Prot LocalAddress:Port Scheduler Flags\n  -> RemoteAddress:Port           Forward Weight "
        "ActiveConn InActConn\nTCP  10.96.0.1:443 rr\n"},
    "entries of a set": "Name: KUBE-CLUSTER-IP\nType: hash:ip,port\nNumber of entries: %s\nMembers:\n" % LONG,
    "files below a link": {"a.txt": "/proc/sys/net:1\n/proc/sys/net/ipv4/ip_forward:1\n",
                           "b.txt": "net.ipv4.ip_forward = 1\nnet.core.somaxconn = 5\n"},
    "lines below a tunnel": "interface: wg0\n" + "    a: b\n" * 5000 + "fwmark\n",
    "calls of kubectl": "NAME ENDPOINTS AGE\n" + "k get " * 20000 + "\n",
    "options of ip": "root@n:~# ip -ip " + "-ip " * 50000 + "\n",
    "many sets": "".join("create s%d hash:ip\nadd s%d 10.0.0.1\n" % (number, number) for number in range(8000)),
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_hostile_text_is_judged(tmp_path, name):
    files = TEXTS[name] if isinstance(TEXTS[name], dict) else {"worker.txt": TEXTS[name], "sysctl.conf": "vm.a = 1\n"}
    found, _evidence = bundles.judged(bundles.folder(tmp_path / "bundle", files))
    assert bundles.told(found, "unknown")
