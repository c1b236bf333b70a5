# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that must be there because of the pods and agents that run on this node.

A flush removes rules of network plugins as well, and no chain is left that could look damaged. The expected rules come
from other evidence, which is read after the rules: rules that are written while this runs are not missed.

Rules that must be there because an agent runs that has written them.
"""

import calendar
import collections
import json
import re
import shlex
import time

from ..._host import container
from ..._host.host import ABSENT, OK
from ..._parse.assignments import parse_assignments
from ..._rules.others.pod_chains import AGENTS, WORKS, rules_of_pod
from ..._rules.tables import chains_of, readable, table_of
from ..cni.agent import STARTING_SECONDS, backend_of
from ..cni.cni import attached_pods, is_still_attached
from ..containers import Containers, who
from ..processes import find_processes, named_processes, of_this_network, uptime_seconds

# A pod whose network was set up so shortly before the rules were read is left out.
YOUNG_SECONDS = 10
ROWS_LIMIT, PODS_LIMIT = 12, 5
LIST_SECONDS, LIST_LIMIT = 30.0, 8 * 1024 * 1024
_FAMILIES = {"ipv4": "ip", "ipv6": "ip6"}


class KnownRules:
    """Whether a chain exists, in the backends of iptables and in the nft tables of plugins."""

    def __init__(self, host, rules):
        self._host, self._rules, self._listed, self._names = host, rules, {}, None
        unread = {source for source, status in rules.collected.items() if status not in (OK, ABSENT)}
        self._unread = {family for family in _FAMILIES for source in unread if source.endswith(family)}

    def sets(self, family):
        return [found for found in self._rules.rule_sets if found.family == family]

    def whole(self, family, table):
        """Whether every chain of a table is known, in both backends."""
        return family not in self._unread and all(chains_of(found, table) is not None for found in self.sets(family))

    def chain(self, family, table, name, works):
        """True, False, or None where not all chains of the family are known. `works(chains, name)`: whether the chain
        does its work; a chain that does not is one of a flush that kept the chains."""
        tables = [found.tables[table].chains for found in self.sets(family) if table_of(found, table) is not None]
        whole = self.whole(family, table)
        if any(name in chains and (not whole or works(chains, name)) for chains in tables):
            return True
        return False if whole else None

    def lines(self, family, table, chains):
        """The rules of these chains of an nft table, as nft lists them; [] where none exists, None if not known."""
        if self._rules.nf_tables == ABSENT:
            return []
        if self._rules.nf_tables != OK:
            return None
        key = family, table, chains
        if key not in self._listed:
            self._listed[key] = self._list(family, table, chains)
        return self._listed[key]

    def _list(self, family, table, chains):
        names = self._table_names()
        if names is not None and (family, table) not in names:
            return []
        found = []
        for chain in chains:
            done = self._host.run(["nft", "list", "chain", family, table, chain], LIST_SECONDS, LIST_LIMIT)
            if done.ok:
                found += [line.strip() for line in done.out.splitlines()]
            elif done.status != OK or "No such file or directory" not in done.err:
                return None
        return found

    def _table_names(self):
        if self._names is None and self._host.commands and self._host.root == "/":
            from ..._host.netlink import nft_tables
            status, names = nft_tables()
            self._names = set(names) if status == OK else None
        return self._names


def expected_rows(host, node, rules):
    """[row] of the rules that must be there; [] where the rules are not those of this node."""
    if rules.source != "live":
        return []
    known = KnownRules(host, rules)
    rows, status = _of_pods(host, node, rules, known)
    return (rows + rows_of_agents(host, known))[:ROWS_LIMIT] + _unread_rows(status, named_processes(host)[0])


def _of_pods(host, node, rules, known):
    """([row], status of reading which pods run here)."""
    # Without strptime(), which compiles its patterns in each look.
    begun = calendar.timegm([int(part) for part in re.findall(r"\d+", rules.read_at)])
    pods, running_known, status = attached_pods(host, node, begun - YOUNG_SECONDS)
    groups = collections.OrderedDict()
    for pod in pods:
        for wanted in rules_of_pod(pod.result, pod.entries):
            groups.setdefault(wanted[:4], []).append((pod, wanted))
    rows = [_row_of_pods(host, key, groups[key], known, running_known) for key in sorted(groups)]
    return list(filter(None, rows)), status


def _unread_rows(of_pods, of_processes):
    """[row] of further rules that may have to be there, for the statuses of reading the evidence of them."""
    unread = []
    if of_pods != OK:
        reason = "not all files of libcni below /var/lib/cni could be read (%s)" % of_pods
        unread += [(kind, "unknown", "unknown", reason) for kind in sorted(WORKS)]
    if of_processes not in (OK, ABSENT):
        unread.append(("agent", "an agent", None, "not all processes of the node could be read (%s)" % of_processes))
    return [{"kind": kind, "owner": owner, "network": network, "family": "ipv4", "table": "nat", "chain": None,
             "expected": 1, "missing": 0, "unknown": 1, "pods": [], "process": None, "restart": None, "reason": reason}
            for kind, owner, network, reason in unread]


def _row_of_pods(host, key, group, known, running_known):
    states = [(_state(known, wanted), pod, wanted) for pod, wanted in group]
    # Only a pod without its rules needs the proof that it is not being removed.
    states = [(state, state or is_still_attached(host, pod, wanted.family), pod, wanted)
              for state, pod, wanted in states]
    states = [row for row in states if row[1] is not False]
    if not states:
        return None
    lost = [(pod, wanted) for state, attached, pod, wanted in states if state is False and attached]
    doubtful = sum(state is None or attached is None for state, attached, _pod, _wanted in states)
    reason = "the rules of %s or the leases of their pods could not be read completely" % key[3] if doubtful else None
    if lost and not running_known:
        doubtful, lost, reason = doubtful + len(lost), [], "which pod sandboxes run could not be read"
    pods = sorted({pod.result.pod for pod, _wanted in lost})
    return {"kind": key[0], "owner": key[1], "network": key[2][:64], "family": key[3], "table": "nat",
            "chain": lost[0][1].chain if lost else None, "expected": len(states), "missing": len(lost),
            "unknown": doubtful, "pods": pods[:PODS_LIMIT], "process": None, "restart": None, "reason": reason}


def _state(known, wanted):
    """True where the rules of a pod exist, None where that is not known."""
    there = known.chain(wanted.family, "nat", wanted.chain, WORKS[wanted.kind])
    if there or wanted.backend == "iptables":
        return there
    lines = known.lines(*wanted.nft[:3])
    if lines is None:
        return None
    source = "%s saddr " % _FAMILIES[wanted.family] if wanted.nft[0] == "inet" else ""
    if any(wanted.nft[3] in line and source in line for line in lines):
        return True
    return there


_SUBNET_FILE, _DOCKER_CONFIG = "/run/flannel/subnet.env", "/etc/docker/daemon.json"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_UNITS = {"k3s-server": "k3s", "k3s-agent": "k3s-agent", "dockerd": "docker"}
_LIMIT = 65536

# What an agent must have written: `chain` overrides the pattern of its row, `rule` is a part of a rule of a built-in
# chain that counts as well, `nft` the (family, table, chains) of its native rules, and a part of one of them; `native`:
# whether it writes native rules only; `doubt`: why that is not certain.
Wanted = collections.namedtuple("Wanted", "family chain rule nft native doubt")
Wanted.__new__.__defaults__ = (None, None, None, False, None)


def rows_of_agents(host, known):
    """[row] of the agents that run for two minutes; `known` are the KnownRules."""
    found = []
    for agent in AGENTS:
        processes = of_this_network(host, find_processes(host, agent.names)[1])
        process = next((each for each in processes if _is_agent(agent, each)), None)
        age = process and process.age_seconds(uptime_seconds(host))
        if process is not None and (age is None or age >= STARTING_SECONDS):
            found += [_row(host, agent, process, age, wanted, known) for wanted in _WANTED[agent.owner](host, process)]
    return found


def _is_agent(agent, process):
    """Whether it is the agent itself; a process whose arguments could not be read counts, and its rows are in doubt."""
    return (agent.argument is None or process.name not in agent.names[:1] or agent.argument in process.arguments
            or process.status != OK)


def _row(host, agent, process, age, wanted, known):
    there = _is_there(agent, wanted, known)
    doubt = None if there else wanted.doubt or _doubt_of(process, age)
    reason = doubt or ("the rules of %s could not be read completely" % wanted.family if there is None else None)
    missing, place = there is False and not doubt, Containers(host).of(process.pid)
    return {"kind": "agent", "owner": agent.owner, "network": None, "family": wanted.family, "table": agent.tables[0],
            "chain": _shown(agent, wanted) if missing else None, "expected": 1, "missing": int(missing),
            "unknown": int(bool(reason)), "pods": [], "process": who(process.name, place),
            "restart": _restart(process, place), "reason": reason}


def _doubt_of(process, age):
    if age is None:
        return "how long %s runs could not be read" % process.name
    return None if process.status == OK else "the arguments of %s could not be read" % process.name


def _shown(agent, wanted):
    if wanted.native:
        return "%s of table %s %s" % (wanted.nft[2][0], wanted.nft[0], wanted.nft[1])
    return wanted.chain or agent.shown


def _restart(process, place):
    if place and place["pod"]:
        return "kubectl -n %s delete pod %s" % (shlex.quote(place["namespace"]), shlex.quote(place["pod"]))
    if process.name in _UNITS:
        return "systemctl restart " + _UNITS[process.name]
    return "restart its container" if place else "systemctl restart, with the unit of %s" % process.name


def _is_there(agent, wanted, known):
    """True, False or None as of KnownRules."""
    written = False if wanted.native else _is_written(agent, wanted, known)
    if written or not wanted.nft:
        return written
    lines = known.lines(*wanted.nft[:3])
    if lines is None:
        return None
    return True if any(wanted.nft[3] in line for line in lines) else written


def _is_written(agent, wanted, known):
    pattern = re.compile(re.escape(wanted.chain) + r"\Z" if wanted.chain else agent.chains)
    for found in known.sets(wanted.family):
        for name, table in readable(found):
            if name in agent.tables and any(pattern.match(chain) and (table.chains[chain].rules or not agent.filled)
                                            for chain in table.chains):
                return True
            if wanted.rule and any(wanted.rule in rule.text for chain in table.chains.values() if chain.policy
                                   for rule in chain.rules):
                return True
    return False if all(known.whole(wanted.family, name) for name in agent.tables) else None


def _of_flannel(host, process):
    path = process.option("subnet-file") or _SUBNET_FILE
    seen, values = host.stat(path), parse_assignments(host.read_text(path).text)
    # flannel writes it at each start. An older file is that of an earlier network plugin.
    age = process.age_seconds(uptime_seconds(host))
    old = seen is not None and age is not None and seen.st_mtime < time.time() - age - 5
    if values.get("FLANNEL_IPMASQ") != "true" or seen is None or old:
        return []
    backend = backend_of(host, process, "flannel")[0]
    doubt = "whether flannel uses nftables is not known" if backend == "unknown" else None
    # k3s has an option that makes its flannel masquerade IPv6 (--flannel-ipv6-masq).
    names = [("ipv4", "ip", "FLANNEL_SUBNET", "FLANNEL_NETWORK")]
    if not process.name.startswith("k3s"):
        names.append(("ipv6", "ip6", "FLANNEL_IPV6_SUBNET", "FLANNEL_IPV6_NETWORK"))
    # Before 0.20 the rules were in POSTROUTING itself.
    return [Wanted(family, None, "-s %s" % values[network] if values.get(network) else None,
                   (word, "flannel-" + family, ("postrtg",), "masquerade"), backend == "nft", doubt)
            for family, word, subnet, network in names if values.get(subnet)]


def _of_aws(host, process):
    names = ("AWS_VPC_K8S_CNI_EXTERNALSNAT", "ENABLE_IPv6")
    values = _environment(host, process, names)
    if values is None:
        return [Wanted("ipv4", doubt="the environment of %s could not be read" % process.name)]
    return [] if any(values.get(name) in _TRUE for name in names) else [Wanted("ipv4")]


def _of_ip_masq_agent(_host, process):
    chain = process.option("masq-chain")
    six = any(argument.lstrip("-") in ("enable-ipv6", "enable-ipv6=true") for argument in process.arguments)
    return [Wanted(family, chain) for family in ("ipv4", "ipv6")[:2 if six else 1]]


def _of_calico(host, process):
    values = _environment(host, process, ("FELIX_BPFENABLED",))
    if values is None:
        return [Wanted("ipv4", doubt="the environment of %s could not be read" % process.name)]
    # In BPF mode, which Felix may have from its resource as well, it adds these devices and needs few chains.
    if values.get("FELIX_BPFENABLED") in _TRUE or host.exists("/sys/class/net/bpfin.cali"):
        return []
    # In nftables mode, which Felix has from its resource, it keeps its chains in the table calico.
    return [Wanted("ipv4", rule="cali:", nft=("ip", "calico", ("filter-FORWARD",), "cali"))]


def _of_kube_router(_host, process):
    off = ("run-firewall=false", "use-nftables-for-netpol", "use-nftables-for-netpol=true", "enable-ipv4=false")
    return [] if any(argument.lstrip("-") in off for argument in process.arguments) else [Wanted("ipv4")]


def _of_cilium(_host, process):
    """The ConfigMap of Cilium is a directory with a file for each option; a flag overrides it."""
    folder, values, doubt = process.option("config-dir") or "/tmp/cilium/config-map", {}, None
    for name, default in (("install-iptables-rules", "true"), ("enable-bpf-masquerade", "false"),
                          ("enable-ipv4-masquerade", "true"), ("masquerade", "true"), ("enable-ipv4", "true")):
        given = process.option(name)
        if given is None:
            found, data = container.read_first(process.pid, process.start_time, [folder + "/" + name], _LIMIT)
            doubt = doubt if found["status"] in (OK, ABSENT) else "the options of cilium-agent could not be read"
            given = data.decode("utf-8", "replace").strip() if found["status"] == OK else default
        values[name] = given
    off = values.pop("enable-bpf-masquerade") == "true" or "false" in values.values()
    return [] if off else [Wanted("ipv4", doubt=doubt)]


def _of_docker(host, process):
    """Only while containers are attached to the bridge of Docker."""
    attached = host.list_dir("/sys/class/net/docker0/brif")[1]
    text = host.read_text(process.option("config-file") or _DOCKER_CONFIG)
    try:
        settings = json.loads(text.text) if text.ok and text.text.strip() else {}
    except (ValueError, RecursionError):
        return []
    if not attached or text.status not in (OK, ABSENT) or not isinstance(settings, dict):
        return []
    backend = process.option("firewall-backend") or settings.get("firewall-backend") or "iptables"
    off = process.option("iptables") == "false" or settings.get("iptables") is False
    return [] if off or backend != "iptables" else [Wanted("ipv4")]


def _environment(host, process, names):
    """{name: value} of these variables alone, or None."""
    text = host.read_text("/proc/%d/environ" % process.pid)
    pairs = [variable.partition("=") for variable in text.text.split("\0")]
    return {name: value for name, _equals, value in pairs if name in names} if text.ok else None


_WANTED = {"aws-node": _of_aws, "calico-node": _of_calico, "cilium-agent": _of_cilium, "dockerd": _of_docker,
           "flannel": _of_flannel, "ip-masq-agent": _of_ip_masq_agent, "kube-router": _of_kube_router}
