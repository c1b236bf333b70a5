# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an audit of a big node's rules takes: against the save alone, against a runbook, with growing numbers, under a held lock.

Everything happens in a network namespace of its own with a /run of its own, so no rule and no lock of this machine is touched.
"""

import contextlib
import json
import os
import subprocess
import sys

from measure import NODE_PYTHON, TOP, Ansible, CannotRun, Outcome, need_packages, quiet, take_turns, workplace
from resolve import EMPTY, EMPTY_MODULE, payload

sys.path.insert(0, str(TOP / "tests" / "fixtures"))

import kube_cluster
import kube_rules

AUDIT = "iptables_chain_audit"
AUDIT_MODULE = "kubenode.netfilter.iptables_chain_audit"
SAVE = "iptables-save and an empty module"
ENDPOINTS = 3
# Services with three endpoints have eleven rules each.
SERVICES = {False: 10000, True: 300}
MANY_SERVICES = {False: 45455, True: 1200}
ROUNDS = {False: 7, True: 2}
FEW_ROUNDS = {False: 3, True: 1}
LIMITS = {"nft": 1.3, "legacy": 1.8}
MEMORY_LIMIT = 120

# What the incident documents have an operator type, one after the other, for what the audit tells at once.
RUNBOOK = """\
iptables -t nat -L -n | grep -E 'KUBE-SERVICES|KUBE-SVC'
iptables -t nat -L KUBE-SERVICES -n -v
iptables -t nat -L KUBE-SERVICES -n | grep svc-00042
iptables -t nat -L {chain} -n -v
iptables -t nat -L PREROUTING -n | grep KUBE-SERVICES
iptables -t nat -L OUTPUT -n | grep KUBE-SERVICES
iptables -t nat -L KUBE-NODEPORTS -n
iptables -t nat -L KUBE-POSTROUTING -n
iptables -t nat -S | grep -c '^-A KUBE-'
iptables -t nat -S | wc -l
iptables -t nat -S | grep DROP
iptables -t filter -S | wc -l
iptables -t filter -S | grep DROP
iptables -t mangle -L KUBE-IPTABLES-HINT -n
iptables -t mangle -L KUBE-KUBELET-CANARY -n
iptables-save | grep KUBE-
iptables-save | grep KUBE- | wc -l
iptables-save | grep svc-00042 | wc -l
iptables-save | wc -l
ip6tables-save | wc -l
"""


def plain_cluster(services):
    """Services of one port with three endpoints each; kube_cluster's own pod network is too small for half a million rules."""
    def pod(number):
        return kube_cluster.Endpoint("10.%d.%d.%d" % (128 + (number >> 16), number >> 8 & 255, number & 255), 8080, False)
    return kube_cluster.cluster("ipv4", [
        kube_cluster.Service(namespace="load", name="svc-%05d" % index, port_name="http",
                             address="10.%d.%d.%d" % (96 + (index >> 16), index >> 8 & 255, index & 255),
                             endpoints=tuple(pod(index * ENDPOINTS + place) for place in range(ENDPOINTS)))
        for index in range(services)])


class Node:
    """A network namespace with rules in it; C(run) runs a command inside."""

    def __init__(self, holder, folder):
        self._enter = ["nsenter", "--target", str(holder.pid), "--net", "--mount", "--"]
        self._folder = folder

    def run(self, *command):
        return quiet(self._enter + list(command))

    def program(self, backend):
        """C(iptables-save) of a backend, as a shell command that prints to nowhere."""
        return lambda: self.run("sh", "-c", "iptables-%s-save > /dev/null" % backend)

    def restore(self, backend, services):
        """Program the rules of a node with so many Services; returns how many there are in it."""
        text = kube_rules.restore_input((1, 30), "iptables", "ipv4", plain_cluster(services)).text()
        path = self._folder / "rules"
        path.write_text(text, encoding="ascii")
        self.run("sh", "-c", "iptables-%s-restore < %s" % (backend, path))
        return sum(line.startswith("-") for line in text.splitlines())


@contextlib.contextmanager
def namespace():
    """C((Node, folder)): gone with all its rules afterwards."""
    if os.geteuid() != 0:
        raise CannotRun("network namespaces need root")
    need_packages("iptables", "nftables", "util-linux")
    with workplace() as folder:
        holder = subprocess.Popen(["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
                                   "mount -t tmpfs none /run && echo ready && exec sleep infinity"], stdout=subprocess.PIPE)
        try:
            if holder.stdout.readline() != b"ready\n":
                raise CannotRun("no namespace with a /run of its own can be had here")
            yield Node(holder, folder), folder
        finally:
            holder.kill()
            holder.wait()


