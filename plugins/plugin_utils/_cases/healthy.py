# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence of a healthy node, and what the cases of a check change in it. PRIVATE to the collection."""

import copy

from ...module_utils._conntrack.keys import BUCKETS, FORWARD, KEYS, MAX, STREAM, TIMEOUTS, dotted
from .._answer import validate
from .._options import unknown_name

RELEASE, NEXT = "6.1.0-49-amd64", "6.12.9-amd64"
KERNEL = {"release": RELEASE, "running": True, "next_boot": True, "tree": "/usr/lib/modules/" + RELEASE, "index": "ok",
          "index_cause": "", "config": "/boot/config-" + RELEASE, "config_complete": True}
MODULE = {
    "state": "loaded", "cause": "proc_modules", "evidence": "/proc/modules lists it as Live", "package": None,
    "kernels": [], "blocked_for": [], "blocked_unclear": [], "blocks": [], "persisted": True, "lacking_on": [],
    "persisted_by": [{"file": "/etc/modules-load.d/kubenode-netfilter.conf", "line": 3}], "at_boot": "loaded",
    "at_boot_cause": "", "state_next_boot": "loadable",
}
# Sysctls whose value comes from elsewhere than their defaults in KEYS: the fields of their rows.
_SYSCTLS = {
    MAX: {"now": 131072, "at_boot": 262144, "kube_proxy_decides": True,
          "owner": "kube-proxy (conntrack.maxPerCore and conntrack.min)",
          "reason": "kube-proxy (conntrack.maxPerCore and conntrack.min) overrides it"},
    BUCKETS: {"now": 65536}, STREAM: {"now": 120},
    FORWARD: {"now": 1, "assigned": 1, "assigned_by": "/etc/sysctl.d/k8s.conf:1", "owner": "/etc/sysctl.d/k8s.conf:1"},
}


def _sysctl(key):
    """The row of a sysctl in node_conntrack.sysctls."""
    fields = _SYSCTLS.get(key.key, {})
    if key.proxy_default is not None:
        fields = {"now": key.proxy_default, "at_boot": key.default, "kube_proxy_decides": True,
                  "owner": "kube-proxy (conntrack.%s)" % key.proxy_field}
    now = fields.get("now", key.default)
    row = {"key": dotted(key.key), "module": key.module, "now": now, "at_boot": now, "at_boot_by": None,
           "after_kube_proxy": now, "owner": None, "survives": True, "assigned": None, "assigned_by": None,
           "ignored_by": None, "overruled": False, "late": False, "kube_proxy_decides": False,
           "missing": False, "reason": "the default of the kernel"}
    return dict(row, **fields)


