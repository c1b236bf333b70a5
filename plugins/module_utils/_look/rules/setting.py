# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The criteria by which rules are judged: the mode of kube-proxy, the version of Kubernetes, programs that run."""

import collections
import functools
import ipaddress
import re

from ... import _errors, _names, _versions
from ..._host.host import ABSENT
from ..._names import BUNDLE_ABSENT_DEVICES
from ..._parse.proc.network_files import parse_proc_net_fib_trie, parse_proc_net_if_inet6
from ..._rules.kube_proxy.anchor_table import KUBELET_CANARY
from ..._rules.kube_proxy.proxy import looks_up_sets
from ..._rules.setting import Setting
from ..processes import find_processes, of_this_network
from .nft_native import single_routes, tunnel_between_nodes
from .nftables import FAMILIES, TABLE

# Chains that only one mode creates (kubernetes pkg/proxy/iptables/proxier.go, pkg/proxy/ipvs/proxier.go). The canary of
# iptables mode is not among them, because a change to another mode leaves it behind.
_OF_IPTABLES = re.compile(r"KUBE-(SVC|SVL|SEP|EXT|XLB)-|KUBE-(NODEPORTS|EXTERNAL-SERVICES)$")
_OF_IPVS = ("KUBE-LOAD-BALANCER", "KUBE-NODE-PORT", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER",
            "KUBE-SOURCE-RANGES-FIREWALL")
# Programs besides kubelet that listen on every address of a node: (process, port, flag that changes it); k3s and
# MicroK8s contain the API server.
_API_SERVERS = (("kube-apiserver", 6443, "secure-port"), ("k3s-server", 6443, "https-listen-port"),
                ("kubelite", 16443, ""))
_KUBELET_PORT = 10250
# The first file exists where the kernel has IPv6 and it is not disabled on the kernel command line.
_ADDRESSES_6, _LIBERAL = "/proc/net/if_inet6", "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"
# The interface of NodeLocal DNSCache (kubernetes/dns cmd/node-cache).
_DNS_CACHE = "nodelocaldns"
# Sets that rules refuse packets by: (number, bytes and seconds of one).
_SETS, _SET_LIMIT, _SET_SECONDS = 16, 4 << 20, 3.0
_SET_NAME = re.compile(r"[\w.:-]{1,31}\Z")
_ADDED = re.compile(r"^add \S+ ([0-9a-f.:]+(?:/\d+)?)(?=[ \n]|\Z)", re.MULTILINE)
# The bridges of pods; Podman's has another name.
_BRIDGES = re.compile(r"(?:cbr|cni)\d+\Z|kube-bridge\Z|weave\Z")
# The source of a value that is not known.
UNTOLD = "no source is known"
# kube-proxy may be at most this many minor versions older than kubelet (Kubernetes version skew policy).
_SKEW = 3
# Older versions are unknown, and a user who gives one probably means another.
_OLDEST = (1, 10)


class Situation(collections.namedtuple("Situation", "setting mode_source kubernetes_source used")):
    """`setting`: the Setting of any rule set; the sources of its mode and version, or why these are not known; `used`:
    the backend of the iptables that kube-proxy runs, where both hold its rules."""

    @property
    def mode(self):
        return self.setting.mode

    def of(self, rule_set):
        return self.setting._replace(family=rule_set.family, backend=rule_set.backend)


def situation_of(host, rules, options, kube_proxy, kubelet):
    """`Situation` of what was read; `kube_proxy` and `kubelet` are their sections, None for dumps. Raises BadInput."""
    requested = options["kubernetes_version"]
    if requested is not None and len(_versions.numbers(requested)) < 2:
        raise _errors.BadInput("kubernetes_version %r is not a version; give one such as 1.30" % requested)
    # YAML reads 1.30 without quotes as the number 1.3.
    if requested is not None and _versions.numbers(requested) < _OLDEST:
        raise _errors.BadInput("kubernetes_version %r is older than 1.10; write a version such as '1.30' in quotes, or "
                               "the zero at its end is lost" % requested)
    version, source, oldest = ((_versions.numbers(requested)[:2], "given as an option", None)
                               if requested else _version(kube_proxy, kubelet))
    mode, mode_source = mode_of(rules, options, kube_proxy)
    ipv6, liberal = _kernel(host) if rules.source == "live" else (None, None)
    once = functools.lru_cache(maxsize=1)
    return Situation(Setting(
        None, None, mode, version, _makes_chains(kubelet, rules), _ports(host, rules, kubelet), oldest,
        (_versions.numbers(kubelet["version"])[:2] if kubelet and not requested else ()) or None, ipv6, liberal,
        addresses=once(lambda: _addresses(host, rules)),
        members=functools.lru_cache(maxsize=_SETS)(lambda name: _members(host, rules, name)),
        tunnel=once(lambda: tunnel_between_nodes(host, rules)),
        lacks=functools.lru_cache(maxsize=_SETS)(lambda address: _lacks(host, rules, address)),
        pod_networks=once(lambda: _pod_networks(host, rules)), tunnel_marks=lambda: _tunnel_marks(host, rules),
        api_endpoints=once(lambda: _api_endpoints(host, rules)),
        single_routes=lambda: single_routes(host) if rules.of_tree else ()),
        mode_source, source, _used(host, rules, kube_proxy))


