# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_ipvs: the virtual servers of the running kernel, and whether they are what kube-proxy needs.

Nearly all values come from files below /proc/net, and servers.py adds the rest. `ipvsadm` is not run, since it loads
ip_vs. `ipset` is run only where ip_set exists already, since `ipset` loads it. `ip addr show` uses rtnetlink and loads
nothing. Most nodes do not use IPVS, so its parsers are imported only where there is something to parse.

Real servers of a bundle that differ from the endpoints of the API server.

The Services that kube-proxy has programmed in ipvs mode, in the same form as in iptables mode.

Their addresses are on the interface kube-ipvs0 (kubernetes pkg/proxy/ipvs/proxier.go); a virtual server with another
address is a NodePort, or belongs to another program.
"""

import collections
import re

from ..._conntrack.keys import dotted
from ..._conntrack.predict import number
from ..._host.host import ABSENT, OK, UNPARSED
from ..._names import BUNDLE_API_SERVICES, UNCOLLECTED
from ..._rules.services.services import Service
from ..conntrack.now import read_key
from ..conntrack.sysctl_boot import SysctlBoot
from ..host.place import BUNDLE, WITH_KERNEL
from .servers import PROC_LIMIT, read_servers

# kubernetes pkg/proxy/ipvs/proxier.go: every Service address is on it, so that this node takes packets for it.
DUMMY = "kube-ipvs0"
# kubernetes pkg/proxy/ipvs/ipset.go; KUBE-SRC- and KUBE-DST- are sets of kube-router.
_KUBE_SETS = re.compile(r"KUBE-(6-)?(LOOP-BACK|CLUSTER-IP|EXTERNAL-IP|LOAD-BALANCER|NODE-PORT|HEALTH-CHECK-NODE-PORT|"
                        r"IPVS-IPS)")
_ADDRESS = re.compile(r"^\d+: +\S+ +inet6? ([0-9a-f.:]+)/", re.MULTILINE)
_OF_DEVICE = re.compile(r"^\d+: +([^\s@]+)\S* +inet6? ([0-9a-f.:]+)/", re.MULTILINE)
OUTPUT_LIMIT = 8 * 1024 * 1024
# Limits of the list of sets, 200 bytes each, and of one set.
SETS_OUTPUT_LIMIT, SETS_SECONDS = 32 * 1024 * 1024, 5.0
_SET_LIMIT = 64 * 1024
# What kube-proxy sets at its start (kubernetes pkg/proxy/ipvs/proxier.go); conn_reuse_mode depends on the kernel.
_OF_IPVS = "net/ipv4/vs/"
_SYSCTLS = (("conntrack", 1), ("expire_nodest_conn", 1), ("expire_quiescent_template", 1))
# The default of kube-apiserver --service-node-port-range begins with this port.
_NODE_PORTS = 30000
EXAMPLES, SETS_LIMIT, SCHEDULERS_LIMIT = 5, 40, 10


def collect_ipvs(host, node, kube_proxy=None):
    """The evidence dict; `kube_proxy` is the section node_kube_proxy. Only places with a running kernel have values."""
    section = {
        "schema": 1, "collected": {"ip_vs": ABSENT, "addresses": ABSENT, "ipsets": ABSENT, "sysctls": ABSENT,
                                   "endpoints": ABSENT},
        "in_kernel": None, "differing": None, "draining": None, "conn_reuse_mode": None,
        "virtual_servers": None, "real_servers": None, "without_real_servers": [], "without_real_servers_count": None,
        "without_real_servers_percent": None, "schedulers": [], "configured_scheduler": _configured(kube_proxy),
        "dummy_interface": {"present": None, "addresses": None, "missing_addresses": None, "missing_examples": [],
                            "held_servers": None},
        "ipsets": [], "sysctls": [],
        "service_sets": None, "leftover": None, "leftover_because": "only a live node runs a kernel"}
    if node["place"] in WITH_KERNEL:
        servers = _virtual_servers(host, section)
        if node["place"] == BUNDLE:
            section["collected"]["endpoints"], section["differing"] = differing_servers(host, servers.found)
        own = _addresses(host, servers.found, section)
        sets = _ipsets(host, section)
        if (kube_proxy or {}).get("mode") == "ipvs":
            section["service_sets"] = _service_sets(host, servers, own, sets, kube_proxy)
        section["ipsets"] = (sets or [])[:SETS_LIMIT]
        section["sysctls"] = _sysctls(host)
        reuse = read_key(host, _OF_IPVS + "conn_reuse_mode")[1]
        section["conn_reuse_mode"] = reuse if isinstance(reuse, int) else None
        section["collected"]["sysctls"] = (OK if any(row["now"] is not None for row in section["sysctls"])
                                           else UNCOLLECTED if node["place"] == BUNDLE else ABSENT)
        section["leftover"], section["leftover_because"] = _leftover((kube_proxy or {}).get("mode"), sets, section)
    return section


def _sysctls(host):
    """The sysctls that kube-proxy sets in ipvs mode, with the line of sysctl.d that sets another value."""
    rows = []
    for name, want in _SYSCTLS:
        now = read_key(host, _OF_IPVS + name)[1]
        rows.append({"key": dotted(_OF_IPVS + name), "now": now if isinstance(now, int) else None, "want": want,
                     "by": None})
    if any(row["now"] not in (None, row["want"]) for row in rows):
        with host.noting():
            boot = SysctlBoot(host, "systemd")
        for row, (name, want) in zip(rows, _SYSCTLS):
            line = boot.assignment(_OF_IPVS + name)
            if row["now"] not in (None, want) and line and number(line.value) == row["now"]:
                row["by"] = line.where
    return rows


def _service_sets(host, servers, own, sets, kube_proxy):
    """The result of comparing virtual servers with ipsets."""
    from . import servers as ipvs_servers

    def reading(now, addresses):
        entries = None if sets is None else ipvs_servers.entries_of(host, sets, OUTPUT_LIMIT)
        return ipvs_servers.Reading(now.found, addresses, entries and entries.found, now.whole,
                                    *entries[1:] if entries else ())

    def read_again():
        return reading(read_servers(host), own_addresses(host))
    return ipvs_servers.compare(reading(servers, own), read_again, kube_proxy)


def _configured(kube_proxy):
    """The scheduler of a kube-proxy in ipvs mode. The arguments of one inside another program are not visible."""
    return kube_proxy["ipvs_scheduler"] if kube_proxy and kube_proxy["runs_in"] != "embedded" else None


def _virtual_servers(host, section):
    """The `Servers` of this network namespace; writes their numbers into `section`."""
    read = read_servers(host)
    section["collected"]["ip_vs"] = read.status
    # The file exists only while ip_vs is in the kernel: a kernel without it has no virtual server.
    section["in_kernel"] = {OK: True, ABSENT: False}.get(read.file)
    servers = read.found
    if servers is None:
        return read
    empty = [server for server in servers if not any(real.weight for real in server.real_servers)]
    counts = collections.Counter(server.scheduler for server in servers)
    section["draining"] = sum(not real.weight for server in servers for real in server.real_servers)
    configured = section["configured_scheduler"]
    section.update(
        virtual_servers=len(servers), real_servers=sum(len(server.real_servers) for server in servers),
        without_real_servers=[_named(server) for server in sorted(empty, key=_users_first)[:EXAMPLES]],
        without_real_servers_count=len(empty),
        without_real_servers_percent=100 * len(empty) // len(servers) if servers else 0, schedulers=[
            {"scheduler": name[:32], "services": count, "differs": None if configured is None else name != configured}
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SCHEDULERS_LIMIT]])
    return read


def _users_first(server):
    """Every pod asks the DNS, so its virtual servers are the first examples."""
    return (server.port != 53, server.family or "", server.address or "", server.port or 0, server.protocol or "",
            server.mark or 0)


def _named(server):
    """One virtual server as evidence; one that is identified by a firewall mark has neither address nor port."""
    return {"family": server.family, "address": server.address, "port": server.port, "protocol": server.protocol,
            "mark": server.mark}


def _addresses(host, servers, section):
    """The addresses of kube-ipvs0, None where they could not be read. Writes into `section` whether the addresses of
    the virtual servers are local: the kernel forwards packets for other addresses, and IPVS never gets them."""
    devices = host.read_text("/proc/net/dev", PROC_LIMIT)
    section["collected"]["addresses"] = devices.status
    dummy, own = section["dummy_interface"], None
    if devices.ok:
        dummy["present"] = any(line.strip().startswith(DUMMY + ":") for line in devices.text.splitlines())
        own = own_addresses(host) if dummy["present"] else set()
        dummy["addresses"] = None if own is None else len(own)
    if devices.ok and servers is not None:
        wanted = {server.address for server in servers if server.address}
        missing = _missing(host, wanted, section) if wanted else []
        if missing is None:
            missing = _missing_on_dummy(servers, own)
            section["collected"]["addresses"] = section["collected"]["addresses"] if missing is None else OK
        dummy["missing_addresses"] = None if missing is None else len(missing)
        dummy["missing_examples"] = sorted(missing or [])[:EXAMPLES]
        held = None if own is None else _held(host, servers, own)
        dummy["held_servers"] = None if held is None else held[:EXAMPLES]
    return own


def _held(host, servers, own):
    """The addresses of real servers that are on kube-ipvs0 and on no other interface, None where that is unknown: the
    kernel delivers packets for them to this node (net/ipv4/route.c), and the machine that has the address gets none.
    An endpoint may be another Service, as people write into EndpointSlices: its address is meant to be here."""
    virtual = {(server.address, server.port, server.protocol) for server in servers}
    held = own & {real.address for server in servers for real in server.real_servers
                  if (real.address, real.port, server.protocol) not in virtual
                  or (real.address, real.port) == (server.address, server.port)}
    answer = host.run(["ip", "-o", "addr", "show"], limit=OUTPUT_LIMIT) if held else None
    if answer and not answer.ok:
        return None
    elsewhere = {address for device, address in _OF_DEVICE.findall(answer.out) if device != DUMMY} if answer else set()
    return sorted(held - elsewhere)


def _missing_on_dummy(servers, own):
    """The same where only the addresses of kube-ipvs0 are known: no Service may be missing, or none is there. The
    addresses of NodePorts and some external ones are on other interfaces."""
    wanted = {server.address for server in servers if server.address and server.port < _NODE_PORTS}
    return None if own is None or own and wanted - own else sorted(wanted - own)


def _missing(host, wanted, section):
    """The addresses that are local on no interface, None where that is unknown."""
    from ..._parse.proc.network_files import parse_proc_net_fib_trie, parse_proc_net_if_inet6
    four, six = host.read_text("/proc/net/fib_trie", PROC_LIMIT), host.read_text("/proc/net/if_inet6", PROC_LIMIT)
    # Without IPv6 in the kernel there is no if_inet6, and no IPv6 address.
    wrong = [text.status for text in (four, six) if not text.ok and (text is not six or text.status != ABSENT)]
    if wrong:
        section["collected"]["addresses"] = wrong[0]
        return None
    addresses, networks = parse_proc_net_fib_trie(four.text)
    local = addresses | set(parse_proc_net_if_inet6(six.text))
    return [address for address in wanted - local if not _within(address, networks)]


def _within(address, networks):
    """Whether `address` is in a network that is local as a whole."""
    return ":" not in address and any(_number(address) & int(network.netmask) == int(network.network_address)
                                      for network in networks)


def _number(address):
    first, second, third, fourth = [int(part) for part in address.split(".")]
    return first << 24 | second << 16 | third << 8 | fourth


def own_addresses(host):
    """The addresses of kube-ipvs0, or None: no file of /proc lists them for one interface."""
    answer = host.run(["ip", "-o", "addr", "show", "dev", DUMMY], limit=OUTPUT_LIMIT)
    return set(_ADDRESS.findall(answer.out)) if answer.ok else None


def _ipsets(host, section):
    """kube-proxy's sets by name, None where they could not be read; most nodes have no ipset program of their own."""
    there = host.presence("/sys/module/ip_set")
    if there == ABSENT:
        return []  # Neither loaded nor built in: there is no set, and running ipset would load it.
    if there != OK:
        section["collected"]["ipsets"] = there
        return None
    from ..._parse.proc.net_ip_vs import parse_ipset_list
    sets, rest = [], [b""]

    def consume(block):
        # Network policies make tens of thousands of sets: only kube-proxy's own are kept. An empty line ends each.
        whole, _empty, rest[0] = (rest[0] + block).rpartition(b"\n\n")
        rest[0] = rest[0][-_SET_LIMIT:]
        sets.extend(row for row in parse_ipset_list(whole.decode("utf-8", "replace")) if _KUBE_SETS.match(row["name"]))

    answer = host.stream(["ipset", "list", "-t"], consume, SETS_SECONDS, SETS_OUTPUT_LIMIT)
    section["collected"]["ipsets"] = UNPARSED if answer.status == OK and answer.rc != 0 else answer.status
    if not answer.ok:
        return None
    consume(b"\n\n")
    return sorted(sets, key=lambda row: row["name"])


