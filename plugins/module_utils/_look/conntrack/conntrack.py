# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_conntrack: how full the conntrack table is, lost connections, and the predicted value of each
sysctl. PRIVATE to the collection."""

import re

from ..._conntrack import kube_proxy as proxy
from ..._conntrack.predict import number
from ..._conntrack.keys import KEYS, MODULES, TIMEOUTS
from ..._conntrack.need import need_of
from ..._host.host import ABSENT, OK
from ..._names import UNCOLLECTED
from ..._parse.kernel.kernel_cmdline import parse_kernel_cmdline
from ..._parse.proc.net_route import parse_proc_net_route
from ..host.host import read_cpus, read_memory
from ..host.place import BUNDLE, LIVE, WITH_KERNEL
from ..modules.kernel_modules import collect_kernel_modules
from ..modules.modprobe_conf import ModprobeConf
from .keys import Keys, Setting
from .now import entry_bytes, first_counters, growth, lost, memory_of, percent, read_counters, read_key, read_table

UNREAD_LIMIT = 20
HASHSIZE = "/sys/module/nf_conntrack/parameters/hashsize"
_NETLINK = "nf_conntrack_netlink"
_OPTION = re.compile(r"\bhashsize=(\d{1,9})\b")
# Parts that the section holds only on request.
NOT_REQUESTED = {"window_seconds": 0, "top": False, "kernel_log": False}
_OF_INTERFACE = "net/ipv4/conf/%s/rp_filter"
# Names of network cards (systemd.net-naming-scheme(7), and the kernel's own).
_CARD = re.compile(r"(?:eth|en[opsx])\w{1,12}\Z")


def collect_conntrack(host, node, kube_proxy, kubelet_version, modules=None, options=None):
    """The evidence dict.

    `kube_proxy` is the section node_kube_proxy; `kubelet_version()` is called where the version of kube-proxy is not
    known; `modules` is the section node_kernel_modules or None; `options` overrides NOT_REQUESTED.
    """
    options = dict(NOT_REQUESTED, **(options or {}))
    live = node["place"] in WITH_KERNEL
    if node["place"] == LIVE:
        first_counters(host)
    modules = _with_rows(host, node, modules, MODULES + ((_NETLINK,) if options["top"] else ()))
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
                   rp_filter=_rp_filter(host, bundle) if live else None, rp_filter_at_boot=keys.rp_filters())
    section["timeouts"] = {row["key"]: row["now"] for row in keys.rows
                           if row["key"] in TIMEOUTS and isinstance(row["now"], int)}
    section["size"] = need_of(section)
    section["growth"] = growth(host) if node["place"] == LIVE and section["max"] is not None else None
    return section


def _with_rows(host, node, modules, names):
    """A section node_kernel_modules that has a row for each of the names."""
    known = {row["name"] for row in (modules or {}).get("modules", ())}
    return modules if known.issuperset(names) else collect_kernel_modules(host, node, list(names))


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
        from .window import watched
        section["rates"] = watched(host, options["window_seconds"], section["counters"])
    if options["top"]:
        from .top import consumers
        section["collected"]["consumers"], section["consumers"] = consumers(
            host, rows[_NETLINK]["state"] in ("loaded", "builtin"))
    lost_now = section["lost"]
    if options["kernel_log"] or bundle or lost_now is None or lost_now["dropped"] or lost_now["evicted"]:
        from .log import table_full_lines
        since = lost_now or {"since": "boot", "since_uptime_seconds": 0}
        section["collected"]["kernel_log"], lines = table_full_lines(host, since["since_uptime_seconds"])
        section["kernel_log"] = {"table_full": lines, "since": since["since"]}


def _of_kube_proxy(section, kubelet_version, cpus):
    """The fields of `Setting` about kube-proxy, and `described`, their form in the evidence."""
    # Of a bundle the settings may be known, and whether it runs is not.
    if not section["running"] and section["conntrack"] is None:
        wish = proxy.Wish(None, proxy.UNKNOWN, False) if section["running"] is None else proxy.NOTHING
        return {"limit": wish, "numbers": {}, "by": "kube-proxy", "forwards": False, "described": None}
    settings, by = section["conntrack"], section["conntrack_by"] or "kube-proxy"
    own = section["version"]
    versions = proxy.versions_of(own, None if own else kubelet_version(), section["runs_in"] == "embedded")
    limit = proxy.limit_wish(versions, cpus, settings, by)
    numbers = {key.proxy_field: proxy.number_wish(versions, settings.get(key.proxy_field, key.proxy_default), by)
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