def _addresses(host, rules):
    """Only rules that refuse packets to the node ask for them."""
    if rules.source != "live" and not rules.of_tree:
        return frozenset()
    from .nft_native import own_addresses
    return own_addresses(host)


def _lacks(host, rules, address):
    """Only rules that exempt packets from conntrack ask for it. A bundle may hold addresses of single interfaces."""
    if rules.source != "live" and not rules.of_tree:
        return False
    if host.root != "/" and _DNS_CACHE in host.read_text(BUNDLE_ABSENT_DEVICES).text.split():
        return True
    from .nft_native import ADDRESSES_LIMIT
    path, own = (_ADDRESSES_6, "::1") if ":" in address else ("/proc/net/fib_trie", "127.0.0.1")
    text = host.read_text(path, ADDRESSES_LIMIT)
    if not text.ok:
        return False
    if ":" in address:
        found, networks = parse_proc_net_if_inet6(text.text), []
    else:
        found, networks = parse_proc_net_fib_trie(text.text)
    local = any(ipaddress.ip_address(address) in network for network in networks if network.prefixlen)
    return own in found and address not in found and not local


def _pod_networks(host, rules):
    """Only rules that exempt ranges from masquerading ask for them."""
    if rules.source != "live" and not rules.of_tree:
        return ()
    from ..._parse.proc.network_files import parse_proc_net_route
    shown = host.read_text(_names.BUNDLE_POD_BRIDGES).text if host.root != "/" else ""
    return tuple(tuple(line.split(" ", 1)) for line in shown.splitlines()) or tuple(
        (route.interface, route.network) for route in parse_proc_net_route(host.read_text("/proc/net/route").text)
        if route.network and _BRIDGES.match(route.interface))


def _tunnel_marks(host, rules):
    if not rules.of_tree:
        return ()
    rows = (line.partition(" ") for line in host.read_text(_names.BUNDLE_TUNNEL_MARKS).text.splitlines())
    return tuple((name, int(mark)) for mark, _blank, name in rows)


def _api_endpoints(host, rules):
    """A Service with two lists that differ is left out: it changed meanwhile."""
    folder, found, differing = _names.BUNDLE_API_ENDPOINTS, {}, set()
    for name in host.list_dir(folder)[1] if rules.of_tree else ():
        for line in host.read_text("%s/%s" % (folder, name)).text.splitlines():
            space, service, ends = line.split(" ")
            pairs = {(address.strip("[]"), int(port)) for address, _colon, port in
                     (end.rpartition(":") for end in ends.split(","))}
            key = None if space == "-" else space, service
            if found.setdefault(key, pairs) != pairs:
                differing.add(service)
    # Where one list shows no namespace, it may be of the same Service.
    differing.update(name for space, name in found if space is None
                     and any(key[1] == name and pairs != found[space, name] for key, pairs in found.items()))
    return {key: pairs for key, pairs in found.items() if key[1] not in differing}


def _members(host, rules, name):
    """A rule that refuses packets asks for its set: ip_set is in the kernel then, and ipset loads nothing."""
    if rules.source != "live" and not rules.of_tree or not _SET_NAME.match(name):
        return None
    answer = host.run(["ipset", "save", name], timeout=_SET_SECONDS, limit=_SET_LIMIT)
    return tuple(_ADDED.findall(answer.out)) if answer.ok else None


def _kernel(host):
    """(whether the kernel has IPv6, whether nf_conntrack_tcp_be_liberal is set), None where that cannot be read."""
    addresses, liberal = host.read_text(_ADDRESSES_6), host.read_text(_LIBERAL)
    ipv6 = addresses.ok if addresses.ok or addresses.status == ABSENT else None
    return ipv6, liberal.text.strip() != "0" if liberal.ok else None


