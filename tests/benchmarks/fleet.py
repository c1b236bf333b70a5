# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole audit of a healthy fleet over ssh, compared with a play that only pings the hosts."""

import json
import statistics
import sys

from measure import NODE_PYTHON, TOP, Ansible, CannotRun, Outcome, busy_core, need_packages, take_turns, workplace
from sshd import forwarding, serving

import pythons

HOSTS = {False: 20, True: 2}
ROUNDS = {False: 5, True: 1}
# With all sections on.
LIMIT = 1.4
# The oldest Python that every ansible-core from 2.19 on drives on a node.
OLDEST_NODE = (3, 9)
PREFLIGHT = "preflight.yml --check"
PING = "one ping"
PING_PLAY = [{"name": "Ping", "hosts": "all", "gather_facts": False,
              "tasks": [{"name": "Ping", "ansible.builtin.ping": {}}]}]


class Fleet:
    """Names of this machine behind one ssh server, and the two plays over all of them; `prefix` as in Ansible."""

    def __init__(self, folder, variables, hosts, prefix=()):
        self.ansible = Ansible(folder, forks=hosts, prefix=prefix)
        self.reports = folder / "reports"
        self.inventory = folder / "inventory.json"
        self.ping_play = folder / "ping.yml"
        self.ping_play.write_text(json.dumps(PING_PLAY), encoding="utf-8")
        self.names = ["bench%02d" % number for number in range(1, hosts + 1)]
        self.hosts = {name: {} for name in self.names}
        self.variables = dict(variables, node_policy_proxy_mode="iptables", node_report_folder=str(self.reports))

    def accept(self, checks):
        """Make the hosts healthy by policy: waive the checks that fail on this machine."""
        waivers = [{"check": check, "reason": "accepted for a benchmark", "owner": "benchmarks",
                    "expires": "2099-12-31"} for check in sorted(checks)]
        self.variables["node_policy_waivers"] = waivers
        self.write_inventory()

    def write_inventory(self):
        content = {"all": {"hosts": self.hosts, "vars": self.variables}}
        self.inventory.write_text(json.dumps(content), encoding="utf-8")

    def separate_connections(self):
        """Give each host its own ssh connection.

        Names of one address share one connection, and sshd serves ten sessions on a connection (MaxSessions). Commands
        above that limit open a new connection, and a ping without pipelining sends several commands.
        """
        self.ansible.close_connections()
        for name in self.names:
            self.hosts[name]["ansible_control_path"] = str(self.ansible.sockets / name)
        self.write_inventory()

    def preflight(self, *arguments):
        self.ansible.run("ansible-playbook", TOP / "playbooks" / "preflight.yml", "--check", "--inventory",
                         self.inventory, *arguments)

    def ping(self):
        self.ansible.run("ansible-playbook", self.ping_play, "--inventory", self.inventory)

    def failing(self):
        """The checks that failed in the last run on any host."""
        rows = []
        for name in self.names:
            rows += json.loads((self.reports / "nodes" / (name + ".json")).read_text(encoding="utf-8"))["findings"]
        unknown = {row["check"] for row in rows if row["status"] == "unknown"}
        if unknown or not any(row["status"] == "pass" for row in rows):
            raise CannotRun("this machine cannot stand for a healthy node: %s" % (
                "unknown are " + ", ".join(sorted(unknown)) if unknown else "nothing passed"))
        return {row["check"] for row in rows if row["status"] == "fail"}


def note(what, contenders, rounds, before=None):
    """The time of each contender compared with the ping, in one sentence that begins with `what`."""
    seconds = {name: statistics.median(times) for name, times in take_turns(contenders, rounds, before).items()}
    ping = seconds.pop(PING)
    return "%s: %s" % (what, ", ".join("%s %.2f s, ping %.2f s, ratio %.2f" % (name, median, ping, median / ping)
                                       for name, median in seconds.items()))


def notes_of(fleet, contenders, rounds, before=None):
    """Two notes: one with a busy core, one where each host has its own connection."""
    with busy_core():
        notes = [note("beside a process that keeps one core busy", contenders, rounds, before)]
    fleet.separate_connections()
    return notes + [note("where each host has a connection of its own", contenders, rounds, before)]


def other_python():
    """(path, version) of a Python that cannot run the bytecode of the controller's Python, or None."""
    usable, _broken = pythons.find()
    return next((usable[minor] for minor in sorted(usable, reverse=True)
                 if minor != sys.version_info[:2] and minor >= OLDEST_NODE), None)


def note_of_other_python(fleet, contenders, rounds):
    """A note with the times where no node has the Python of the controller; no note if there is only one Python."""
    found = other_python()
    if not found:
        return []
    fleet.variables["ansible_python_interpreter"] = str(found[0])
    fleet.write_inventory()
    return [note("where the nodes have Python %s" % found[1], contenders, rounds)]


def measure(smoke):
    hosts = HOSTS[smoke]
    # A Kubernetes node has these programs. Without them the checks of its rules are unknown.
    need_packages("kmod", "iptables", "ipset", "nftables", "conntrack")
    with workplace() as folder, forwarding() as prefix, serving(folder, prefix) as variables:
        fleet = Fleet(folder, variables, hosts, prefix)
        try:
            # This also opens the connections of both contenders.
            fleet.accept([])
            fleet.preflight("--extra-vars", json.dumps({"node_gate_mode": "never", "preflight_fix": "none"}))
            accepted = fleet.failing()
            if accepted:
                fleet.accept(accepted)
                fleet.preflight()
            if accepted and fleet.failing():
                raise CannotRun("the hosts are not healthy: %s fail" % ", ".join(sorted(fleet.failing())))
            contenders = {PREFLIGHT: fleet.preflight, PING: fleet.ping}
            seconds = take_turns(contenders, ROUNDS[smoke])
            notes = []
            if not smoke:
                notes = note_of_other_python(fleet, contenders, ROUNDS[smoke])
                fleet.variables["ansible_python_interpreter"] = NODE_PYTHON
                fleet.write_inventory()
                notes += notes_of(fleet, contenders, ROUNDS[smoke])
        finally:
            fleet.ansible.close_connections()
    notes += ["accepted by waivers: " + ", ".join(sorted(accepted))] if accepted else []
    what = "%s over %d ssh hosts that are healthy by policy, against a play of one ping" % (PREFLIGHT, hosts)
    return Outcome("fleet", what, PREFLIGHT, PING, seconds, LIMIT, True, notes)