def _leftover(mode, sets, section):
    """(whether kube-proxy's IPVS objects are there although it runs in another mode, why); None if unknown."""
    if mode is None:
        return None, "the mode of kube-proxy is not known"
    if mode == "ipvs":
        return False, "kube-proxy runs in ipvs mode"
    found = ["the interface %s" % DUMMY] if section["dummy_interface"]["present"] else []
    found += ["%d ipsets of kube-proxy" % len(sets)] if sets else []
    servers = section["virtual_servers"]
    if found:
        return True, "kube-proxy runs in %s mode, but there are %s%s" % (
            mode, " and ".join(found), " and %d virtual servers" % servers if servers else "")
    if section["dummy_interface"]["present"] is None:
        return None, "the interfaces of the node could not be read"
    if servers is None:
        return None, "the virtual servers could not be read"
    if servers and sets is None:
        return (None, "there are %d virtual servers, and without the ipsets it is not known whether they are "
                      "kube-proxy's" % servers)
    if servers:
        return (False, "there are %d virtual servers, but neither %s nor an ipset of kube-proxy: they belong to "
                       "another program" % (servers, DUMMY))
    return False, "no interface, virtual server or ipset of IPVS exists"


MOST = 40


def differing_servers(host, servers):
    """(status, rows): `address`, `port`, `protocol`, the endpoints that the virtual server lacks (`missing`) and the
    real servers that take connections and are none (`extra`). A real server of weight 0 takes no new ones."""
    listed = {}
    for name in host.list_dir(BUNDLE_API_SERVICES)[1]:
        for line in host.read_text("%s/%s" % (BUNDLE_API_SERVICES, name)).text.splitlines():
            address, port, protocol, ends = line.split(" ")
            listed.setdefault((address, int(port), protocol), set()).add(ends)
    rows = []
    for server in servers or ():
        ends = listed.get((server.address, server.port, server.protocol), ())
        if len(ends) != 1:
            continue
        wanted = set(next(iter(ends)).split(","))
        real = {"%s:%d" % ("[%s]" % each.address if ":" in each.address else each.address, each.port)
                for each in server.real_servers if each.weight}
        rows.append({"address": server.address, "port": server.port, "protocol": server.protocol,
                     "missing": sorted(wanted - real)[:MOST], "extra": sorted(real - wanted)[:MOST]})
    return (OK, [row for row in rows if row["missing"] or row["extra"]]) if rows else (UNCOLLECTED, None)


def ipvs_services(host):
    """[Service] of both families, None where they could not be read."""
    servers = read_servers(host)
    if servers.file != OK or servers.found is None:
        return None
    own = own_addresses(host)
    if own is None:
        return None
    return [_service(server) for server in servers.found if server.address in own]


def _service(server):
    endpoints = tuple((real.address, real.port, server.protocol) for real in server.real_servers if real.weight)
    return Service(server.family, server.address, server.port, server.protocol, "", endpoints, bool(endpoints), None)
