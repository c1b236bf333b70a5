# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls that sysctl.d sets at boot: random trees against the real systemd-sysctl, and limits."""

import random
import shutil

import pytest
import kube_audit
import node_tree
import real_sysctl
from node_processes import needs_mounts
from ansible_collections.kubenode.netfilter.plugins.module_utils._host.host import Host
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack import sysctl_boot
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.conntrack.sysctl_boot import SysctlBoot

MAX = "net/netfilter/nf_conntrack_max"
ROUNDS = 60
KEYS = (MAX, "net/netfilter/nf_conntrack_count", "net/netfilter/nf_conntrack_buckets",
        "net/bridge/bridge-nf-call-iptables", "net/ipv4/ip_forward", "net/ipv4/conf/all/rp_filter",
        "net/ipv4/conf/default/rp_filter", "net/ipv4/conf/eth0.100/rp_filter", "net/ipv6/conf/all/forwarding")
NAMES = ("10-a.conf", "50-b.conf", "99-z.conf", "99-Z.conf", "zz.conf", ".hidden.conf", "b.conf.bak", "99-sysctl.conf")
# How people write a key.
SPELT = (lambda key: key, lambda key: key.replace(".", "\0").replace("/", ".").replace("\0", "/"),
         lambda key: "/" + key, lambda key: key.replace("/", "//", 1))
PATTERNS = ("net.ipv4.conf.*.rp_filter", "net/ipv4/conf/*/rp_filter", "net.netfilter.nf_conntrack_*",
            "net.netfilter.nf_conntrack_[mb]*", "net.*.ip_forward", "net.ipv4.conf.???.rp_filter", "net/*/conf/all/*",
            "net.netfilter.nf_conntrack_[!m]*", "net.netfilter.nf_conntrack_[^m]*")
LOOSE = ("# net.ipv4.ip_forward = 7", "; a", "", "   ", "net.ipv4.ip_forward", "=", "= 5", "net.nothing.there = 1")


def random_tree(source):
    manifest = dict.fromkeys(real_sysctl.DIRECTORIES, node_tree.DIRECTORY)
    for _file in range(source.randint(1, 7)):
        path = "%s/%s" % (source.choice(real_sysctl.DIRECTORIES), source.choice(NAMES))
        kind = source.random()
        if kind < 0.1:
            manifest[path] = node_tree.MASKED
        elif kind < 0.15:
            manifest[path] = ""
        else:
            manifest[path] = "".join(random_line(source) + source.choice(("\n", "\n", "\r\n"))
                                     for _line in range(source.randint(0, 8)))
    return manifest


def random_line(source):
    kind, value = source.random(), source.choice(("0", "1", "2", " 4096", "a b ", ""))
    if kind < 0.15:
        return source.choice(LOOSE)
    # A file that is written to with nothing is emptied, a sysctl stays as an earlier pattern left it.
    key = source.choice(PATTERNS) if kind < 0.4 and value else source.choice(SPELT)(source.choice(KEYS))
    dash = source.choice(("", "", "", "-", "- "))
    blanks = [source.choice(("", " ")) for _place in range(3)]
    return blanks[0] + ("-" + key if source.random() < 0.1 else dash + key + blanks[1] + "=" + blanks[2] + value)


@needs_mounts
def test_the_real_program_sets_the_same(tmp_path):
    seed, compared = kube_audit.seed(), 0
    for number in range(ROUNDS):
        source = random.Random("%s %s" % (seed, number))
        tree = node_tree.unpack(random_tree(source), tmp_path / "tree")
        theirs, said = real_sysctl.applied(tree, KEYS)
        found = SysctlBoot(Host(tree), "systemd")
        ours = {key: found.assignment(key) and found.assignment(key).value.strip() for key in KEYS}
        assert ours == theirs, ("KUBENODE_SEED=%s, round %s" % (seed, number), said)
        compared += sum(1 for value in theirs.values() if value)
        shutil.rmtree(tree)
    assert compared > ROUNDS


@pytest.mark.parametrize("limit, unread",
                         [("FILES_LIMIT", "/etc/sysctl.d/3.conf"), ("CHARACTERS_LIMIT", "/etc/sysctl.d/2.conf")])
def test_what_lies_behind_a_limit_is_not_known(limit, unread, tmp_path, monkeypatch):
    monkeypatch.setattr(sysctl_boot, limit, {"FILES_LIMIT": 3, "CHARACTERS_LIMIT": 60}[limit])
    files = {"etc/sysctl.d/%d.conf" % each: "net.netfilter.nf_conntrack_max=%d\n" % each for each in range(6)}
    host = Host(node_tree.unpack(files, tmp_path))
    with host.noting() as notes:
        assert SysctlBoot(host, "systemd").status == "unparsed"
    assert list(notes) == [unread] and notes[unread].startswith("not read")
