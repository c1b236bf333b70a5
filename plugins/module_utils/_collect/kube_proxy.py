# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy: where kube-proxy runs, in which mode, with which tools. PRIVATE to the collection."""

import re

from .. import _host, _host_container
from .._parse.kube_proxy_config import parse_kube_proxy_config
from ._processes import find_processes

MODES = ("iptables", "ipvs", "nftables")
# Programs that run kube-proxy inside their own process.
EMBEDDING = ("k3s-server", "k3s-agent", "kubelite")
TOOLS = ("conntrack", "ip6tables-restore", "ip6tables-save", "ipset", "iptables", "iptables-restore", "iptables-save", "nft")
# Where the embedding programs take the arguments of kube-proxy from.
EMBEDDED_ARGUMENTS = ("/etc/rancher/k3s/config.yaml", "/var/snap/microk8s/current/args/kube-proxy")


def collect_kube_proxy(host, node):
    """The evidence dict; outside of a live place kube-proxy does not run and nothing is known of its mode."""
    live = node["place"] == "live"
    status, processes = find_processes(host, ("kube-proxy",) + EMBEDDING) if live else (_host.ABSENT, [])
    section = {
        "schema": 1, "collected": {"processes": status, "config": _host.ABSENT}, "running": None if live and status != _host.OK else bool(processes),
        "runs_in": None, "mode": None, "mode_source": None, "ipvs_scheduler": None, "version": None,
        "tools": dict((tool, "unknown") for tool in TOOLS), "tools_root": None,
    }
    own = next((process for process in processes if process.name == "kube-proxy"), None)
    if own is not None:
        _own_process(host, own, section)
    elif processes:
        _embedded(host, processes[0], section)
    return section


def _own_process(host, process, section):
    """A process of its own, on the node or in a container: its root decides which files and tools are its own."""
    path = process.option("config")
    if process.contained is False:
        section["runs_in"], section["tools_root"] = "host", "/"
        section["tools"] = dict((tool, "present" if host.find_binary(tool) else "absent") for tool in TOOLS)
        text = host.read_text(path) if path else _host.Text(_host.ABSENT)
    elif process.contained and host.root == "/":
        found = _host_container.look_into(process.pid, process.start_time, [path] if path else [], TOOLS)
        section["runs_in"], section["tools_root"] = "container", "/proc/%d/root" % process.pid
        section["tools"] = found["programs"]
        text = _host.Text(*found["texts"][path]) if path else _host.Text(_host.ABSENT)
    else:
        # Its root may not be compared with this one: whose tools it uses cannot be told.
        text = _host.Text(_host.DENIED if path else _host.ABSENT)
    section["collected"]["config"] = text.status
    _mode_of(process, path, text, section)


def _mode_of(process, path, text, section):
    if path:
        # With --config the flag --proxy-mode is ignored (kubernetes cmd/kube-proxy/app/options.go).
        config = parse_kube_proxy_config(text.text) if text.ok else None
        if config is None:
            section["collected"]["config"] = _host.UNPARSED if text.ok else text.status
            return
        mode, source, scheduler = config["mode"], "mode in %s" % path, config["scheduler"]
    else:
        mode, source, scheduler = process.option("proxy-mode"), "--proxy-mode", process.option("ipvs-scheduler")
    _set_mode(section, mode, source, scheduler)


def _set_mode(section, mode, source, scheduler):
    if mode and mode not in MODES:
        return
    # kube-proxy on Linux takes iptables where nothing is said (kubeproxy.config.k8s.io/v1alpha1).
    section["mode"], section["mode_source"] = mode or "iptables", source if mode else "the default: nothing else is configured"
    section["ipvs_scheduler"] = (scheduler or "rr") if mode == "ipvs" else None


def _embedded(host, process, section):
    section["runs_in"] = "embedded"
    texts = [" ".join(process.arguments)] + [host.read_text(path).text for path in EMBEDDED_ARGUMENTS]
    found = [re.search(r"proxy-mode[=\s]+[\"']?([a-z]+)", text) for text in texts]
    mode = next((match.group(1) for match in found if match), None)
    _set_mode(section, mode, "proxy-mode among the arguments of %s" % process.name, None)