def _used(host, rules, kube_proxy):
    if rules.source != "live" or not kube_proxy or not any(found.tables for found in rules.rule_sets):
        return None
    from ..._rules.others.leftovers import in_both
    if not in_both(rules.rule_sets):
        return None
    from ..backends.iptables_builds import proxy_backend
    return proxy_backend(host, kube_proxy)


def _makes_chains(kubelet, rules):
    """Whether the chains of kubelet must exist; None where they may not exist yet, and for dumps without it."""
    if not kubelet:
        return any(KUBELET_CANARY in table.chains for found in rules.rule_sets
                   for table in found.tables.values()) or None
    initialisation = kubelet.get("initialisation") or {}
    if initialisation.get("expected") is False:
        return False
    return None if any(row["state"] == "starting" for row in initialisation.get("families", ())) else kubelet["running"]


def mode_of(rules, options, kube_proxy):
    """(mode or None, its source)."""
    if options["proxy_mode"]:
        return options["proxy_mode"], "given as an option"
    if kube_proxy and kube_proxy["mode"]:
        return kube_proxy["mode"], kube_proxy["mode_source"]
    return _mode_of_chains(rules)


def _version(kube_proxy, kubelet):
    """((1, 30) or None, its source, the oldest version that kube-proxy may have if the version is kubelet's)."""
    if kube_proxy and _versions.numbers(kube_proxy["version"]):
        return _versions.numbers(kube_proxy["version"])[:2], "the kube-proxy that runs here", None
    if kubelet and _versions.numbers(kubelet["version"]):
        major, minor = _versions.numbers(kubelet["version"])[:2]
        if kube_proxy and kube_proxy.get("runs_in") == "embedded":
            return (major, minor), kubelet["version_source"], None  # The program contains both.
        return (major, minor), kubelet["version_source"], (major, minor - _SKEW)
    return None, UNTOLD, None


def _mode_of_chains(rules):
    """The mode whose chains exist, if they belong to one mode only. If KUBE-SERVICES of a rule set names sets, all
    other chains of the rule set are left over: only ipvs mode names sets, and iptables mode writes it anew."""
    by_sets = [looks_up_sets(found) for found in rules.rule_sets]
    tables = [table for found, ipvs in zip(rules.rule_sets, by_sets) if not ipvs
              for table in sorted(found.tables.values(), key=lambda table: table.name != "nat")]
    modes = {"iptables": _seen(tables, _OF_IPTABLES.match),
             "ipvs": "from the sets of KUBE-SERVICES in nat" if any(by_sets) else _seen(tables, _OF_IPVS.__contains__),
             "nftables": "from table %s %s" % (FAMILIES["ipv4" not in rules.nftables.tables], TABLE)
             if rules.nftables and rules.nftables.tables else None}
    modes = {mode: seen for mode, seen in modes.items() if seen}
    if len(modes) == 1:
        return next(iter(modes.items()))
    return None, "chains of several modes exist: %s" % ", ".join(sorted(modes)) if modes else UNTOLD


def _seen(tables, belongs):
    """The place of a chain that belongs to a mode, or None."""
    for table in tables:
        name = next(filter(belongs, table.chains), None)
        if name:
            # All other chains of iptables mode are reached from this one.
            name = "KUBE-SERVICES" if belongs == _OF_IPTABLES.match and "KUBE-SERVICES" in table.chains else name
            return "from %s in %s" % (name[:64], table.name or "a table whose name is not known")
    return None


def _ports(host, rules, kubelet):
    """`Setting.ports`; for dumps the ports that most nodes have."""
    if rules.source != "live":
        return {("tcp", _KUBELET_PORT): "kubelet", ("tcp", _API_SERVERS[0][1]): "the API server"}
    ports = {}
    servers = of_this_network(host, find_processes(host, [row[0] for row in _API_SERVERS])[1])
    running = {process.name: process for process in servers}
    for name, port, flag in _API_SERVERS:
        if name in running:
            given = running[name].option(flag) or ""
            ports[("tcp", int(given) if re.match(r"[0-9]{1,5}\Z", given) else port)] = "the API server"
    if kubelet and kubelet["running"]:
        settings = kubelet.get("settings") or {}
        ports[("tcp", settings.get("port") or _KUBELET_PORT)] = "kubelet"
        if settings.get("read_only_port"):
            ports[("tcp", settings["read_only_port"])] = "kubelet (its read-only port)"
    return ports
