# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for the kube-proxy of one host, by what runs it there: its restart, what makes it write its rules again, its
log. Names that come from the node are quoted where the controller runs the command. PRIVATE to the collection."""

import shlex

# Once it is gone, kube-proxy writes all its rules within 30 s (kubernetes pkg/util/iptables/iptables.go, Monitor).
_CANARY = "CANARY"
_NAMESPACE = "kube-system"
_EMBEDDED, _UNKNOWN = "restart the agent that contains kube-proxy", "restart kube-proxy by what starts it"


def fields_of(known, host):
    """`restart`, `rewrite` and `log` for the expressions of causes, each with `there`, a line with the place where the
    command runs, and `here`, a command of the controller that may stand after another one. `known`: the sections of
    evidence; `host` is quoted.
    """
    kube_proxy = known.get("node_kube_proxy") or {}
    restart = _restart(kube_proxy, known.get("node_kubelet") or {}, host)
    observations = (known.get("node_iptables_chains") or {}).get("observations") or ()
    canary = next((row["repair"] for row in observations if _CANARY in (row.get("repair") or "")), None)
    return {"restart": restart, "rewrite": _on_node(canary, host) if canary else restart,
            "log": _log(kube_proxy.get("container") or {}, host)}


def _restart(kube_proxy, kubelet, host):
    container, runs_in = kube_proxy.get("container") or {}, kube_proxy.get("runs_in")
    pod, pid = container.get("pod"), kube_proxy.get("pid")
    if runs_in == "host":
        return _on_node("systemctl restart kube-proxy", host)
    # A static pod, whose name ends with that of its node, restarts when its process ends, not when the API deletes it.
    if pod and not pod.endswith(host):
        return _both("kubectl -n %s delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=%s" % (
            shlex.quote(container.get("namespace") or _NAMESPACE), host))
    if runs_in == "container" and pid:
        return _on_node("kill %d" % pid, host)
    if runs_in == "embedded":
        families = (kubelet.get("initialisation") or {}).get("families") or ()
        command = next((row["restart"] for row in families if row.get("restart")), None)
        return _on_node(command, host) if command else _both("on %s: %s" % (host, _EMBEDDED))
    return _both("on %s: %s" % (host, _UNKNOWN))


def _log(container, host):
    if not container.get("pod"):
        return _on_node("journalctl -u kube-proxy", host)
    return _both("kubectl -n %s logs %s" % tuple(map(shlex.quote, (
        container.get("namespace") or _NAMESPACE, container["pod"]))))


def _on_node(command, host):
    return {"there": "on %s: %s" % (host, command),
            "here": "ansible %s -b -m command -a %s" % (host, shlex.quote(command))}


def _both(text):
    return {"there": text, "here": text}
