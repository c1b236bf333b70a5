# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_conntrack: how full the conntrack table is, lost connections, and the prediction of each sysctl.

Switches of single interfaces that differ from those of the node.

A bridge passes packets to iptables if its own switch is on or that of all bridges (Linux
net/bridge/br_netfilter_hooks.c br_nf_pre_routing()); an interface forwards packets that arrive on it only if its own
switch is on (net/ipv4/devinet.c copies ip_forward to all of them, net/ipv4/route.c asks the interface alone).
"""

import re
import time

from ..._conntrack import predict
from ..._conntrack.keys import COUNT, FORWARD, KEYS, MODULES, TIMEOUTS
from ..._conntrack.predict import number
from ..._conntrack.size import need_of
from ..._host.host import ABSENT, DENIED, OK
from ..._names import BUNDLE_CONNTRACK, UNCOLLECTED
from ..._parse.kernel.boot_files import parse_kernel_cmdline
from ..._parse.proc.network_files import parse_proc_net_route
from ..host.host import read_cpus, read_memory
from ..host.place import BUNDLE, LIVE, WITH_KERNEL
from ..modules.blocks import ModprobeConf
from ..modules.kernel_modules import collect_kernel_modules
from .keys import Keys, Setting
from .now import entry_bytes, first_counters, growth, lost, memory_of, percent, read_counters, read_key, read_table

_CONF, _CLASS = "/proc/sys/net/ipv4/conf", "/sys/class/net"
# Bridges of pods: the bridge plugin and flannel, kubenet, kube-router, Docker, Weave, MicroK8s.
_BRIDGES = ("cni0", "cbr0", "kube-bridge", "docker0", "weave")
# Interfaces behind which pods are, and the names of uplinks where no default route is known.
_OF_PODS = re.compile(r"(?:%s|flannel[.-][\w-]+|vxlan\.calico|cali[\w-]+)\Z" % "|".join(_BRIDGES[:3]))
_UPLINK = re.compile(r"(?:en|eth|bond)[a-z0-9]+\Z")
_DEFAULT = re.compile(r"^(\S+)\t00000000\t\S+\t\S+\t\S+\t\S+\t\S+\t00000000\t", re.MULTILINE)
_ROUTES_LIMIT, _MOST = 1 << 20, 4000


def interface_switches(host):
    """`{"bridges": the bridges of pods, if all of them have netfilter on by themselves, "not_forwarding": interfaces of
    pods and of the default route that do not forward}`."""
    switches = {name: _value(host, "%s/%s/bridge/nf_call_iptables" % (_CLASS, name)) for name in _BRIDGES}
    there = [name for name in _BRIDGES if switches[name] is not None and name != "docker0"] or ["docker0"]
    bridges = there if all(switches[name] == "1" for name in there) else []
    closed = []
    # Two names of one value; what a person copied may have either.
    if "1" in (_value(host, "/proc/sys/" + FORWARD), _value(host, _CONF + "/all/forwarding")):
        status, names = host.list_dir(_CONF)
        closed = [name for name in (names if status == OK else ())[:_MOST] if name not in ("all", "default", "lo")
                  and (_OF_PODS.match(name) or _UPLINK.match(name))
                  and _value(host, "%s/%s/forwarding" % (_CONF, name)) == "0"]
        closed = _of_pods_and_uplinks(host, closed, names) if closed else []
    return {"bridges": bridges, "not_forwarding": closed}


def _of_pods_and_uplinks(host, closed, names):
    routes = host.read_text("/proc/net/route", _ROUTES_LIMIT)
    uplinks = set(_DEFAULT.findall(routes.text)) if routes.ok else {name for name in names if _UPLINK.match(name)}
    # Of several interfaces without known routes any may be the one that carries no traffic of pods.
    uplinks = uplinks if routes.ok or len(uplinks) == 1 else set()
    return sorted(name for name in closed if _OF_PODS.match(name) or name in uplinks)


def _value(host, path):
    text = host.read_text(path, limit=64)
    return text.text.strip() if text.ok else None


UNREAD_LIMIT = 20
HASHSIZE = "/sys/module/nf_conntrack/parameters/hashsize"
_NETLINK = "nf_conntrack_netlink"
_OPTION = re.compile(r"\bhashsize=(\d{1,9})\b")
# Parts that the section holds only on request.
NOT_REQUESTED = {"window_seconds": 0, "top": False, "kernel_log": False}
_OF_INTERFACE = "net/ipv4/conf/%s/rp_filter"
# Names of network cards (systemd.net-naming-scheme(7), and the kernel's own).
_CARD = re.compile(r"(?:eth|en[opsx])\w{1,12}\Z")
_LOG_LIMIT, _LOG_SECONDS = 16 * 1024 * 1024, 2.0
_LINE = re.compile(br"(?:\[\s*(\d{1,12})\.\d+\])?.*\bnf_conntrack: .*table full(?: in netns (\d{1,10}))?")
_NAMESPACE = re.compile(r"net:\[(\d+)\]\Z")
_LINE_LIMIT, TOP, _LIST_LIMIT, _LIST_SECONDS = 4096, 12, 512 * 1024 * 1024, 20.0
# There are about fifty kinds (protocol and state); kinds beyond this limit are counted together.
_KINDS_LIMIT = 200
# Protocols whose state follows name, number and timeout (libnetfilter_conntrack src/conntrack/snprintf_default.c).
_WITH_STATE = ("tcp", "sctp", "dccp")
_MARKS = ((b"[UNREPLIED]", "UNREPLIED"), (b"[ASSURED]", "ASSURED"))
_LOOKS = 10


def collect_conntrack(host, node, kube_proxy, kubelet_version, modules=None, options=None):
    """The evidence dict. `kube_proxy` is the section node_kube_proxy; `kubelet_version()` is called where the version
    of kube-proxy is not known; `modules` is the section node_kernel_modules or None; `options` overrides
    NOT_REQUESTED."""
    options = dict(NOT_REQUESTED, **(options or {}))
    live = node["place"] in WITH_KERNEL
    if node["place"] == LIVE:
        first_counters(host)
    names = MODULES + ((_NETLINK,) if options["top"] else ())
    if not {row["name"] for row in (modules or {}).get("modules", ())}.issuperset(names):
        modules = collect_kernel_modules(host, node, list(names))
    rows = {row["name"]: row for row in modules["modules"]}
    section = {"schema": 1, "collected": {}, "memory_bytes": read_memory(host) if live else None,
               "cpus": read_cpus(host) if live else None}
    bundle = node["place"] == BUNDLE
    _fill_table(host, live, section, bundle)
    _fill_requested(host, live, section, options, rows, bundle)
    if bundle and OK in (section["collected"]["counters"], section["collected"]["kernel_log"]):
        section["collected"]["table"] = OK  # Its counters, or its messages in the kernel log, were read.
    setting = Setting(live=live, modules=rows, loader=modules["boot_loader"], memory_bytes=section["memory_bytes"],
                      release=modules["next_boot"]["release"],
                      hashsize=_hashsize(host, live, rows, section["collected"]),
                      **_of_kube_proxy(kube_proxy, kubelet_version, section["cpus"]))
    keys = Keys(host, setting)
    section["collected"]["sysctl_d"] = keys.status
    section["collected"]["sysctls"] = (OK if any(row["now"] is not None for row in keys.rows)
                                       else UNCOLLECTED if bundle else ABSENT)
    section["limit_when_loaded"] = keys.fresh_limit if live and section["collected"]["table"] == ABSENT else None
    section.update(sysctls=keys.rows, missing_keys=keys.missing, unread=keys.unread[:UNREAD_LIMIT],
                   hashsize=setting.hashsize, kube_proxy=setting.described,
                   rp_filter=_rp_filter(host, bundle) if live else None, rp_filter_at_boot=keys.rp_filters(),
                   interfaces=interface_switches(host) if live else None, untranslated=None)
    section["collected"]["entries"] = ABSENT
    if bundle:
        section["collected"]["entries"], section["untranslated"] = _untranslated(host)
    section["timeouts"] = {row["key"]: row["now"] for row in keys.rows
                           if row["key"] in TIMEOUTS and isinstance(row["now"], int)}
    section["size"] = need_of(section)
    section["growth"] = growth(host) if node["place"] == LIVE and section["max"] is not None else None
    return section


def _untranslated(host):
    """(status, UDP connections of a bundle that no rule translated and no packet answered)."""
    shown = host.read_text(BUNDLE_CONNTRACK)
    if not shown.ok:
        return shown.status, None
    rows = [line.split(" ") for line in shown.text.splitlines()]
    return OK, [{"client": client, "address": address, "port": int(port)} for client, address, port in rows]


def _fill_table(host, live, section, bundle):
    nothing = {"status": ABSENT, "max": None, "count": None, "buckets": None}
    table = read_table(host) if live else nothing
    counters = read_counters(host) if live and (bundle or table["max"] is not None) else (ABSENT, {})
    slab, entry = entry_bytes(host) if live and table["max"] is not None else (ABSENT, None)
    section["collected"].update(table=table.pop("status"), counters=counters[0], slab=slab)
    section.update(table, counters=counters[1], lost=lost(host, counters[1]),
                   used_percent=percent(table["count"], table["max"]),
                   max_per_bucket=round(float(table["max"]) / table["buckets"], 2)
                   if table["max"] is not None and table["buckets"] else None)
    section.update(memory_of(table, entry, section["memory_bytes"]))


def _fill_requested(host, live, section, options, rows, bundle):
    section.update(rates=None, consumers=None, kernel_log={"table_full": None, "since": None})
    section["collected"].update(consumers=ABSENT, kernel_log=ABSENT)
    if not live or (section["max"] is None and not bundle):
        return
    if options["window_seconds"]:
        section["rates"] = watched(host, options["window_seconds"], section["counters"])
    if options["top"]:
        section["collected"]["consumers"], section["consumers"] = consumers(
            host, rows[_NETLINK]["state"] in ("loaded", "builtin"))
    lost_now = section["lost"]
    if options["kernel_log"] or bundle or lost_now is None or lost_now["dropped"] or lost_now["evicted"]:
        since = lost_now or {"since": "boot", "since_uptime_seconds": 0}
        section["collected"]["kernel_log"], lines = table_full_lines(host, since["since_uptime_seconds"])
        section["kernel_log"] = {"table_full": lines, "since": since["since"]}


def _of_kube_proxy(section, kubelet_version, cpus):
    """The fields of `Setting` about kube-proxy, and `described`, their form in the evidence."""
    # Of a bundle the settings may be known, and whether it runs is not.
    if not section["running"] and section["conntrack"] is None:
        wish = predict.Wish(None, predict.UNKNOWN, False) if section["running"] is None else predict.NOTHING
        return {"limit": wish, "numbers": {}, "by": "kube-proxy", "forwards": False, "described": None}
    settings, by = section["conntrack"], section["conntrack_by"] or "kube-proxy"
    own = section["version"]
    versions = predict.versions_of(own, None if own else kubelet_version(), section["runs_in"] == "embedded")
    limit = predict.limit_wish(versions, cpus, settings, by)
    numbers = {key.proxy_field: predict.number_wish(versions, settings.get(key.proxy_field, key.proxy_default), by)
               for key in KEYS if key.proxy_field not in (None, "maxPerCore")} if settings is not None else {}
    described = {"versions": versions, "by": by, "max_per_core": (settings or {}).get("maxPerCore"),
                 "min": (settings or {}).get("min"), "settings_known": settings is not None, "writes": limit.rule,
                 "value": limit.value, "capped": limit.capped}
    return {"limit": limit, "numbers": numbers, "by": by, "forwards": section["mode"] == "ipvs", "described": described}


def _hashsize(host, live, rows, collected):
    """The present hashsize, and the one that modprobe.d or the kernel command line sets for the next load; options in
    modprobe.d have no effect on code that is built in."""
    now = number(host.read_text(HASHSIZE).text) if live else None
    option, where, collected["module_options"] = None, None, ABSENT
    if (rows["nf_conntrack"] or {}).get("at_boot") != "builtin":
        conf = ModprobeConf(host)
        collected["module_options"] = conf.status
        for path, directive in conf.about("nf_conntrack"):
            found = _OPTION.search(directive.rest) if directive.keyword == "options" else None
            if found:
                option, where = int(found.group(1)), "%s:%d" % (path, directive.line)
    for name, value in parse_kernel_cmdline(host.read_text("/proc/cmdline").text) if live else ():
        if name == "nf_conntrack.hashsize" and re.match(r"[0-9]{1,9}\Z", value or ""):
            option, where = int(value), "/proc/cmdline"
    return {"now": now if isinstance(now, int) else None, "option": option or None,
            "option_by": where if option else None}


def _rp_filter(host, bundle):
    """rp_filter of the interface of the default route: the kernel uses the higher value of the interface's own and that
    of `all` (Documentation ip-sysctl)."""
    # The kernel lists routes to the same network by their metrics, the lowest first (net/ipv4/fib_trie.c
    # fib_find_alias()).
    routes = parse_proc_net_route(host.read_text("/proc/net/route").text)
    name = next((route.interface for route in routes if route.network is None), None)
    name = _one_of_all(host) if name is None and bundle else name
    every = read_key(host, "net/ipv4/conf/all/rp_filter")[1]
    own = read_key(host, _OF_INTERFACE % name)[1] if name and "/" not in name else None
    known = isinstance(every, int) and isinstance(own, int)
    return {"interface": name, "all": every, "own": own, "effective": max(every, own) if known else None}


def _one_of_all(host):
    """A network card of a bundle without routes, where the filters of all cards are the same, or None."""
    cards = sorted(filter(_CARD.match, host.list_dir("/proc/sys/net/ipv4/conf")[1]))
    same = len({read_key(host, _OF_INTERFACE % name)[1] for name in cards}) == 1
    return cards[0] if same else None


# Messages about a full conntrack table in the kernel log.
# The kernel limits the rate of the message (net/netfilter/nf_conntrack_core.c net_warn_ratelimited()) and the log is a
# ring buffer, so a missing message proves nothing. Kernels that name the network namespace in the message (seen with
# 6.18) log the full tables of pods too, which are not that of the node.
def table_full_lines(host, since_uptime_seconds):
    """(status, how many messages since that time report that the table of this network namespace is full)."""
    count, rest = [0], [b""]
    own = _NAMESPACE.match(host.read_link("/proc/self/ns/net") or "")

    def counts(match):
        elsewhere = own and match.group(2) and match.group(2).decode() != own.group(1)
        return int(match.group(1) or 0) >= since_uptime_seconds and not elsewhere

    def consume(block):
        lines = (rest[0] + block).split(b"\n")
        rest[0] = lines.pop()[-_LINE_LIMIT:]
        found = [_LINE.match(line[:_LINE_LIMIT]) for line in lines]
        count[0] += sum(1 for match in found if match and counts(match))

    done = host.stream(["dmesg"], consume, _LOG_SECONDS, _LOG_LIMIT)
    status = DENIED if done.status == OK and done.rc != 0 else done.status
    return status, count[0] if status == OK else None


# Which protocols and states fill the conntrack table, on request.
# The program conntrack loads nf_conntrack_netlink, so it is run only where the kernel has that module already.
def consumers(host, loaded):
    """(status, [{"protocol", "state", "count"}] of the most frequent); `loaded`: whether its module is in the
    kernel."""
    if not loaded:
        return ABSENT, None
    counts, rest = {}, [b""]

    def consume(block):
        lines = (rest[0] + block).split(b"\n")
        rest[0] = lines.pop()[-_LINE_LIMIT:]
        for line in lines:
            kind = kind_of(line)
            if kind:
                kind = kind if kind in counts or len(counts) < _KINDS_LIMIT else ("other", "")
                counts[kind] = counts.get(kind, 0) + 1

    done = host.stream(["conntrack", "-L"], consume, _LIST_SECONDS, _LIST_LIMIT)
    if done.status != OK or done.rc != 0:
        return done.status if done.status != OK else DENIED, None
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return OK, [{"protocol": protocol, "state": state or None, "count": count} for (protocol, state), count in rows]


def kind_of(line):
    """(protocol, state or an empty text) of a line of `conntrack -L`, None for other lines."""
    words = line.split(None, 4)
    if len(words) < 4 or not words[1].isdigit():
        return None
    protocol = words[0].decode("ascii", "replace")[:16]
    if protocol in _WITH_STATE:
        return protocol, words[3].decode("ascii", "replace")[:16]
    return protocol, next((name for mark, name in _MARKS if mark in line), "")


def watched(host, seconds, before):
    """`{"window_seconds", "highest_count", "per_second"}`; `before` are the counters at the beginning."""
    started, highest = time.monotonic(), None
    for _look in range(_LOOKS):
        time.sleep(seconds / float(_LOOKS))
        count = read_key(host, COUNT)[1]
        if isinstance(count, int):
            highest = max(count, highest or 0)
    after = read_counters(host)[1]
    window = time.monotonic() - started
    return {"window_seconds": round(window, 1), "highest_count": highest,
            "per_second": {name: round((after[name] - before[name]) / window, 3) for name in sorted(after)
                           if name in before}}
