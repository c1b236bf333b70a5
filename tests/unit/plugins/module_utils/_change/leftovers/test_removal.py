# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removing chains from a table and restoring them: the input for iptables-restore, and what the real iptables-restore
does with it."""

import random

from case_rows import cases
from backend_node import KUBERNETES, on_a_node
from kube_audit import seed

from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers.raw_dump import read_dump
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers.removal import Removal

NAT = """\
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-MINE - [0:0]
[1:2] -A PREROUTING -s 10.0.0.0/8 -j ACCEPT
[3:4] -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
[5:6] -A KUBE-SERVICES -j KUBE-SVC-MINE
COMMIT
"""


def removal(text, table="nat"):
    return Removal(table, read_dump(text)[table])


def test_one_transaction_that_names_nothing_else():
    assert removal(NAT).text() == (
        '*nat\n-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\n:KUBE-SERVICES - '
        '[0:0]\n-X KUBE-SERVICES\nCOMMIT\n')


def test_all_of_it_comes_back_at_its_place():
    gone = read_dump("*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SVC-MINE - [0:0]\n[1:2] -A PREROUTING -s 10.0.0.0/8 -j "
                     "ACCEPT\nCOMMIT\n")["nat"]
    back = ('*nat\n:KUBE-SERVICES - [0:0]\n[5:6] -A KUBE-SERVICES -j KUBE-SVC-MINE\n'
            '[3:4] -I PREROUTING 2 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\nCOMMIT\n')
    assert removal(NAT).back(gone) == back
    assert removal(NAT).back(None) == back.replace("-I PREROUTING 2", "-I PREROUTING 1")
    assert removal(NAT).back(read_dump(NAT)["nat"]) is None


@cases
def test_whose_a_jump_is(rule, foreign):
    found = removal(NAT.replace("COMMIT", "[0:0] %s\nCOMMIT" % rule))
    assert (found.foreign, len(found.jumps)) == (([rule], 1) if foreign else ([], 2))


def test_a_table_without_such_chains_is_nothing_to_do():
    assert not removal("*raw\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n[0:0] -A PREROUTING -j KUBE-SERVICES\n"
                       "COMMIT\n", "raw")


FOREIGN = ("-s 10.%d.0.0/16 -j ACCEPT", "-p tcp -m tcp --dport %d -j RETURN",
           '-m comment --comment "%d \\"q\\" -j KUBE-SERVICES" -j RETURN',
           "-m comment --comment \"%d '; $(x) \\\\ & KUBE\" -j RETURN", "-d 192.0.2.%d/32 -j RETURN",
           "-m conntrack --ctstate NEW -m mark --mark 0x%d -j RETURN")
ROUNDS = """\
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers.raw_dump import RawTable, read_dump
from ansible_collections.kubenode.netfilter.plugins.module_utils._change.leftovers.removal import Removal
RawTable.__eq__ = lambda self, other: vars(self) == vars(other)
def restore(backend, text, *options):
    subprocess.run(["iptables-%s-restore" % backend] + list(options), input=text.encode(), check=True)
told["wrong"] = []
for foreign, text in TEXTS:
    for backend in ("nft", "legacy"):
        restore(backend, foreign, "--counters")
        alone = saved(backend)
        restore(backend, text, "--counters")
        before = saved(backend)
        removals = [Removal(name, table) for name, table in sorted(read_dump(before).items())]
        for removal in removals:
            restore(backend, removal.text(), "--noflush")
        gone = saved(backend)
        for removal in reversed(removals):
            restore(backend, removal.back(read_dump(gone)[removal.table]), "--noflush", "--counters")
        if read_dump(gone) != read_dump(alone) or saved(backend) != before:
            told["wrong"].append([backend, before, alone, gone, saved(backend)])
"""
CHAINS = {"*nat": ["PREROUTING", "OUTPUT", "OTHERS"], "*filter": ["INPUT", "FORWARD", "OTHERS"],
          "*mangle": ["PREROUTING"]}


def mixture(source):
    """(rules of others, the same rules mixed with Kubernetes' rules), with counters that are not zero."""
    foreign, text = [], []
    for line in KUBERNETES.splitlines():
        others = []
        if line.startswith("*"):
            chains, others = CHAINS[line], [line, ":OTHERS - [0:0]"]
        elif line == "COMMIT" or line.startswith("-A"):
            others = ["[%d:%d] -A %s %s" % (source.randrange(9), source.randrange(999), source.choice(chains),
                                            _rule(source))
                      for _each in range(source.randrange(3))] + [line] * (line == "COMMIT")
        foreign += others
        text += others
        if line.startswith("-A"):
            line = "[%d:%d] %s" % (source.randrange(10 ** 6), source.randrange(10 ** 9), line)
        text += [] if line in others else [line]
    return "\n".join(foreign) + "\n", "\n".join(text) + "\n"


def _rule(source):
    return source.choice(FOREIGN) % source.randrange(1, 99)


def test_the_real_iptables_takes_and_gives_back_any_mixture(tmp_path):
    source = random.Random(seed())
    told = on_a_node(tmp_path, ROUNDS, TEXTS=[mixture(source) for _each in range(12)])
    assert told["wrong"] == []
