# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an audit of a big node's rules takes: compared with iptables-save alone, compared with a runbook, with more
rules, and while another process holds the xtables lock.

Everything runs in a separate network namespace with a separate /run, so the rules and the lock of this machine do not
change.
"""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys

from measure import NODE_PYTHON, TOP, Ansible, CannotRun, Outcome, need_packages, quiet, take_turns, workplace
from resolve import EMPTY, EMPTY_MODULE, payload

sys.path.insert(0, str(TOP / "tests" / "fixtures"))

import kube_cluster
import kube_nft
import kube_rules

AUDIT = "iptables_chain_audit"
AUDIT_MODULE = "kubenode.netfilter.iptables_chain_audit"
SAVE = "iptables-save and an empty module"
NFT = "nft list table and an empty module"
ENDPOINTS = 3
# Services with three endpoints have eleven rules each.
SERVICES = {False: 10000, True: 100}
MANY_SERVICES = {False: 45455, True: 400}
ROUNDS = {False: 7, True: 1}
FEW_ROUNDS = {False: 3, True: 1}
LIMITS = {"nft": 1.3, "legacy": 1.8}
MEMORY_LIMIT = 120
# Services in nftables mode for each full family, with two endpoints each.
NFTABLES_SERVICES = {False: 5000, True: 60}
NFTABLES_SECONDS = 2.5

# (question, command) from incident documents; the audit answers all questions at once. Some documents leave out -n, so
# iptables asks name servers for every address; here every `iptables -L` has -n.
DOCUMENTED = (
    ("which chains of Services are there", "{iptables} -t nat -L -n | grep -E 'KUBE-SERVICES|KUBE-SVC'"),
    ("is this Service programmed", "{iptables} -t nat -L KUBE-SERVICES -n | grep svc-00042"),
    ("where does it lead to", "{iptables} -t nat -L {chain} -n -v"),
    ("is the chain of all Services there", "{iptables} -t nat -L KUBE-SERVICES -n"),
    ("does PREROUTING lead to it", "{iptables} -t nat -L PREROUTING -n | grep KUBE-SERVICES"),
    ("does OUTPUT lead to it", "{iptables} -t nat -L OUTPUT -n | grep KUBE-SERVICES"),
    ("which node ports are there", "{iptables} -t nat -L KUBE-NODEPORTS -n"),
    ("is what leaves masqueraded", "{iptables} -t nat -L KUBE-POSTROUTING -n"),
    ("is kubelet's hint here", "{iptables} -t mangle -L KUBE-IPTABLES-HINT -n"),
    ("is kubelet's canary here", "{iptables} -t mangle -L KUBE-KUBELET-CANARY -n"),
    ("how many rules are kube-proxy's", "{iptables} -t nat -S | grep -c '^-A KUBE-'"),
    ("how many rules has nat", "{iptables} -t nat -S | wc -l"),
    ("how many rules has filter", "{iptables} -t filter -S | wc -l"),
    ("has a rule of nat lost its match", "{iptables} -t nat -S"),
    ("has a rule of filter lost its match", "{iptables} -t filter -S"),
    ("are chains there twice", "{save} | grep KUBE-"),
    ("are the rules of this Service there twice", "{save} | grep svc-00042 | wc -l"),
    ("how many rules are there", "{save} | wc -l"),
    ("how many of them name Kubernetes", "{save} | grep KUBE- | wc -l"),
    ("does this node route as another one", "{save} > {file}"),
)
# The same for questions for which the documents name no command.
COUNTERPARTS = (
    ("does POSTROUTING lead on", "{iptables} -t nat -L POSTROUTING -n | grep KUBE-POSTROUTING"),
    ("does INPUT", "{iptables} -t filter -L INPUT -n | grep KUBE-"),
    ("does FORWARD, and what is its policy", "{iptables} -t filter -L FORWARD -n"),
    ("does OUTPUT of filter", "{iptables} -t filter -L OUTPUT -n | grep KUBE-"),
    ("are rules there twice", "{save} | grep '^-A' | sort | uniq -d"),
    ("whose rules are they", "{save} | grep '^-A' | cut -c4-12 | sort | uniq -c"),
    ("who refuses packets in filter", "{iptables} -t filter -S | grep -E -e '-j (DROP|REJECT)'"),
    ("who does in nat", "{iptables} -t nat -S | grep -E -e '-j (DROP|KUBE-MARK-DROP)'"),
    ("which Services have no endpoint", "{iptables} -t filter -L KUBE-SERVICES -n | grep 'no endpoints'"),
    ("which chains of Services are empty", "{iptables} -t nat -L -n | grep -A 2 '^Chain KUBE-SVC-'"),
    ("are the chances fair", "{iptables} -t nat -S | grep -e --probability"),
    ("which endpoints are translated to", "{iptables} -t nat -S | grep -e '-j DNAT'"),
    ("which chains are there", "{iptables} -t nat -S | grep '^-N KUBE-' | sort"),
    ("which do rules lead to", "{iptables} -t nat -S | grep -o -e '-j KUBE-[A-Z0-9-]*' | sort -u"),
    ("which ports of the node do pods take", "{save} | grep -e CNI-HOSTPORT -e CNI-DN-"),
    ("are there rules in the other backend", "{other_save} | grep -c KUBE-"),
    ("and of IPv6", "{save6} | grep KUBE- | wc -l"),
)


def plain_cluster(services):
    """Services with one port and three endpoints each. The pod network of kube_cluster is too small for half a million
    rules."""
    def pod(number):
        return kube_cluster.Endpoint("10.%d.%d.%d" % (128 + (number >> 16), number >> 8 & 255, number & 255), 8080,
                                     False)
    return kube_cluster.cluster("ipv4", [
        kube_cluster.Service(namespace="load", name="svc-%05d" % index, port_name="http",
                             address="10.%d.%d.%d" % (96 + (index >> 16), index >> 8 & 255, index & 255),
                             endpoints=tuple(pod(index * ENDPOINTS + place) for place in range(ENDPOINTS)))
        for index in range(services)])


class Node:
    """A network namespace with rules in it; `run` runs a command inside."""

    def __init__(self, holder, folder):
        self.enter = ["nsenter", "--target", str(holder.pid), "--net", "--mount", "--"]
        self._folder = folder

    def run(self, *command):
        return quiet(self.enter + list(command))

    def program(self, backend):
        """A function that runs `iptables-save` of a backend and discards the output."""
        return lambda: self.run("sh", "-c", "iptables-%s-save > /dev/null" % backend)

    def restore(self, backend, services, form=str):
        """Program the rules of a node with so many IPv4 Services; return the number of rules. kube-proxy makes its
        chains in both families."""
        rules = 0
        for family, program, cluster in (("ipv4", "iptables", plain_cluster(services)),
                                         ("ipv6", "ip6tables", kube_cluster.cluster("ipv6", []))):
            text = form(kube_rules.restore_input((1, 30), "iptables", family, cluster).text())
            path = self._folder / "rules"
            path.write_text(text, encoding="ascii")
            self.run("sh", "-c", "%s-%s-restore < %s" % (program, backend, path))
            rules += sum(line.startswith("-") for line in text.splitlines())
        return rules


@contextlib.contextmanager
def namespace():
    """`(Node, folder)`; afterwards both are removed, with all rules."""
    if os.geteuid() != 0:
        raise CannotRun("network namespaces need root")
    need_packages("iptables", "nftables", "util-linux")
    with workplace() as folder:
        holder = subprocess.Popen(["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
                                   "mount -t tmpfs none /run && echo ready && exec sleep infinity"],
                                  stdout=subprocess.PIPE)
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
        # The first run of each module is not measured; it warms the caches.
        quiet([NODE_PYTHON, self.empty])

    def section(self, node):
        # The peak memory of a program (getrusage(2)) starts at the size of its parent process. This process has just
        # generated all the rules, so a shell starts the audit.
        output = node.run("sh", "-c", "%s %s; exit $?" % (NODE_PYTHON, self.audit))
        return json.loads(output)["ansible_facts"]["node_iptables_chains"]


def checked(node, modules, backend, rules):
    """The section of a first audit; CannotRun unless the audit read all rules and observed nothing."""
    section = modules.section(node)
    seen = sum(row["rules"] for row in section["rule_sets"] if row["backend"] == backend)
    if seen != rules or section["observed"] or section["unread"]:
        raise CannotRun("of %d rules %d were read; observed %s, unread %s"
                        % (rules, seen, section["observed"], section["unread"]))
    return section


def memory(section):
    own = section["footprint"]["own_peak_bytes"] / 1e6
    return "own memory at most %.0f MB (target at most %d: %s), that of a program it runs %.0f MB" % (
        own, MEMORY_LIMIT, "met" if own <= MEMORY_LIMIT else "missed", section["footprint"]["helpers_peak_bytes"] / 1e6)


class AgainstSave:
    """The module call, compared with its minimum: iptables-save and an empty module."""

    def __init__(self, name, backend, form=str):
        self.name, self.backend, self.form = name, backend, form

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore(self.backend, SERVICES[smoke], self.form)
            modules = Modules(folder)
            section = checked(node, modules, self.backend, rules)
            save = node.program(self.backend)

            def both():
                save()
                node.run(NODE_PYTHON, modules.empty)
            seconds = take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit), SAVE: both}, ROUNDS[smoke])
        what = ("audit of %d rules of the %s backend, against iptables-save of that backend and a module that does "
                "nothing" % (rules, self.backend))
        return Outcome(self.name, what, AUDIT, SAVE, seconds, LIMITS[self.backend], True, [memory(section)])


class NftablesMode:
    """The module call, compared with nft's listings of both tables of kube-proxy's nftables mode, one after the other,
    and an empty module.

    One Service has lost its rules, so the audit has something to report. The layout is the newest one that has a chain
    for each endpoint. A family that is not in `full` has a table without Services, as kube-proxy makes it in a
    single-stack cluster.
    """

    def __init__(self, name, full):
        self.name, self.full = name, full

    def measure(self, smoke):
        with namespace() as (node, folder):
            tables = [kube_nft.table(kube_cluster.plain_cluster(family, NFTABLES_SERVICES[smoke] if family in self.full
                                                                else 0, 2), "1.34") for family in ("ipv4", "ipv6")]
            lost = next(name for name in reversed(tables[0].chains) if name.startswith("service-"))
            path = folder / "tables"
            path.write_text("".join(table.text() for table in tables) + "flush chain ip kube-proxy %s\n" % lost,
                            encoding="ascii")
            node.run("nft", "-f", path)
            modules = Modules(folder)
            section = modules.section(node)
            if (section["observed"].get("empty_service_chain") != 1 or "unjudged_table" in section["observed"]
                    or section["unread"]):
                raise CannotRun("not told as it is: observed %s, unread %s" % (section["observed"], section["unread"]))

            def both():
                for table in tables:
                    node.run("sh", "-c", "nft list table %s kube-proxy > /dev/null" % table.family)
                node.run(NODE_PYTHON, modules.empty)
            seconds = take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit), NFT: both}, ROUNDS[smoke])
        most = max(seconds[AUDIT])
        note = "the longest audit took %.2f s (target at most %g: %s)" % (most, NFTABLES_SECONDS, "met"
                                                                          if most <= NFTABLES_SECONDS else "missed")
        what = ("audit of %d chains of nftables mode in two tables, one Service damaged, against nft list table of "
                "both and a module that does nothing" % sum(len(table.chains) for table in tables))
        return Outcome(self.name, what, AUDIT, NFT, seconds, 1.5, True, [note, memory(section)])


class Growth:
    """The time per rule with many and with very many rules; a note has the growth of iptables-save alone."""

    def __init__(self, backend):
        self.backend = backend

    def measure(self, smoke):
        few, many = [self._sizes(services[smoke], FEW_ROUNDS[smoke]) for services in (SERVICES, MANY_SERVICES)]
        names = ["100,000 of %d rules" % size.rules for size in (many, few)]
        seconds = {name: [second * 100000 / size.rules for second in size.seconds[AUDIT]]
                   for name, size in zip(names, (many, few))}
        notes = ["%d rules: %s" % (many.rules, memory(many.section)),
                 "iptables-save alone takes %.2f times as long for each rule"
                 % (many.median("save") / few.median("save") * few.rules / many.rules),
                 "of %d rules the audit takes %.2f times as long as iptables-save and an empty module" % (
                     many.rules, many.median(AUDIT) / (many.median("save") + many.median("empty")))]
        what = "time for each 100,000 rules of the %s backend where there are many more" % self.backend
        return Outcome("rules_growth_" + self.backend, what, names[0], names[1], seconds, 1.2, True, notes)

    def _sizes(self, services, rounds):
        """The times of a node with so many Services."""
        with namespace() as (node, folder):
            rules = node.restore(self.backend, services)
            modules = Modules(folder)
            section = checked(node, modules, self.backend, rules)
            return Size(rules, section, take_turns({
                AUDIT: lambda: node.run(NODE_PYTHON, modules.audit), "save": node.program(self.backend),
                "empty": lambda: node.run(NODE_PYTHON, modules.empty)}, rounds))


@dataclasses.dataclass
class Size:
    """Times of one node: its number of `rules`, the `section` of its audit, `seconds` from take_turns()."""

    rules: int
    section: dict
    seconds: dict

    def median(self, contender):
        return statistics.median(self.seconds[contender])


class AgainstRunbook:
    """The module call, compared with the commands that people type for the same questions."""

    def __init__(self, backend):
        self.backend = backend

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore(self.backend, SERVICES[smoke])
            modules = Modules(folder)
            checked(node, modules, self.backend, rules)
            chain = "KUBE-SVC-" + kube_cluster.chain_hash("load/svc-00042:http", "tcp")
            node.run("iptables-" + self.backend, "-t", "nat", "-L", chain, "-n")
            names = {"chain": chain, "file": folder / "saved", "iptables": "iptables-" + self.backend,
                     "save": "iptables-%s-save" % self.backend, "save6": "ip6tables-%s-save" % self.backend,
                     "other_save": "iptables-%s-save" % ("legacy" if self.backend == "nft" else "nft")}

            def type_all(rows):
                for _question, command in rows:
                    node.run("sh", "-c", "{ %s; } > /dev/null || true" % command.format(**names))
            seconds = take_turns({AUDIT: lambda: node.run(NODE_PYTHON, modules.audit),
                                  "commands of the documents": lambda: type_all(DOCUMENTED),
                                  "their counterparts": lambda: type_all(COUNTERPARTS)}, FEW_ROUNDS[smoke])
        return self._outcome(rules, seconds)

    def _outcome(self, rules, seconds):
        documented, counterparts = seconds.pop("commands of the documents"), seconds.pop("their counterparts")
        seconds["the runbook"] = [sum(both) for both in zip(documented, counterparts)]
        note = "the %d commands of the documents alone take %.2f times as long as the audit" % (
            len(DOCUMENTED), statistics.median(documented) / statistics.median(seconds[AUDIT]))
        what = ("audit of %d rules of the %s backend, against %d commands of incident documents and %d for what they "
                "tell to look for" % (rules, self.backend, len(DOCUMENTED), len(COUNTERPARTS)))
        return Outcome("rules_runbook_" + self.backend, what, AUDIT, "the runbook", seconds, 8, False, [note])


class UnderLock:
    """The module call while another process holds the xtables lock, compared with the call while the lock is free."""

    def measure(self, smoke):
        with namespace() as (node, folder):
            rules = node.restore("legacy", SERVICES[smoke])
            modules = Modules(folder)
            checked(node, modules, "legacy", rules)

            def locked():
                # flock(1) holds the lock until the audit ends. An audit that waited for the lock would never end.
                node.run("timeout", "60", "flock", "--exclusive", "/run/xtables.lock", NODE_PYTHON, modules.audit)
            seconds = take_turns({"the lock is held": locked,
                                  "the lock is free": lambda: node.run(NODE_PYTHON, modules.audit)}, ROUNDS[smoke])
        what = "audit of %d rules of the legacy backend while another process holds the xtables lock" % rules
        return Outcome("rules_lock", what, "the lock is held", "the lock is free", seconds, 1.1, True, [])


BENCHMARKS = {
    "rules_nft": AgainstSave("rules_nft", "nft"), "rules_legacy": AgainstSave("rules_legacy", "legacy"),
    "rules_nft_comments": AgainstSave("rules_nft_comments", "nft", kube_rules.with_late_comments),
    "rules_nftables": NftablesMode("rules_nftables", ("ipv4",)),
    "rules_nftables_dual": NftablesMode("rules_nftables_dual", ("ipv4", "ipv6")), "rules_growth_nft": Growth("nft"),
    "rules_growth_legacy": Growth("legacy"), "rules_runbook_nft": AgainstRunbook("nft"),
    "rules_runbook_legacy": AgainstRunbook("legacy"), "rules_lock": UnderLock(),
}
