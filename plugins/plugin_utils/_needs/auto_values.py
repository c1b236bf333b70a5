# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value of `auto` on this node, and whether a row of the matrix applies to it. PRIVATE to the collection."""

from ...module_utils import _versions
from .._checks.expressions import search


def facts_of(evidence, policy):
    """The facts that rows are bound to (backend, cni, kubernetes, families, versions), with `<name>_because`."""
    values = policy.values
    facts = {"kernel": (evidence.get("node_kernel_modules") or {}).get("judged_release")}
    for name, find in (("backend", _backend), ("cni", _cni), ("kubernetes", _kubernetes)):
        setting = {"backend": "iptables_backend", "cni": "cni", "kubernetes": "kubernetes_version"}[name]
        setting_value = values[setting]
        facts[name], facts[name + "_because"] = (setting_value, "node_policy_%s sets it"
                                                 % setting) if setting_value != "auto" else find(evidence)
    facts["ip_families"], facts["families_unsure"] = _families(evidence, values["ip_families"])
    proxy = evidence.get("node_kube_proxy") or {}
    scheduler = values["ipvs_scheduler"]
    facts["ipvs_scheduler"] = scheduler if scheduler != "auto" else proxy.get("ipvs_scheduler") or "rr"
    facts["iptables"] = (values["iptables_version"]
                         if values["iptables_version"] != "auto" else _iptables_version(evidence, proxy))
    return facts


def _backend(evidence):
    section = evidence.get("node_iptables_backend") or {}
    backend = section.get("backend")
    if backend in ("nft", "legacy"):
        return backend, "the node's iptables programs use the %s backend" % backend
    if backend == "mixed":
        own = next((row.get("backend") for row in section.get("binaries") or [] if row.get("name") == "iptables"), None)
        if own in ("nft", "legacy"):
            return own, "the node's iptables programs use different backends; iptables itself uses %s" % own
    # kubernetes-sigs/iptables-wrappers, through which kube-proxy and CNI images call iptables, uses nft if nothing
    # decides.
    return "nft", "no iptables program of the node shows a backend, and images use nft then"


def _cni(evidence):
    section = evidence.get("node_cni") or {}
    if section.get("name"):
        return section["name"], "its configuration is in /etc/cni/net.d"
    return "none", "no CNI configuration was found"


def _kubernetes(evidence):
    for section, name in (("node_kube_proxy", "kube-proxy"), ("node_kubelet", "kubelet")):
        version = (evidence.get(section) or {}).get("version")
        if version:
            return version, "the node's %s has this version" % name
    return None, "the version of neither kube-proxy nor kubelet could be read"


def _families(evidence, setting_value):
    """(families, unsure): `unsure` is True if it is not known whether the node has IPv6."""
    if setting_value != "auto":
        return list(setting_value), False
    ipv6 = (evidence.get("node_host") or {}).get("ipv6")
    return (["ipv4"], False) if ipv6 is False else (["ipv4", "ipv6"], ipv6 is None)


def _iptables_version(evidence, proxy):
    # A kube-proxy in a container has an iptables of its own, which is not known here.
    return None if proxy.get("runs_in") == "container" else (evidence.get("node_iptables_backend") or {}).get("version")


def applies(requirement, mode, facts):
    """(bool, doubt): whether a row of the matrix is about this node; with a doubt its modules are only optional."""
    for key, value in (("modes", mode), ("backends", facts["backend"]), ("cnis", facts["cni"])):
        if requirement.get(key) and value not in requirement[key]:
            return False, ""
    doubts = []
    family = requirement.get("family")
    if family:
        if family not in facts["ip_families"]:
            return False, ""
        if family == "ipv6" and facts["families_unsure"]:
            doubts.append("needed only with IPv6, and whether the node has IPv6 is not known")
    for subject, words in (("kubernetes", "Kubernetes"), ("kernel", "kernel"), ("iptables", "iptables")):
        since, before = requirement.get(subject + "_since"), requirement.get(subject + "_before")
        if since is None and before is None:
            continue
        within = _versions.within(facts[subject], since, before)
        if within is False:
            return False, ""
        if within is None:
            doubts.append("needed only by some versions of %s, and the version is not known" % words)
    return True, "; ".join(doubts)


def available(row):
    """True if the kernel has the module or loads it by itself, False if not, None if that is not known."""
    if row["state"] in ("loaded", "builtin"):
        return True
    if row["state"] == "loadable":
        return "autoload" not in row["blocked_for"]
    return None if row["state"] == "unknown" else False


def needed(module, context):
    """(bool, doubt) by `requires_if`; with a doubt the module is only optional."""
    expression = module.get("requires_if")
    if expression is None:
        return True, ""
    answer, problem = search(expression, context)
    if answer is None:
        return True, "whether it is needed is not known: %s" % problem
    return bool(answer), ""


def tool_state(evidence, user, tool):
    """(state, where) of a tool in the root of the program that uses it (`user`); the state None means that this program
    is not on the node at all."""
    kubelet = evidence.get("node_kubelet") or {}
    host_tools = (evidence.get("node_host") or {}).get("tools")
    on_host = "unknown" if host_tools is None or tool not in host_tools else "present" if host_tools[tool] else "absent"
    member = kubelet.get("running") or kubelet.get("distribution") or kubelet.get("installed")
    if user == "kubelet":
        if not member and kubelet.get("running") is None:
            return "unknown", "the kubelet's root"
        return (on_host if member else None), "the kubelet's root (the node)"
    proxy = evidence.get("node_kube_proxy") or {}
    if proxy.get("running"):
        state = (proxy.get("tools") or {}).get(tool) or "unknown"
        if proxy.get("runs_in") == "host" and state == "unknown":
            state = on_host
        return state, "kube-proxy's root (%s)" % ("the node" if proxy.get("runs_in") == "host"
                                                  else proxy.get("tools_root") or "not known")
    if proxy.get("running") is False and not kubelet.get("running"):
        return None, ""
    return "unknown", "kube-proxy's root (no running kube-proxy was seen)"