SECTIONS = {
    "node_host": {
        "schema": 1, "collected": {"os_release": "ok", "kernel_release": "ok", "place": "ok"}, "place": "live",
        "bundle": None, "root": "/",
        "place_reason": "kernel threads are visible and process 1 has the same root directory",
        "os": {"id": "debian", "id_like": [], "name": "Debian GNU/Linux 12", "version_id": "12", "variant_id": None},
        "kernel_release": RELEASE, "architecture": "x86_64", "as_root": True,
        "boot_id": "e7a253d2-85a0-4000-9bbe-14594b2bea2b", "uptime_seconds": 86400, "init": "systemd",
        "container_runtimes": ["containerd"], "immutable": False, "immutable_by": None, "memory_bytes": 8 << 30,
        "cpu_count": 4, "ipv6": True,
        "tools": {"iptables": "/usr/sbin/iptables", "iptables-save": "/usr/sbin/iptables-save", "conntrack": None,
                  "nft": "/usr/sbin/nft"},
    },
    "node_kernel_modules": {
        "schema": 1, "collected": {"modules_directory": "ok", "cmdline": "ok", "modprobe_conf": "ok",
                                   "modules_load": "ok", "proc_modules": "ok", "boot_loader": "ok"},
        "supports_modules": True,
        "running_release": RELEASE, "judged_release": RELEASE, "running_tree": "ok", "running_tree_cause": None,
        "loading": {"load": "allowed", "autoload": "allowed", "because": []}, "kernels": [KERNEL],
        "kernels_left_out": 0, "next_boot": {"release": RELEASE, "certain": True, "because": "the only one"},
        "boot_loader": "systemd", "boot_service": "enabled", "unreadable": [], "unreadable_count": 0,
    },
    "node_iptables_backend": {
        "schema": 1, "backend": "nft", "version": "1.8.9", "legacy_tables": [], "collected": dict.fromkeys(
            ("binaries", "version", "legacy_tables", "alternatives", "rules", "containers"), "ok"), "binaries": [
                {"name": name, "path": "/usr/sbin/" + name, "target": "/usr/sbin/xtables-nft-multi", "backend": "nft",
                 "version": "1.8.9", "alternative": None} for name in ("iptables", "iptables-save", "ip6tables")],
        "unread": [], "unread_count": 0, "backend_by_family": {"ipv4": "nft", "ipv6": "nft"}, "containers_left_out": 0,
        "sets": [{"backend": "nft", "family": family, "readable": True, "rules": 192, "kube_rules": 171, "drops": 3,
                  "hint": True, "kubelet_canary": True, "proxy_canary": True} for family in ("ipv4", "ipv6")],
        "kubelet_backend": {"ipv4": "nft", "ipv6": "nft"}, "kube_proxy_backend": {"ipv4": "nft", "ipv6": "nft"},
        "containers": [{"container": "kube-proxy", "pod": "kube-proxy-x7k2p", "namespace": "kube-system",
                        "comm": "kube-proxy", "pid": 812, "path": "/usr/sbin/iptables", "backend": "nft",
                        "version": "1.8.11", "status": "ok", "strips": False,
                        "because": "both write and read matches in the same form", "fault": None}],
        "nft": {"path": "/usr/sbin/nft", "status": "ok", "version": "1.0.6", "json": True, "built": "2023-09-16",
                "breaks": False, "because": "no version that it meets is known to break it"},
        "nft_containers": [{"container": "kube-proxy", "pod": "kube-proxy-x7k2p", "namespace": "kube-system",
                            "comm": "kube-proxy", "pid": 812, "path": "/usr/sbin/nft", "status": "ok",
                            "version": "1.0.6", "json": True, "built": "2023-09-16", "uses": False, "breaks": False,
                            "because": "no version that it meets is known to break it"}], "nft_containers_left_out": 0,
        "mixing": {"verdict": "none", "because": "all rules are in the nft backend"},
    },
    "node_iptables_chains": {
        "schema": 1, "collected": {"nft_ipv4": "ok", "nft_ipv6": "ok", "legacy_ipv4": "absent", "legacy_ipv6": "absent",
                                   "nftables": "ok"}, "unread": [], "uncovered": [], "source": "live",
        "read_at": "2026-11-21T10:00:00Z",
        "mode": "iptables", "mode_source": "the default: no other value is configured", "kubernetes": "1.33",
        "kubernetes_source": "kubelet --version", "rules": 384, "notices": [], "observations": [], "observed": {},
        "starting": None, "expected": [
            {"kind": kind, "owner": owner, "network": network, "family": "ipv4", "table": table, "chain": None,
             "expected": count, "missing": 0, "unknown": 0, "pods": [], "process": process, "restart": None,
             "reason": None}
            for kind, owner, network, table, count, process in (
                ("pod_masquerade", "bridge", "pods", "nat", 31, None),
                ("pod_host_ports", "portmap", "pods", "nat", 2, None),
                ("agent", "ip-masq-agent", None, "nat", 1, "ip-masq-agent in pod kube-system/ip-masq-agent-x7k2p"))],
        "rule_sets": [], "left_out": {}, "owners": [], "services": 31, "rules_per_service": 12.4,
        "service_rows": [], "service_rows_left_out": 31, "digest": {
            "services": "4f0f6c1a", "endpoints": "9a1c2b3d", "service_count": 31, "endpoint_count": 97,
            "read_at": "2026-11-21T10:00:00Z"}, "counters": None,
        "footprint": {"own_peak_bytes": 41000000, "helpers_peak_bytes": 23000000, "seconds": 0.4}, "networks": {
            "services": [{"family": "ipv4", "network": "10.96.0.0/24", "addresses": 31, "name": "shop/web:http"},
                         {"family": "ipv6", "network": "fd00:10:96::/64", "addresses": 8, "name": "shop/web:http"}],
            "services_left_out": 0, "endpoints": [
                {"family": "ipv4", "network": "10.244.0.0/16", "addresses": 97, "name": "kube-system/kube-dns:dns"},
                {"family": "ipv6", "network": "fd00:10:244:1::/64", "addresses": 8, "name": "shop/web:http"},
                {"family": "ipv4", "network": "192.0.2.0/24", "addresses": 3,
                 "name": "monitoring/node-exporter:https"}], "endpoints_left_out": 0, "shared": []},
    },
    "node_ipvs": {
        "schema": 1, "collected": dict(dict.fromkeys(("ipsets", "sysctls", "endpoints"), "absent"), ip_vs="ok",
                                       addresses="ok"), "differing": None, "draining": 0, "conn_reuse_mode": None,
        "in_kernel": False, "virtual_servers": 0, "real_servers": 0, "without_real_servers": [], "schedulers": [],
        "without_real_servers_count": 0, "without_real_servers_percent": 0, "service_sets": None, "ipsets": [],
        "dummy_interface": {"present": False, "addresses": 0, "missing_addresses": 0, "missing_examples": [],
                            "held_servers": []}, "sysctls": [], "configured_scheduler": None, "leftover": False,
        "leftover_because": "no interface, virtual server or ipset of IPVS exists"},
    "node_kubelet": {
        "schema": 1, "collected": dict.fromkeys(("config", "journal", "processes", "rules", "unit", "version"), "ok"),
        "running": True, "version": "1.33.2", "version_source": "kubelet --version", "version_doubt": None,
        "distribution": "kubelet", "installed": "/usr/bin/kubelet", "pid": 790, "started_seconds_ago": 86340.5,
        "unit": {"name": "kubelet.service", "active_seconds": 86341.0, "restarts": 0, "kill_mode": "control-group",
                 "stops": [], "units": [], "containers": "keep_running", "effect": "containers keep running"},
        "config": {"file": "/var/lib/kubelet/config.yaml", "directory": None, "drop_ins": []},
        "settings": {"port": 10250, "read_only_port": 0, "healthz_port": 10248, "make_iptables_util_chains": True,
                     "iptables_masquerade_bit": 14, "iptables_drop_bit": 15, "hairpin_mode": "promiscuous-bridge"},
        "initialisation": {
            "expected": True, "because": "kubelet creates its chains once, at its start", "failed": [], "families": [
                {"family": family, "state": "done", "because": "its canary and its hint exist", "hint": True,
                 "canary": True, "log_line": None, "restart": "systemctl restart kubelet.service",
                 "effect": "containers keep running"} for family in ("ipv4", "ipv6")]},
    },
    "node_kube_proxy": {
        "schema": 1, "collected": dict(dict.fromkeys(("processes", "config", "configz", "healthz", "livez", "metrics",
                                                      "proxy_mode", "cgroup", "children", "sockets"), "ok"),
                                       version="absent"),
        "running": True, "runs_in": "container", "pid": 812, "program": "kube-proxy", "state": "S",
        "found_by": "the process that listens on port 10249", "replaced_by": None, "outage": None,
        "files": dict.fromkeys(("/etc/protocols", "libm.so.6", "libxt_addrtype.so", "libxt_comment.so",
                                "libxt_conntrack.so", "libxt_mark.so", "libxt_statistic.so"), "present"), "lacks": [],
        "effective_mode": "iptables",
        "sync_period_seconds": 30, "container": {"id": "5eed917563583", "name": "kube-proxy", "pod": "kube-proxy-x7k2p",
                                                 "namespace": "kube-system", "pod_uid": "a5c1f8d5"}, "restarts": 0,
        "health": {"healthz_code": 200, "livez_code": 200, "node_eligible": True, "unhealthy_families": []},
        "sync": [{"family": family, "never_synced": False, "syncs": 42, "queued_seconds_ago": 301.2,
                  "synced_seconds_ago": 300.9, "waiting": False, "waiting_seconds": 0.0, "behind_seconds": None,
                  "duration_p50_seconds": 0.05, "duration_p95_seconds": 0.12, "duration_p99_seconds": 0.24,
                  "duration_above_percent": 0.0,
                  "programming_p50_seconds": 0.4, "programming_p95_seconds": 0.9, "programming_p99_seconds": 1.6,
                  "programming_above_percent": 0.0, "restore_failures": 0, "partial_restore_failures": 0,
                  "nftables_failures": 0, "nftables_cleanup_failures": 0,
                  "no_local_endpoints": {"external": 2, "internal": 1}}
                 for family in ("ipv4", "ipv6")], "pending": {"services": 0, "endpoints": 0},
        "api_requests": {"200": 412}, "window": None, "api_server": None, "api_sockets": {
            "established": 1, "connecting": 0, "other": 0, "connecting_to": [], "readings": 1, "seconds": 0.0},
        "api_watch": {"state": "working", "because": "3 requests were answered and 0 failed in 60 s"},
        "rules": [{"family": family, "table": table, "promised": count, "in_kernel": count, "state": "equal",
                   "because": ""} for family, table, count in (
                       ("ipv4", "filter", 18), ("ipv4", "nat", 314), ("ipv6", "filter", 17), ("ipv6", "nat", 300))],
        "rules_because": "", "children": [], "ports_off": [], "modes": [], "advice": "iptables",
        "resources": {"memory_limit_bytes": 256 << 20, "memory_used_bytes": 40 << 20, "memory_percent": 15.6,
                      "oom_kills": 0, "oom_killed_recently": False, "cpu_quota_percent": 100.0,
                      "throttled_percent": 0.4, "throttled_seconds": 1.2},
        "mode": "iptables", "mode_source": "mode in /var/lib/kube-proxy/config.conf", "version": None,
        "ipvs_scheduler": None, "tools_root": "/proc/812/root", "started_seconds_ago": 86000.0, "starting": None,
        "cluster_cidr": ["10.244.0.0/16", "fd00:10:244::/56"], "detect_local_mode": None, "masquerade_all": False,
        "conntrack": {}, "conntrack_by": "kube-proxy", "tools": dict.fromkeys(
            ("conntrack", "ip6tables-restore", "ip6tables-save", "ipset", "iptables", "iptables-restore",
             "iptables-save", "nft"), "present"),
    },
    "node_logs": {
        "schema": 1, "collected": {"journal": "ok", "files": "ok"}, "now": "2026-11-22T10:00:00Z",
        "utc_offset_seconds": 3600, "read": ["journal"], "cut": False, "lines": [], "ends": None,
        "kube_proxy_ports": [],
    },
    "node_cni": {
        "schema": 1, "collected": {"conf_dir": "ok", "net_d": "ok", "processes": "ok", "routes": "ok",
                                   "runtime": "ok", "sandboxes": "ok", "service_ranges": "absent"},
        "agent": None, "plugins": ["bridge"], "name": "other",
        "runtime": {"name": "containerd", "source": "/etc/containerd/config.toml", "conf_dir": "/etc/cni/net.d",
                    "bin_dirs": ["/opt/cni/bin"]},
        "files": [{"path": "/etc/cni/net.d/10-bridge.conflist", "status": "ok", "used": True, "problem": None,
                   "network": "pods", "plugins": ["bridge"], "hidden_by": None}], "files_left_out": 0, "attached": None,
        "programs": [{"name": "bridge", "path": "/opt/cni/bin/bridge", "state": "present",
                      "reason": "/opt/cni/bin/bridge"}],
        "host_local": [{"network": "pods", "file": "/etc/cni/net.d/10-bridge.conflist", "used": True,
                        "directory": "/var/lib/cni/networks/pods", "status": "ok", "family": "ipv4",
                        "ranges": ["10.244.1.1-10.244.1.254"], "addresses": 253, "leased": 31, "free": 222,
                        "leased_percent": 12.3, "leaked": 0, "leaked_percent": 0.0, "leaked_examples": [],
                        "unchecked": 0, "reason": None}],
        "mtu": {"pods_mtu": 1450, "pods_source": "veth1a2b3c4d", "uplink": "eth0", "uplink_mtu": 1500,
                "tunnel": "flannel.1", "tunnel_mtu": 1450, "encapsulation": "vxlan", "overhead_bytes": 50,
                "carried_bytes": 1450, "too_large": False, "reason": None},
        "file": "/etc/cni/net.d/10-bridge.conflist", "service_ranges": [], "service_ranges_source": None,
        "pod_networks": [],
        "node_networks": [{"family": "ipv4", "network": "192.0.2.0/24", "interface": "eth0"},
                          {"family": "ipv6", "network": "2001:db8:1::/64", "interface": "eth0"}],
    },
    "node_conntrack": {
        "schema": 1, "collected": {"table": "ok", "counters": "ok", "slab": "ok", "sysctl_d": "ok",
                                   "consumers": "absent", "kernel_log": "absent", "module_options": "ok",
                                   "sysctls": "ok", "entries": "absent"},
        "memory_bytes": 8 << 30, "cpus": 4, "max": 131072, "count": 20480, "buckets": 65536, "used_percent": 15.6,
        "max_per_bucket": 2.0, "limit_when_loaded": None, "counters": {"drop": 3, "early_drop": 0, "insert_failed": 3},
        "lost": {"dropped": 0, "evicted": 0, "since": "boot", "since_uptime_seconds": 0},
        "kernel_log": {"table_full": None, "since": None}, "entry_bytes": 320, "entry_bytes_from": "the kernel",
        "total_bytes": 42467328, "memory_percent": 0.5, "growth": {"seconds": 1.4, "drop": 0, "insert_failed": 0},
        "timeouts": {row["key"]: row["now"] for row in map(_sysctl, KEYS) if row["key"] in TIMEOUTS}, "rates": None,
        "consumers": None, "untranslated": None, "missing_keys": [], "unread": [],
        "hashsize": {"now": 65536, "option": None, "option_by": None},
        "kube_proxy": {"versions": ["1.33.2"], "by": "kube-proxy", "settings_known": True, "max_per_core": None,
                       "min": None, "writes": "exactly", "value": 131072, "capped": False},
        "rp_filter": {"interface": "eth0", "all": 0, "own": 2, "effective": 2}, "size": None,
        "interfaces": {"bridges": [], "not_forwarding": []},
        "rp_filter_at_boot": [{"interfaces": name, "all": 0, "own": 2, "effective": 2,
                               "by": "/usr/lib/sysctl.d/50-default.conf:30"}
                              for name in ("cali*", "eni*", "lxc*", "veth*")],
        "sysctls": [_sysctl(key) for key in KEYS],
    },
    "node_flush_hooks": {
        "schema": 1, "collected": dict(dict.fromkeys(("systemd", "cron", "udev", "logrotate", "directories", "init",
                                                      "package_hooks"), "ok"),
                                       **dict.fromkeys(("cloud_init", "daemons", "ifupdown", "network_manager",
                                                        "networkd_dispatcher", "rc_local", "saved_rules"), "absent")),
        "hooks": [], "hook_count": 0, "hooks_left_out": 0, "files": [], "file_count": 0, "saved_rule_sets": [],
        "saved_left_out": 0, "unordered": [], "waiting": [], "written": [], "connections": [],
        "firewalld": None, "ufw": None,
        "scanned": {"files": 412, "bytes": 391234, "skipped": [], "skipped_count": 0, "other_languages": []},
    },
    "node_xtables_lock": {
        "schema": 1, "collected": {"locks": "ok", "processes": "ok", "lock_file": "ok", "uptime": "ok"},
        "path": "/run/xtables.lock", "kind": "file", "path_source": "the default of iptables", "device": "00:19",
        "inode": 1467, "matters": False, "doubt": None, "holder": None,
        "matters_because": "no legacy table exists and iptables of the node is nft: nft writers take no lock",
        "waiters": [], "waiter_count": 0, "hung": [], "hung_count": 0, "hung_after_seconds": 300, "agents_left_out": 0,
        "sample": None, "agents": [
            {"pid": 812, "comm": "kube-proxy", "who": "kube-proxy in pod kube-system/kube-proxy-hx7cw",
             "path": "/run/xtables.lock", "lock": "shared", "reason": "the same file as /run/xtables.lock of the node",
             "container": {
                 "id": "5eed917563583", "name": "kube-proxy", "pod": "kube-proxy-hx7cw", "namespace": "kube-system",
                 "pod_uid": "a5c1f8d5"}}],
    },
}
# A line of modprobe.d that stops every load of a module, and one that stops every load except modprobe by name.
INSTALL = {"for": ["load", "autoload", "boot"], "by": "install", "effect": "blocks", "module": "x",
           "file": "/etc/modprobe.d/cis.conf", "line": 3, "text": "install x /bin/true"}