class Modules:
    """The files that Ansible would send to the node: the audit and a module that does nothing."""

    def __init__(self, folder):
        module = folder / "ansible_collections/kubenode_bench/empty/plugins/modules/nothing.py"
        module.parent.mkdir(parents=True)
        module.write_text(EMPTY, encoding="utf-8")
        ansible = Ansible(folder, collections=[folder])
        self.audit = payload(ansible, AUDIT_MODULE, {"place": "live"})
        self.empty = payload(ansible, EMPTY_MODULE, {})
        # The first run of each writes nothing down, but warms the caches.
        quiet([NODE_PYTHON, self.empty])

    def section(self, node):
        return json.loads(node.run(NODE_PYTHON, self.audit))["ansible_facts"]["node_iptables_chains"]


def checked(node, modules, backend, rules):
    """The section of a first audit, if it has read what is there."""
    section = modules.section(node)
    seen = sum(row["rules"] for row in section["rule_sets"] if row["backend"] == backend)
    if seen != rules or section["observed"] or section["unread"]:
        raise CannotRun("of %d rules %d were read; observed %s, unread %s" % (rules, seen, section["observed"], section["unread"]))
    return section


def memory(section):
    own = section["footprint"]["own_peak_bytes"] / 1e6
    return "own memory at most %.0f MB (target at most %d: %s), that of a program it runs %.0f MB" % (
        own, MEMORY_LIMIT, "met" if own <= MEMORY_LIMIT else "missed", section["footprint"]["helpers_peak_bytes"] / 1e6)


class AgainstSave:
    """The module call against what nobody can do without, the save itself, and an empty module."""

    def __init__(self, backend):
        self.backend = backend

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore(self.backend, SERVICES[smoke])
            modules = Modules(folder)
            section = checked(node, modules, self.backend, rules)
            save = node.program(self.backend)

            def both():
                save()
                node.run(NODE_PYTHON, modules.empty)
            seconds = take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit), SAVE: both}, ROUNDS[smoke])
        what = "audit of %d rules of the %s backend, against iptables-save of that backend and a module that does nothing" % (rules, self.backend)
        return Outcome("rules_" + self.backend, what, AUDIT, SAVE, seconds, LIMITS[self.backend], True, [memory(section)])


class Growth:
    """The time for each rule, of many and of very many."""

    def measure(self, smoke):
        many, few = [self._audits(services[smoke], FEW_ROUNDS[smoke]) for services in (MANY_SERVICES, SERVICES)]
        names = ["100,000 of %d rules" % rules for rules, _seconds, _section in (many, few)]
        seconds = {name: [second * 100000 / rules for second in taken] for name, (rules, taken, _section) in zip(names, (many, few))}
        what = "time for each 100,000 rules of the nft backend where there are many more"
        return Outcome("rules_growth", what, names[0], names[1], seconds, 1.2, True, ["%d rules: %s" % (many[0], memory(many[2]))])

    def _audits(self, services, rounds):
        """(number of rules, [seconds], section) of a node with so many Services."""
        with namespace() as (node, folder):
            rules = node.restore("nft", services)
            modules = Modules(folder)
            section = checked(node, modules, "nft", rules)
            return rules, take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit)}, rounds)[AUDIT], section


class AgainstRunbook:
    """The module call against the commands that people type for the same questions."""

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore("nft", SERVICES[smoke])
            modules = Modules(folder)
            checked(node, modules, "nft", rules)
            chain = "KUBE-SVC-" + kube_cluster.chain_hash("load/svc-00042:http", "tcp")
            commands = RUNBOOK.format(chain=chain).splitlines()
            if not node.run("sh", "-c", "iptables -t nat -L %s -n" % chain):
                raise CannotRun("iptables on this machine is not of the nft backend")

            def runbook():
                for command in commands:
                    node.run("sh", "-c", "{ %s; } > /dev/null || true" % command)
            seconds = take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit), "the runbook": runbook}, FEW_ROUNDS[smoke])
        what = "audit of %d rules, against %d commands of incident documents one after the other" % (rules, len(commands))
        return Outcome("rules_runbook", what, AUDIT, "the runbook", seconds, 8, False, [])


class UnderLock:
    """The module call while somebody holds the xtables lock, against the same without."""

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore("legacy", SERVICES[smoke])
            modules = Modules(folder)
            checked(node, modules, "legacy", rules)

            def locked():
                # flock(1) holds it for as long as the audit takes; were the audit to take it too, neither would end.
                node.run("timeout", "60", "flock", "--exclusive", "/run/xtables.lock", NODE_PYTHON, modules.audit)
            seconds = take_turns({"the lock is held": locked, "the lock is free": lambda: node.run(NODE_PYTHON, modules.audit)}, ROUNDS[smoke])
        what = "audit of %d rules of the legacy backend while another process holds the xtables lock" % rules
        return Outcome("rules_lock", what, "the lock is held", "the lock is free", seconds, 1.1, True, [])


BENCHMARKS = {"rules_nft": AgainstSave("nft"), "rules_legacy": AgainstSave("legacy"), "rules_growth": Growth(),
              "rules_runbook": AgainstRunbook(), "rules_lock": UnderLock()}
