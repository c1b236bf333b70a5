# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The joins: values that JMESPath cannot join, made once for each host from its evidence. PRIVATE to the collection.

An expression of a check reads them in the section `joins`. A join gives rows or a value and decides nothing that a
check can select.
"""

from . import conntrack, kube_proxy, site

_MODE = ("node_kube_proxy.effective_mode", "node_kube_proxy.mode")
_SYNC = "node_kube_proxy.sync"
_RULES = "node_iptables_chains.observations"
_FILTER = "node_conntrack.rp_filter_at_boot"
# {name: (function of the evidence, paths that it reads: their single values stand in the evidence of a finding)}
JOINS = {
    "agent_memory": (site.agent_memory, ("node_cni.agent",)),
    "autoload_off": (site.autoload_off, ("node_kernel_modules.loading.autoload",)),
    "bridge_doubts": (conntrack.bridge_doubts, ("node_cni.collected.net_d",)),
    "families_lacking": (site.families_lacking, ()),
    "growth_doubt": (conntrack.growth_doubt, ("node_host.place", "node_conntrack.growth", "node_conntrack.counters")),
    "hook_files": (site.hook_files, ("node_flush_hooks.files",)),
    "hook_files_left_out": (site.hook_files_left_out, ()),
    "kube_proxy_api": (kube_proxy.kube_proxy_api, ()),
    "kube_proxy_failed_start": (kube_proxy.kube_proxy_failed_start, (_SYNC, "node_kube_proxy.lacks")),
    "kube_proxy_files_unread": (kube_proxy.kube_proxy_files_unread, _MODE),
    "kube_proxy_limit": (conntrack.kube_proxy_limit, (
        "node_host.place", "node_conntrack.kube_proxy.settings_known", "node_conntrack.sysctls")),
    "kube_proxy_mode": (kube_proxy.kube_proxy_mode, _MODE),
    "kube_proxy_outage": (kube_proxy.kube_proxy_outage, (
        "node_kube_proxy.outage", "node_iptables_chains.services", "node_ipvs.dummy_interface.present",
        "node_ipvs.virtual_servers", "node_kubelet.started_seconds_ago", "node_kube_proxy.outage.state")),
    "kube_proxy_ports": (kube_proxy.kube_proxy_ports, (
        _RULES, "node_kube_proxy.state", "node_kube_proxy.starting", "node_kube_proxy.collected.metrics",
        "node_kube_proxy.collected.healthz")),
    "kube_proxy_rules": (kube_proxy.kube_proxy_rules, ("node_kube_proxy.rules", *_MODE, _SYNC, _RULES)),
    "kube_proxy_sync": (kube_proxy.kube_proxy_sync, (_SYNC,)),
    "kubelet_chains": (kube_proxy.kubelet_chains, (
        "node_kubelet.initialisation.families", "node_xtables_lock.holder")),
    "loose_filter": (conntrack.loose_filter, (_FILTER, "node_conntrack.sysctls")),
    "missing_services": (kube_proxy.missing_services, ("node_ipvs.service_sets",)),
    "modules_unclear": (site.modules_unclear, ()),
    "not_forwarding": (conntrack.not_forwarding, ("node_conntrack.interfaces.not_forwarding",)),
    "observations": (site.observations, (_RULES,)),
    "pod_filter_at_boot": (conntrack.pod_filter_at_boot, (_FILTER,)),
    "rules_unread": (kube_proxy.rules_unread, ("node_iptables_chains.unread",)),
    "site_firewalls": (site.site_firewalls, ("node_cni.plugins", "node_flush_hooks.ufw", "node_flush_hooks.firewalld")),
    "unrepaired_rules": (kube_proxy.unrepaired_rules, (_SYNC, "node_kube_proxy.started_seconds_ago", _RULES)),
    "version_faults": (site.version_faults, (
        "node_iptables_backend.nft_containers", "node_kube_proxy.mode", "node_iptables_chains.owners",
        "node_iptables_backend.containers", "node_iptables_backend.nft", "node_kube_proxy.running")),
}


def joins_of(evidence):
    """The section `joins` of one host."""
    return {name: function(evidence) for name, (function, _reads) in JOINS.items()}


def reads_of(path):
    """The paths to evidence behind a path in an expression."""
    section, _dot, rest = path.partition(".")
    return JOINS[rest.partition(".")[0]][1] if section == "joins" else (path,)
