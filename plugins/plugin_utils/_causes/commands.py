# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for the kube-proxy and the pods of one host: the restart of kube-proxy by what runs it there, what makes it
write its rules again, its log, the settings of its DaemonSet, and what recreates pods. Names that come from the node
are quoted where the controller runs the command. PRIVATE to the collection."""

import re
import shlex

# Once it is gone, kube-proxy writes all its rules within 30 s (kubernetes pkg/util/iptables/iptables.go, Monitor).
_CANARY = "CANARY"
_NAMESPACE = "kube-system"
# The pods of a DaemonSet have its name and five characters that Kubernetes draws (apiserver names.generateName). A
# hostile node names no other DaemonSet, and no pod of another node.
_OF_DAEMONSET = re.compile(r"(kube-proxy(?:-[a-z0-9]+)*)-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
_POD = re.compile(r"([a-z0-9][a-z0-9-]*)/([a-z0-9][a-z0-9.-]*)\Z")
_VERSION = re.compile(r"\d+\.\d+\.\d+\Z")
# Percent of one CPU: a hostile node may have any number.
_MOST_QUOTA = 10 ** 6
_POD_RULES = ("pod_masquerade", "pod_host_ports")
_EMBEDDED, _UNKNOWN = "restart the agent that contains kube-proxy", "restart kube-proxy by what starts it"


def fields_of(known, host, node):
    """`restart`, `rewrite` and `log` for the expressions of causes, each with `there`, a line with the place where the
    command runs, and `here`, a command of the controller that may stand after another one; `daemonset` with a command
    of kubectl for `image`, `memory`, `cpu` and `config`, null where kube-proxy is in no DaemonSet or the node does not
    show the value; `recreate`, also `there` and `here`, for the pods that have lost their rules. `known`: the sections
    of evidence; `host` is the name in the inventory and `node` the one in the cluster, both quoted.
    """
    kube_proxy = known.get("node_kube_proxy") or {}
    restart = _restart(kube_proxy, known.get("node_kubelet") or {}, host, node)
    observations = (known.get("node_iptables_chains") or {}).get("observations") or ()
    canary = next((row["repair"] for row in observations if _CANARY in (row.get("repair") or "")), None)
    return {"restart": restart, "rewrite": _on_node(canary, host) if canary else restart,
            "log": _log(kube_proxy, known.get("node_kubelet") or {}, host),
            "daemonset": _daemonset(kube_proxy, known.get("node_kubelet") or {}, node),
            "recreate": _recreate(known.get("node_iptables_chains") or {}, node)}


def _restart(kube_proxy, kubelet, host, node):
    container, runs_in = kube_proxy.get("container") or {}, kube_proxy.get("runs_in")
    pod, pid = container.get("pod"), kube_proxy.get("pid")
    if runs_in == "host":
        return _on_node("systemctl restart kube-proxy", host)
    # A static pod, whose name ends with that of its node, restarts when its process ends, not when the API deletes it.
    if pod and not pod.endswith(node):
        return _both("kubectl -n %s delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=%s" % (
            shlex.quote(container.get("namespace") or _NAMESPACE), node))
    if runs_in == "container" and pid:
        return _on_node("kill %d" % pid, host)
    if runs_in == "embedded":
        families = (kubelet.get("initialisation") or {}).get("families") or ()
        command = next((row["restart"] for row in families if row.get("restart")), None)
        return _on_node(command, host) if command else _both("on %s: %s" % (host, _EMBEDDED))
    return _both("on %s: %s" % (host, _UNKNOWN))


def _log(kube_proxy, kubelet, host):
    container = kube_proxy.get("container") or {}
    if not container.get("pod"):
        unit = (kubelet.get("unit") or {}).get("name") if kube_proxy.get("runs_in") == "embedded" else None
        return _on_node("journalctl -u %s" % shlex.quote(unit or "kube-proxy"), host)
    command = "kubectl -n %s logs %s" % tuple(map(shlex.quote, (
        container.get("namespace") or _NAMESPACE, container["pod"])))
    return {"there": "for %s: %s" % (host, command), "here": command}


def _daemonset(kube_proxy, kubelet, node):
    container = kube_proxy.get("container") or (kube_proxy.get("outage") or {}).get("container") or {}
    pod, resources = container.get("pod") or "", kube_proxy.get("resources") or {}
    name = _OF_DAEMONSET.match(pod)
    if not name or pod.endswith("-" + node) or container.get("namespace") != _NAMESPACE:
        return {}
    of, to = "daemonset/" + name[1], shlex.quote(container.get("name") or "*")
    limits = "kubectl -n %s set resources %s -c %s --limits=" % (_NAMESPACE, of, to)
    memory, quota = resources.get("memory_limit_bytes"), resources.get("cpu_quota_percent")
    # kube-proxy may be older than kubelet, and never newer than the API server.
    version = kube_proxy.get("version") or kubelet.get("version") or ""
    return {"image": "kubectl -n %s set image %s %s=registry.k8s.io/kube-proxy:v%s" % (_NAMESPACE, of, to, version)
            if _VERSION.match(version) else None,
            "memory": "%smemory=%dMi" % (limits, memory >> 19) if memory else None,
            "cpu": "%scpu=%dm" % (limits, quota * 20) if quota and quota < _MOST_QUOTA else None,
            "config": "kubectl -n %s edit configmap kube-proxy && kubectl -n %s rollout restart %s" % (
                _NAMESPACE, _NAMESPACE, of) if (kube_proxy.get("collected") or {}).get("config") == "ok" else None}


def _recreate(chains, node):
    """Deletes pods, which their controllers create again, where they are few; otherwise empties the node."""
    rows = [row for row in chains.get("expected") or () if row["kind"] in _POD_RULES and row["missing"]]
    names = sorted({name for row in rows for name in row["pods"] or ()})
    pods = [_POD.match(name) for name in names]
    if not all(pods) or not pods or any(row["missing"] > len(row["pods"] or ()) for row in rows):
        return _both("kubectl drain %s --ignore-daemonsets && kubectl uncordon %s" % (node, node))
    return _both(" && ".join("kubectl -n %s delete pod --field-selector spec.nodeName=%s,metadata.name=%s" % (
        pod[1], node, pod[2]) for pod in pods))


def _on_node(command, host):
    return {"there": "on %s: %s" % (host, command),
            "here": "ansible %s -b -m command -a %s" % (host, shlex.quote(command))}


def _both(text):
    return {"there": text, "here": text}
