# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rules are judged for: the mode of kube-proxy, the version of Kubernetes, who runs here. PRIVATE to the collection."""

import re

from .. import _errors, _versions
from .._chains.setting import Setting
from ._processes import find_processes

# Chains that one mode alone makes (kubernetes pkg/proxy/iptables/proxier.go, pkg/proxy/ipvs/proxier.go).
_OF_IPTABLES = re.compile(r"KUBE-(SVC|SVL|SEP|EXT|XLB)-|KUBE-PROXY-CANARY$")
_OF_IPVS = ("KUBE-LOAD-BALANCER", "KUBE-NODE-PORT", "KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER", "KUBE-SOURCE-RANGES-FIREWALL")
# Who listens on every address of a node: (process, protocol, port, flag that changes it, what it is called).
_LISTENERS = (("kubelet", "tcp", 10250, "port", "kubelet"), ("kube-apiserver", "tcp", 6443, "secure-port", "the API server"))


class Situation(object):
    """C(mode) and C(kubernetes) ((1, 30)) with where they come from, or None and why; C(kubelet): whether it runs; C(ports) as in Setting."""

    def __init__(self, mode, kubernetes, kubelet, ports):
        self.mode, self.mode_source = mode
        self.kubernetes, self.kubernetes_source = kubernetes
        self.kubelet = kubelet
        self.ports = ports

    def of(self, rule_set):
        """C(Setting) for one rule set."""
        return Setting(rule_set.family, rule_set.backend, self.mode, self.kubernetes, self.kubelet, self.ports)


def situation_of(host, rules, options, kube_proxy, kubelet):
    """C(Situation) of what was read; C(kube_proxy) and C(kubelet) are their sections, None where dumps are judged. Raises BadInput."""
    asked = options["kubernetes_version"]
    if asked is not None and len(_versions.numbers(asked)) < 2:
        raise _errors.BadInput("kubernetes_version %r is no version; give one such as 1.30" % asked)
    version = ((_versions.numbers(asked)[:2], "given by the caller") if asked else _version(kube_proxy, kubelet))
    return Situation(mode_of(rules, options, kube_proxy), version, kubelet["running"] if kubelet else None, _ports(host, rules))


def mode_of(rules, options, kube_proxy):
    """(mode or None, what says so)."""
    if options["proxy_mode"]:
        return options["proxy_mode"], "given by the caller"
    if kube_proxy and kube_proxy["mode"]:
        return kube_proxy["mode"], kube_proxy["mode_source"]
    return _told(rules)


def _version(kube_proxy, kubelet):
    for section, source in ((kube_proxy, "the kube-proxy that runs here"), (kubelet, kubelet and kubelet["version_source"])):
        if section and _versions.numbers(section["version"]):
            return _versions.numbers(section["version"])[:2], source
    return None, "nothing tells"


def _told(rules):
    """The mode whose chains are there, if they are those of one mode only."""
    tables = [table for found in rules.rule_sets for table in found.tables.values()]
    modes = ["iptables"] if any(_OF_IPTABLES.match(name) for table in tables for name in table.chains) else []
    modes += ["ipvs"] if any(name in table.chains for table in tables for name in _OF_IPVS) else []
    modes += ["nftables"] if rules.nftables and rules.nftables.tables else []
    if len(modes) == 1:
        return modes[0], "chains of this mode among the rules"
    return None, "chains of several modes are there: %s" % ", ".join(modes) if modes else "nothing tells"


def _ports(host, rules):
    if rules.source != "live":
        return dict(((protocol, port), name) for _process, protocol, port, _flag, name in _LISTENERS)
    running = dict((process.name, process) for process in find_processes(host, [row[0] for row in _LISTENERS])[1])
    ports = {}
    for process, protocol, port, flag, name in _LISTENERS:
        if process in running:
            given = running[process].option(flag) or ""
            ports[(protocol, int(given) if re.match(r"[0-9]{1,5}\Z", given) else port)] = name
    return ports
