# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A preflight over ssh of a fleet with something to fix on each host, compared with a play that only pings the hosts.

Each host is its own tree, an image of a healthy node with faults, so a fix does not change this machine.
"""

import json
import shutil
import sys

from fleet import HOSTS, PING, PREFLIGHT, ROUNDS, Fleet, notes_of
from measure import BUILD, TOP, CannotRun, Outcome, take_turns, workplace
from sshd import serving

sys.path[:0] = [str(BUILD), str(TOP / "tests" / "fixtures")]

import node_tree
import whole_nodes

APPLIED = "preflight.yml"
APPLIED_LIMIT = 3
LISTED, SYSCTLS = "etc/modules-load.d/k8s.conf", "etc/sysctl.d/k8s.conf"
UNLISTED, UNSET = "xt_comment\n", "net.ipv4.ip_forward = 1\n"
FLUSH = {"etc/cron.d/firewall": "0 3 * * * root iptables -t nat -F\n"}


class Trees(Fleet):
    """The fleet of image trees with these faults; each fault is one finding with its own subject."""

    def __init__(self, folder, variables, hosts, faults):
        super().__init__(folder, dict(variables, node_assess_place="image", node_gate_mode="warn"), hosts)
        self.folder, self.faults = folder, faults
        self.tree = dict(whole_nodes.HEALTHY)
        if "modules" in faults:
            self.tree[LISTED] = self.tree[LISTED].replace(UNLISTED, "", 1)
        if "sysctls" in faults:
            self.tree[SYSCTLS] = self.tree[SYSCTLS].replace(UNSET, "")
        if "hooks" in faults:
            self.tree.update(FLUSH)
        self.hosts = {name: {"node_assess_root": str(self.root(name))} for name in self.names}
        self.write_inventory()

    def root(self, name):
        return self.folder / "trees" / name

    def damage(self):
        """Give each host its faults, also after a fix has removed them."""
        for root in map(self.root, self.names):
            shutil.rmtree(str(root), ignore_errors=True)
            node_tree.unpack(self.tree, root)

    def check(self):
        self.preflight("--extra-vars", "preflight_fix=guarded")
        self.expect("would fix")

    def apply(self):
        self.ansible.run("ansible-playbook", TOP / "playbooks" / "preflight.yml", "--inventory", self.inventory,
                         "--extra-vars", "preflight_fix=guarded")
        self.expect("fixed")

    def expect(self, outcome):
        """Raise CannotRun unless each fault on each host has this outcome in the last run."""
        for name in self.names:
            rows = json.loads((self.reports / "nodes" / (name + ".json")).read_text(encoding="utf-8"))["findings"]
            told = {row["check"]: row["outcome"] for row in rows if row["outcome"] or row["status"] == "fail"}
            if set(told.values()) != {outcome} or len(told) != len(self.faults):
                raise CannotRun("the %d faults of %s are to be %r: %s" % (len(self.faults), name, outcome, told))


class Benchmark:
    """One row: a fleet with these faults, checked and, where `applied`, fixed."""

    def __init__(self, name, faults, limit, applied):
        self.name, self.faults, self.limit, self.applied = name, faults, limit, applied

    def measure(self, smoke):
        with workplace() as folder, serving(folder) as variables:
            fleet = Trees(folder, variables, HOSTS[smoke], self.faults)
            contenders = {PREFLIGHT: fleet.check, PING: fleet.ping}
            try:
                # This also opens the connections of all contenders.
                fleet.damage()
                fleet.check()
                if self.applied:
                    contenders[APPLIED] = fleet.apply
                seconds = take_turns(contenders, ROUNDS[smoke], before=fleet.damage)
                notes = [] if smoke else notes_of(fleet, contenders, ROUNDS[smoke], fleet.damage)
            finally:
                fleet.ansible.close_connections()
        what = "%s over %d ssh hosts, image trees with %s to fix on each, against a play of one ping" % (
            PREFLIGHT, HOSTS[smoke],
            "one safe finding" if len(self.faults) == 1 else "findings of %d subjects" % len(self.faults))
        outcome = Outcome(self.name, what, PREFLIGHT, PING, seconds, self.limit, True, notes)
        if self.applied:
            ratio = outcome.median(APPLIED) / outcome.median(PING)
            notes.insert(0, "applied, it takes %.2f times as long as the ping (target at most %d: %s)" % (
                ratio, APPLIED_LIMIT, "met" if ratio <= APPLIED_LIMIT else "missed"))
        return outcome


BENCHMARKS = {
    "fleet_findings": Benchmark("fleet_findings", ("modules",), 2.2, applied=True),
    "fleet_guarded": Benchmark("fleet_guarded", ("modules", "sysctls", "hooks"), 3.5, applied=False),
}