BLACKLIST = dict(INSTALL, **{"for": ["autoload", "boot"], "by": "blacklist", "text": "blacklist x"})
UNCLEAR = dict(INSTALL, effect="unclear", text="install x /usr/local/bin/choose")
# Short words for common states of a module's row.
STATES = {
    "absent": {"state": "absent", "cause": "not_in_index", "evidence": "neither in modules.dep nor in modules.builtin",
               "state_next_boot": "absent", "at_boot": "absent"},
    "netfilter_off": {"state": "absent", "cause": "netfilter_off",
                      "evidence": "CONFIG_NETFILTER is not set in /boot/config-6.1.0-49-amd64",
                      "state_next_boot": "absent", "at_boot": "absent"},
    "config_off": {"state": "absent", "cause": "config_off",
                   "evidence": "CONFIG_X is not set in /boot/config-6.1.0-49-amd64", "state_next_boot": "absent",
                   "at_boot": "absent"},
    "file_missing": {"state": "absent", "cause": "file_missing",
                     "evidence": "modules.dep lists it, but the file does not exist", "state_next_boot": "absent",
                     "at_boot": "absent"},
    "not_shipped": {"state": "absent", "cause": "config_m_not_shipped",
                    "evidence": "CONFIG_X=m, but the modules do not include it", "state_next_boot": "absent",
                    "at_boot": "absent", "at_boot_cause": ""},
    "installable": {"state": "installable", "cause": "in_package", "evidence": "package kernel-modules-extra has it",
                    "state_next_boot": "installable", "package": {"name": "kernel-modules-extra", "source": "kops"},
                    "at_boot": "absent"},
    "unknown": {"state": "unknown", "cause": "no_evidence", "evidence": "nothing tells", "state_next_boot": "unknown",
                "at_boot": "unknown", "persisted": None},
    "builtin": {"state": "builtin", "cause": "modules_builtin", "evidence": "listed in modules.builtin",
                "state_next_boot": "builtin", "at_boot": "builtin", "persisted": False, "persisted_by": []},
    "loadable": {"state": "loadable", "cause": "in_index", "evidence": "kernel/net/x.ko"},
    "unpersisted": {"persisted": False, "persisted_by": [], "at_boot": "on_demand",
                    "at_boot_cause": "not listed in modules-load.d"},
    "installed_true": {"state": "loadable", "blocked_for": INSTALL["for"], "blocks": [INSTALL], "at_boot": "blocked",
                       "at_boot_cause": "/etc/modprobe.d/cis.conf:3"},
    "blacklisted": {"state": "loadable", "blocked_for": BLACKLIST["for"], "blocks": [BLACKLIST], "at_boot": "blocked",
                    "at_boot_cause": "/etc/modprobe.d/cis.conf:3"},
    "unclear": {"state": "loadable", "blocked_unclear": UNCLEAR["for"], "blocks": [UNCLEAR]},
    "unlisted": {"persisted": None, "at_boot": "unknown", "at_boot_cause": "the lists could not be read"},
    "next_absent": {"state_next_boot": "absent", "at_boot": "absent",
                    "kernels": [
                        {"releases": [NEXT], "state": "absent", "cause": "not_in_index",
                         "evidence": "not in modules.dep", "package": None}]},
    "next_unknown": {"state_next_boot": "unknown", "at_boot": "unknown"},
    "older_unknown": {"kernels": [{"releases": ["5.10.0-3-amd64"], "state": "unknown", "cause": "denied",
                                   "package": None, "evidence": "/lib/modules/5.10.0-3-amd64/modules.dep is not "
                                                                "readable as user 'ops'; run with become"}]},
    "lacking": {"lacking_on": ["5.10.0-3-amd64"]},
}


