# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sysctl.d sets at boot: chosen trees, and random ones against the real systemd-sysctl."""

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


def boot(tmp_path, manifest, loader="systemd"):
    return SysctlBoot(Host(node_tree.unpack(manifest, tmp_path)), loader)


def assigned(found, key=MAX):
    answer = found.assignment(key)
    return answer and (answer.value, answer.where)


@pytest.mark.parametrize(
    "manifest, answer", [
        ({}, None),
        ({"etc/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n"}, ("1", "/etc/sysctl.d/a.conf:1")),
        # By base name, whatever the directory; the last one wins.
        ({"usr/lib/sysctl.d/99.conf": "#\nnet.netfilter.nf_conntrack_max=2\n",
          "etc/sysctl.d/50.conf": "net.netfilter.nf_conntrack_max=1\n"}, ("2", "/usr/lib/sysctl.d/99.conf:2")),
        # The higher directory hides a file of the same name, and a link to /dev/null masks it.
        ({"usr/lib/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=2\n", "etc/sysctl.d/a.conf": "\n"}, None),
        ({"usr/lib/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=2\n", "etc/sysctl.d/a.conf": node_tree.MASKED},
         None),
        ({"lib/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=2\n",
          "run/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=3\n"}, ("3", "/run/sysctl.d/a.conf:1")),
        # Debian's link to the old file.
        ({"etc/sysctl.conf": "net.netfilter.nf_conntrack_max=4\n",
          "etc/sysctl.d/99-sysctl.conf": node_tree.link("../sysctl.conf")}, ("4", "/etc/sysctl.d/99-sysctl.conf:1")),
        ({"etc/sysctl.conf": "net.netfilter.nf_conntrack_max=4\n"}, None),
        # A later line that takes the key out leaves it unset; an earlier one is overwritten.
        ({"etc/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n-net.netfilter.nf_conntrack_max\n"}, None),
        ({"etc/sysctl.d/a.conf": "-net.netfilter.nf_conntrack_max\nnet.netfilter.nf_conntrack_max=1\n"},
         ("1", "/etc/sysctl.d/a.conf:2")),
        # Patterns count only where no line names the key.
        ({"etc/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n",
          "etc/sysctl.d/b.conf": "net.netfilter.nf_conntrack_*=2\n"}, ("1", "/etc/sysctl.d/a.conf:1")),
        ({"etc/sysctl.d/a.conf": "-net.netfilter.nf_conntrack_max\nnet.netfilter.nf_conntrack_*=2\n"}, None),
        ({"etc/sysctl.d/a.conf": "net.netfilter.*=2\nnet.netfilter.nf_conntrack_m*=3\n"},
         ("3", "/etc/sysctl.d/a.conf:2")),
    ])
def test_who_wins(manifest, answer, tmp_path):
    assert assigned(boot(tmp_path, manifest)) == answer


@pytest.mark.parametrize("loader, answer", [("systemd", "1"), ("openrc", "4"), ("sysvinit", "4"), ("unknown", "4")])
def test_other_inits_read_the_old_file_last(loader, answer, tmp_path):
    manifest = {"etc/sysctl.conf": "net.netfilter.nf_conntrack_max=4\n",
                "etc/sysctl.d/zz.conf": "net.netfilter.nf_conntrack_max=1\n"}
    assert boot(tmp_path, manifest, loader).assignment(MAX).value == answer


def test_a_masked_service(tmp_path):
    masked = {"etc/systemd/system/systemd-sysctl.service": node_tree.MASKED,
              "etc/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n"}
    assert boot(tmp_path / "a", masked).masked and not boot(tmp_path / "b", masked,
                                                            "openrc").masked and not boot(tmp_path / "c", {}).masked


@pytest.mark.parametrize("content, status", [(node_tree.FIFO, "unparsed"), (node_tree.sparse(5 << 20), "unparsed")])
def test_what_cannot_be_read_is_told(content, status, tmp_path):
    found = boot(tmp_path,
                 {"etc/sysctl.d/b.conf": content, "etc/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n"})
    assert found.status == status and assigned(found)[0] == "1"


def test_a_link_that_leads_nowhere_hides_what_it_hides(tmp_path):
    found = boot(tmp_path, {"etc/sysctl.d/a.conf": node_tree.link("/nowhere"),
                            "usr/lib/sysctl.d/a.conf": "net.netfilter.nf_conntrack_max=1\n"})
    assert (found.status, found.assignment(MAX)) == ("ok", None)


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
