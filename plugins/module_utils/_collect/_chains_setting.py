# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rules are judged for: the mode of kube-proxy, the version of Kubernetes, who runs here. PRIVATE to the collection."""

import re

from .. import _errors, _versions
from .._chains.anchor_table import KUBELET_CANARY
from .._chains.setting import Setting
from ._processes import find_processes

# Chains that one mode alone makes (kubernetes pkg/proxy/iptables/proxier.go, pkg/proxy/ipvs/proxier.go).
_OF_IPTABLES = re.compile(r"KUBE-(SVC|SVL|SEP|EXT|XLB)-|KUBE-PROXY-CANARY$")
_OF_IPVS = ("KUBE-LOAD-BALANCER", "KUBE-NODE-PORT", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER", "KUBE-SOURCE-RANGES-FIREWALL")
# Who listens on every address of a node: (process, protocol, port, flag that changes it, what it is called).
_LISTENERS = (
    ("kubelet", "tcp", 10250, "port", "kubelet"), ("kube-apiserver", "tcp", 6443, "secure-port", "the API server"),
    # Programs that contain one or both.
    ("k3s-server", "tcp", 10250, "", "kubelet"), ("k3s-server", "tcp", 6443, "https-listen-port", "the API server"),
    ("k3s-agent", "tcp", 10250, "", "kubelet"), ("kubelite", "tcp", 10250, "", "kubelet"), ("kubelite", "tcp", 16443, "", "the API server"),
)
# Who says what is not known.
UNTOLD = "nothing tells"
# kube-proxy may be so many minor versions older than kubelet (Kubernetes version skew policy).
_SKEW = 3


class Situation(object):
    """C(mode) and C(kubernetes) ((1, 30)) with where they come from, or None and why; C(kubelet): whether it runs; C(ports) as in Setting."""

    def __init__(self, mode, kubernetes, kubelet, ports):
        self.mode, self.mode_source = mode
        self.kubernetes, self.kubernetes_source = kubernetes[:2]
        self.oldest = kubernetes[2] if len(kubernetes) > 2 else None
        self.kubelet = kubelet
        self.ports = ports

    def of(self, rule_set):
        """C(Setting) for one rule set."""
        return Setting(rule_set.family, rule_set.backend, self.mode, self.kubernetes, self.kubelet, self.ports, self.oldest)


def situation_of(host, rules, options, kube_proxy, kubelet):
    """C(Situation) of what was read; C(kube_proxy) and C(kubelet) are their sections, None where dumps are judged. Raises BadInput."""
    asked = options["kubernetes_version"]
    if asked is not None and len(_versions.numbers(asked)) < 2:
        raise _errors.BadInput("kubernetes_version %r is no version; give one such as 1.30" % asked)
    version = ((_versions.numbers(asked)[:2], "given by the caller") if asked else _version(kube_proxy, kubelet))
    runs = kubelet["running"] if kubelet else _has_canary(rules)
    return Situation(mode_of(rules, options, kube_proxy), version, runs, _ports(host, rules))


def _has_canary(rules):
    """True for dumps of a node on which kubelet ran, None if they do not tell."""
    return any(KUBELET_CANARY in table.chains for found in rules.rule_sets for table in found.tables.values()) or None


def mode_of(rules, options, kube_proxy):
    """(mode or None, what says so)."""
    if options["proxy_mode"]:
        return options["proxy_mode"], "given by the caller"
    if kube_proxy and kube_proxy["mode"]:
        return kube_proxy["mode"], kube_proxy["mode_source"]
    return _told(rules)


def _version(kube_proxy, kubelet):
    """((1, 30) or None, what says so, the oldest that kube-proxy may have where it is kubelet's)."""
    if kube_proxy and _versions.numbers(kube_proxy["version"]):
        return _versions.numbers(kube_proxy["version"])[:2], "the kube-proxy that runs here", None
    if kubelet and _versions.numbers(kubelet["version"]):
        major, minor = _versions.numbers(kubelet["version"])[:2]
        return (major, minor), kubelet["version_source"], (major, minor - _SKEW)
    return None, UNTOLD, None


def _told(rules):
    """The mode whose chains are there, if they are those of one mode only."""
    tables = [table for found in rules.rule_sets for table in found.tables.values()]
    modes = ["iptables"] if any(_OF_IPTABLES.match(name) for table in tables for name in table.chains) else []
    modes += ["ipvs"] if any(name in table.chains for table in tables for name in _OF_IPVS) else []
    modes += ["nftables"] if rules.nftables and rules.nftables.tables else []
    if len(modes) == 1:
        return modes[0], "chains of this mode among the rules"
    return None, "chains of several modes are there: %s" % ", ".join(modes) if modes else UNTOLD


def _ports(host, rules):
    if rules.source != "live":
        return dict(((protocol, port), name) for _process, protocol, port, _flag, name in _LISTENERS[:2])
    running = dict((process.name, process) for process in find_processes(host, [row[0] for row in _LISTENERS])[1])
    ports = {}
    for process, protocol, port, flag, name in _LISTENERS:
        if process in running:
            given = running[process].option(flag) or ""
            ports[(protocol, int(given) if re.match(r"[0-9]{1,5}\Z", given) else port)] = name
    return ports