def healthy(names, modules=None, changes=None):
    """All sections for `names`; `modules` is {name or "*": state words}, `changes` is merged over the sections (null
    removes).

    `node_conntrack.of_keys` are changes of rows by the names of their keys. Raises BadInput for a module and a sysctl
    that have no row.
    """
    for name in modules or {}:
        if name != "*" and name not in names:
            raise unknown_name("modules: the module", name, names)
    evidence, rows = copy.deepcopy(SECTIONS), []
    for name in names:
        row = dict(copy.deepcopy(MODULE), name=name, module=name)
        for key in ("*", name):
            for word in str((modules or {}).get(key, "")).split():
                row.update(copy.deepcopy(STATES[word]))
        rows.append(row)
    evidence["node_kernel_modules"]["modules"] = rows
    evidence = merged(evidence, changes or {})
    of_keys = evidence.get("node_conntrack", {}).get("of_keys", {})
    sysctls = {row["key"]: row for row in evidence["node_conntrack"]["sysctls"]} if of_keys else {}
    for name, change in of_keys.items():
        if name not in sysctls:
            raise unknown_name("evidence.node_conntrack.of_keys: the sysctl", name, sysctls)
        sysctls[name].update(change)
    for name, section in evidence.items():
        if isinstance(section, dict) and name in validate.documented_sections():
            for key, shape in validate.documented_sections()[name].contains.items():
                _complete(section.get(key), shape)
    return evidence


def _complete(value, shape):
    """Adds the keys that a table of cases leaves out: a row of a real node has every documented key."""
    for item in value if isinstance(value, list) and shape.element else ():
        _complete(item, shape.element)
    if isinstance(value, dict) and shape.contains:
        for key, part in shape.contains.items():
            if key not in value:
                value[key] = None if part.nullable else {"list": [], "dict": {}}[part.type]
            _complete(value[key], part)


def merged(base, changes):
    """`base` with the changes; null removes a key, a dict is merged, any other value replaces."""
    for key, value in changes.items():
        if value is None and not key.startswith("="):
            base.pop(key, None)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merged(base[key], value)
        else:
            base[key.lstrip("=")] = value
    return base
