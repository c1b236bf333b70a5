# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that must be there because an agent runs that has written them."""

import collections
import json
import re
import shlex
import time

from ..._host import container
from ..._host.host import ABSENT, OK
from ..._parse.assignments import parse_assignments
from ..._rules.others.agent_chains import AGENTS
from ..._rules.tables import readable
from ..agents import of_this_network
from ..cni.agent import STARTING_SECONDS
from ..cni.backend import backend_of
from ..containers import Containers, who
from ..processes import find_processes, uptime_seconds

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
