# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All sections of one node in one look."""

from .. import _errors
from .backends.iptables_backend import collect_iptables_backend
from .host.host import collect_host
from .ipvs.ipvs import collect_ipvs
from .cni.cni import collect_cni
from .kube.kube_proxy import collect_kube_proxy
from .kube.kubelet import collect_kubelet
from .lock.xtables_lock import collect_xtables_lock
from .modules.kernel_modules import collect_kernel_modules
from .rules.iptables_chains import collect_iptables_chains
from .rules.rule_sets import rules_of


def _collect_flush_hooks(look):
    from .hooks.flush_hooks import DIRECTORIES, collect_flush_hooks
    return collect_flush_hooks(look.host, look.node,
                               DIRECTORIES if look.hook_directories is None else look.hook_directories)


def _collect_conntrack(look):
    from .conntrack.conntrack import collect_conntrack
    modules = look.section("kernel_modules") if "kernel_modules" in look.requested else None
    return collect_conntrack(look.host, look.node, look.section("kube_proxy"),
                             lambda: look.section("kubelet")["version"], modules,
                             {name: look.options[name] for name in ("window_seconds", "top", "kernel_log")})


def _collect_kube_proxy(look):
    """Where only other sections need it, there is neither a second reading nor the comparison with the rules."""
    if "kube_proxy" not in look.requested:
        return collect_kube_proxy(look.host, look.node)
    paths = {source: look.options[source + "_src"] for source in ("metrics", "healthz")
             if look.options[source + "_src"]}
    if paths:
        from .kube.kube_proxy_running import fill_from_files
        # The node of the files is not the host that reads them.
        section = dict(collect_kube_proxy(look.host, dict(look.node, place="image")), running=None)
        fill_from_files(look.host, section, paths)
        return section
    section = collect_kube_proxy(look.host, look.node, look.options["window_seconds"])
    if section["pid"]:
        from .kube.kube_proxy_rules import compare_with_kernel
        compare_with_kernel(look.host, look.node, section)
    return section


def _collect_logs(look):
    from .logs.recent import collect_node_logs
    return collect_node_logs(look.host, look.node)


# Section -> the function that collects it from an open tree (_Look).
COLLECTORS = {
    "host": lambda look: collect_host(look.host, look.node),
    "kernel_modules": lambda look: collect_kernel_modules(look.host, look.node, look.modules, look.kernel),
    "iptables_backend": lambda look: collect_iptables_backend(look.host, look.node, rules_of(look.host, look.node)),
    "iptables_chains": lambda look: collect_iptables_chains(look.host, look.node, None, look.section("kube_proxy"),
                                                            look.section("kubelet")),
    "xtables_lock": lambda look: collect_xtables_lock(look.host, look.node), "flush_hooks": _collect_flush_hooks,
    "conntrack": _collect_conntrack,
    "ipvs": lambda look: collect_ipvs(look.host, look.node, look.section("kube_proxy")),
    "kubelet": lambda look: collect_kubelet(look.host, look.node), "kube_proxy": _collect_kube_proxy,
    "cni": lambda look: collect_cni(look.host, look.node), "logs": _collect_logs}
SECTIONS = tuple(sorted(COLLECTORS))
# Logs are no state: a single call reads them on request, and the policy of a node (read_logs) asks for them.
UNASKED = tuple(section for section in SECTIONS if section != "logs")
# Options of the sections conntrack and kube_proxy, which a look has only on request.
NOT_REQUESTED = {"window_seconds": 0, "top": False, "kernel_log": False, "metrics_src": None, "healthz_src": None}
WINDOW_SECONDS_MAX = 300


class _Look:
    """One look at a node. A section that other sections need is collected once, even if it was not requested itself."""

    def __init__(self, host, node, sections, modules, kernel, hook_directories, options):
        self.host, self.node = host, node
        self.requested = sections
        self.modules, self.kernel, self.hook_directories, self.options = modules, kernel, hook_directories, options
        self._done = {}

    def section(self, name):
        if name not in self._done:
            self._done[name] = COLLECTORS[name](self)
        return self._done[name]


def collect_from(host, node, sections, modules=None, kernel=None, hook_directories=None, **options):
    """`{"node_<section>": evidence}` for the sections asked for; `node` is what open_tree() returned, `options`
    overrides NOT_REQUESTED. Raises BadInput."""
    options = dict(NOT_REQUESTED, **options)
    _refuse_wrong(options, sections)
    if "conntrack" in sections and node["place"] == "live":
        # The counters may grow in the time that the other sections take.
        from .conntrack.now import first_counters
        first_counters(host)
    look = _Look(host, node, sections, modules, kernel, hook_directories, options)
    if "kube_proxy" in sections:
        # Its metrics are read before the rules of the other sections, so that a write in between is noticed.
        look.section("kube_proxy")
    return {"node_" + section: look.section(section) for section in sections}


def _refuse_wrong(options, sections):
    if not 0 <= options["window_seconds"] <= WINDOW_SECONDS_MAX:
        raise _errors.BadInput("window_seconds is %d; give 0 (no window) to %d"
                               % (options["window_seconds"], WINDOW_SECONDS_MAX))
    if not options["metrics_src"] and not options["healthz_src"]:
        return
    if options["window_seconds"]:
        raise _errors.BadInput("window_seconds reads the node twice, but files do not change; leave out one of them")
    if list(sections) != ["kube_proxy"]:
        raise _errors.BadInput("metrics_src and healthz_src are files of one kube-proxy, and the other sections are of "
                               "this node; give gather_subset [kube_proxy]")
