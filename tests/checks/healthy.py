# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence of a healthy node, and what a table of tests/checks changes in it."""

import copy

RELEASE, NEXT = "6.1.0-49-amd64", "6.12.9-amd64"
KERNEL = {"release": RELEASE, "running": True, "next_boot": True, "tree": "/usr/lib/modules/" + RELEASE, "index": "ok", "index_cause": "",
          "config": "/boot/config-" + RELEASE, "config_complete": True}
MODULE = {
    "state": "loaded", "cause": "proc_modules", "evidence": "/proc/modules lists it as Live", "package": None, "kernels": [],
    "blocked_for": [], "blocked_unclear": [], "blocks": [], "persisted": True,
    "persisted_by": [{"file": "/etc/modules-load.d/kubenode-netfilter.conf", "line": 3}],
    "at_boot": "loaded", "at_boot_cause": "", "state_next_boot": "loadable", "lacking_on": [],
}
SECTIONS = {
    "node_host": {
        "schema": 1, "collected": {"os_release": "ok", "kernel_release": "ok", "place": "ok"}, "place": "live", "root": "/",
        "os": {"id": "debian", "id_like": [], "name": "Debian GNU/Linux 12", "version_id": "12"}, "kernel_release": RELEASE,
        "immutable": False, "immutable_by": None, "ipv6": True,
        "tools": {"iptables": "/usr/sbin/iptables", "iptables-save": "/usr/sbin/iptables-save", "conntrack": None, "nft": "/usr/sbin/nft"},
    },
    "node_kernel_modules": {
        "schema": 1,
        "collected": {"modules_directory": "ok", "cmdline": "ok", "modprobe_conf": "ok", "modules_load": "ok", "proc_modules": "ok"},
        "supports_modules": True, "running_release": RELEASE, "judged_release": RELEASE, "running_tree": "ok",
        "loading": {"load": "allowed", "autoload": "allowed", "because": []}, "kernels": [KERNEL], "kernels_left_out": 0,
        "next_boot": {"release": RELEASE, "certain": True, "because": "the only one"}, "boot_loader": "systemd", "boot_service": "enabled",
        "unreadable": [], "unreadable_count": 0,
    },
    "node_iptables_backend": {
        "schema": 1, "collected": {"binaries": "ok", "version": "ok"}, "backend": "nft", "version": "1.8.9", "legacy_tables": [],
        "binaries": [{"name": "iptables", "path": "/usr/sbin/iptables", "target": "/usr/sbin/xtables-nft-multi", "backend": "nft"}],
    },
    "node_kubelet": {
        "schema": 1, "collected": {"processes": "ok", "version": "ok"}, "running": True, "version": "1.33.2", "version_source": "kubelet --version",
        "distribution": "kubelet", "installed": "/usr/bin/kubelet",
    },
    "node_kube_proxy": {
        "schema": 1, "collected": {"processes": "ok", "config": "ok"}, "running": True, "runs_in": "container", "mode": "iptables",
        "mode_source": "mode in /var/lib/kube-proxy/config.conf", "version": None, "ipvs_scheduler": None, "tools_root": "/proc/812/root",
        "tools": {tool: "present" for tool in (
            "conntrack", "ip6tables-restore", "ip6tables-save", "ipset", "iptables", "iptables-restore", "iptables-save", "nft")},
    },
    "node_cni": {"schema": 1, "collected": {"net_d": "ok"}, "plugins": ["bridge"], "name": "other"},
}
# One line of modprobe.d that stops a module altogether, and one that stops all but modprobe by name.
INSTALL = {"for": ["load", "autoload", "boot"], "by": "install", "effect": "blocks", "module": "x", "file": "/etc/modprobe.d/cis.conf", "line": 3,
           "text": "install x /bin/true"}
BLACKLIST = dict(INSTALL, **{"for": ["autoload", "boot"], "by": "blacklist", "text": "blacklist x"})
UNCLEAR = dict(INSTALL, effect="unclear", text="install x /usr/local/bin/choose")
# Short words for what a module's row often is.
STATES = {
    "absent": {"state": "absent", "cause": "not_in_index", "evidence": "neither in modules.dep nor in modules.builtin", "state_next_boot": "absent",
               "at_boot": "absent"},
    "file_missing": {"state": "absent", "cause": "file_missing", "evidence": "modules.dep lists it, but the file is gone", "state_next_boot": "absent",
                     "at_boot": "absent"},
    "installable": {"state": "installable", "cause": "in_package", "evidence": "package kernel-modules-extra has it", "state_next_boot": "installable",
                    "package": {"name": "kernel-modules-extra", "source": "kops"}, "at_boot": "absent"},
    "unknown": {"state": "unknown", "cause": "no_evidence", "evidence": "nothing tells", "state_next_boot": "unknown", "at_boot": "unknown",
                "persisted": None},
    "builtin": {"state": "builtin", "cause": "modules_builtin", "evidence": "listed in modules.builtin", "state_next_boot": "builtin",
                "at_boot": "builtin", "persisted": False, "persisted_by": []},
    "loadable": {"state": "loadable", "cause": "in_index", "evidence": "kernel/net/x.ko"},
    "unpersisted": {"persisted": False, "persisted_by": [], "at_boot": "on_demand", "at_boot_cause": "not listed in modules-load.d"},
    "installed_true": {"state": "loadable", "blocked_for": INSTALL["for"], "blocks": [INSTALL], "at_boot": "blocked",
                       "at_boot_cause": "/etc/modprobe.d/cis.conf:3"},
    "blacklisted": {"state": "loadable", "blocked_for": BLACKLIST["for"], "blocks": [BLACKLIST], "at_boot": "blocked",
                    "at_boot_cause": "/etc/modprobe.d/cis.conf:3"},
    "unclear": {"state": "loadable", "blocked_unclear": UNCLEAR["for"], "blocks": [UNCLEAR]},
    "unlisted": {"persisted": None, "at_boot": "unknown", "at_boot_cause": "the lists may not be read"},
    "next_absent": {"state_next_boot": "absent", "at_boot": "absent", "kernels": [
        {"releases": [NEXT], "state": "absent", "cause": "not_in_index", "evidence": "not in modules.dep", "package": None}]},
    "next_unknown": {"state_next_boot": "unknown", "at_boot": "unknown"},
    "lacking": {"lacking_on": ["5.10.0-3-amd64"]},
}


def healthy(names, modules=None, changes=None):
    """All sections for C(names); C(modules) is {name or "*": state words}, C(changes) is merged over the sections (null removes)."""
    evidence = copy.deepcopy(SECTIONS)
    rows = []
    for name in names:
        row = dict(copy.deepcopy(MODULE), name=name, module=name)
        for key in ("*", name):
            for word in str((modules or {}).get(key, "")).split():
                row.update(copy.deepcopy(STATES[word]))
        rows.append(row)
    evidence["node_kernel_modules"]["modules"] = rows
    return merged(evidence, changes or {})


def merged(base, changes):
    """C(base) with the changes; null removes a key, a dict goes deeper, anything else replaces."""
    for key, value in changes.items():
        if value is None and not key.startswith("="):
            base.pop(key, None)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merged(base[key], value)
        else:
            base[key.lstrip("=")] = value
    return base
