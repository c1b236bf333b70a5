# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy: where kube-proxy runs, in which mode, with which tools. PRIVATE to the collection."""

import re

from ..._host import container
from ..._host.host import ABSENT, DENIED, OK, Text, UNPARSED
from ..agents import of_this_network
from ..processes import find_processes, option_of, uptime_seconds
from .kube_proxy_settings import embedded_arguments, settings_of_embedded, settings_of_process
from .kube_proxy_start import starting

MODES = ("iptables", "ipvs", "nftables")
# Programs that run kube-proxy inside their own process.
EMBEDDING = ("k3s-server", "k3s-agent", "kubelite")
TOOLS = ("conntrack", "ip6tables-restore", "ip6tables-save", "ipset", "iptables", "iptables-restore", "iptables-save",
         "nft")
# Its metrics tell its version; they are asked for on the loopback interface, where it offers them by default.
_TOOL_STATES = {OK: "present", ABSENT: "absent"}
METRICS_PORT, METRICS_SECONDS, METRICS_LIMIT = 10249, 0.5, 4 * 1024 * 1024
# Where the layout of a bundle puts a KubeProxyConfiguration, wherever it was found.
BUNDLE_CONFIG = "/var/lib/kube-proxy/config.conf"
_VERSION = re.compile(br'^kubernetes_build_info\{[^}\n]*git_version="v(\d+\.\d+\.\d+)', re.M)
_WITH_PORT = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]*)):([0-9]{1,5})\Z")


def collect_kube_proxy(host, node):
    """The evidence dict; outside of a live place kube-proxy does not run and nothing is known of its mode."""
    live = node["place"] == "live"
    status, processes = find_processes(host, ("kube-proxy",) + EMBEDDING) if live else (ABSENT, [])
    processes = of_this_network(host, processes)
    section = {
        "schema": 1, "collected": {"processes": status, "config": ABSENT, "version": ABSENT},
        "running": None if node["place"] == "bundle" or (live and status != OK) else bool(processes), "runs_in": None,
        "mode": None, "mode_source": None, "ipvs_scheduler": None, "version": None, "cluster_cidr": None,
        "detect_local_mode": None, "masquerade_all": None, "conntrack": None, "conntrack_by": None,
        "tools": dict.fromkeys(TOOLS, "unknown"), "tools_root": None, "started_seconds_ago": None, "starting": None,
    }
    own = next((process for process in processes if process.name == "kube-proxy"), None)
    if own is not None:
        _own_process(host, own, section)
    elif processes:
        _embedded(host, processes[0], section)
    elif node["place"] == "bundle":
        _of_bundle(host, section)
    return section


def _of_bundle(host, section):
    """What the bundle holds of its configuration."""
    text = host.read_text(BUNDLE_CONFIG)
    config = _config_of(host, BUNDLE_CONFIG, text)
    # What one would tell of the mode, the rules tell as well.
    section["collected"]["config"] = OK if config else UNPARSED if text.ok else ABSENT
    if config:
        _set_mode(section, config["mode"], "mode in %s" % BUNDLE_CONFIG, config["scheduler"])


def _config_of(host, path, text):
    """The fields parse_kube_proxy_config() reads of a file, or None; without one, a reader of YAML is not compiled."""
    if not text.ok:
        return None
    from ..._parse.kube.kube_proxy_config import parse_kube_proxy_config
    config = parse_kube_proxy_config(text.text)
    if config.problem:
        host.note(path, "cannot be read: %s" % config.problem)
    return config.fields


def _own_process(host, process, section):
    """A process of its own, on the node or in a container: its root decides which files and tools are its own."""
    if process.status != OK:
        # Its mode, or the path of its configuration, stands among its arguments.
        section["collected"]["config"] = process.status
        return
    path = process.option("config")
    if process.contained is False:
        section["runs_in"], section["tools_root"] = "host", "/"
        section["tools"] = {tool: _TOOL_STATES.get(host.binary(tool)[0], "unknown") for tool in TOOLS}
        text = host.read_text(path) if path else Text(ABSENT)
    elif process.contained and host.root == "/":
        found = container.look_into(process.pid, process.start_time, [path] if path else [], TOOLS)
        section["runs_in"], section["tools_root"] = "container", "/proc/%d/root" % process.pid
        section["tools"] = found["programs"]
        text = Text(*found["texts"][path]) if path else Text(ABSENT)
    else:
        # Its root may not be compared with this one: whose tools it uses cannot be told.
        text = Text(DENIED if path else ABSENT)
    # A file that it was started with and that is gone by now says nothing, and is not "no configuration".
    section["collected"]["config"] = UNPARSED if path and text.status == ABSENT else text.status
    # With --config the flags are ignored (kubernetes cmd/kube-proxy/app/options.go).
    config = _config_of(host, path, text)
    _mode_of(process, path, config, section)
    section.update(settings_of_process(process, path, config))
    bound = (config["metrics"] if config else "") if path else process.option("metrics-bind-address") or ""
    section["collected"]["version"], found = _ask_metrics(host, bound, _VERSION)
    section["version"] = found.group(1).decode("ascii") if found else None
    _fill_start(host, process, bound, section)


def _mode_of(process, path, config, section):
    if path:
        if config is None:
            if section["collected"]["config"] == OK:
                section["collected"]["config"] = UNPARSED
            return
        mode, source, scheduler = config["mode"], "mode in %s" % path, config["scheduler"]
    else:
        mode, source, scheduler = process.option("proxy-mode"), "--proxy-mode", process.option("ipvs-scheduler")
    _set_mode(section, mode, source, scheduler)


def _set_mode(section, mode, source, scheduler):
    if mode and mode not in MODES:
        return
    # kube-proxy on Linux takes iptables where nothing is said (kubeproxy.config.k8s.io/v1alpha1).
    section["mode"], section["mode_source"] = (mode or "iptables",
                                               source if mode else "the default: no other value is configured")
    section["ipvs_scheduler"] = (scheduler or "rr") if mode == "ipvs" else None


def _ask_metrics(host, bound, pattern):
    """(status, match or None) of its own metrics on the loopback interface: whoever runs it in a container lets nobody
    ask its program."""
    if not host.commands:
        return ABSENT, None
    from ..._host import local_http
    found = _WITH_PORT.match(bound)
    address, port = ((found.group(1) or found.group(2), int(found.group(3))) if found else (bound, METRICS_PORT))
    for candidate in (("127.0.0.1", "::1") if address in ("", "0.0.0.0", "::") else (address,)):
        status, match = local_http.find_local(candidate, port, "/metrics", pattern, METRICS_SECONDS, METRICS_LIMIT)
        if status != ABSENT:
            break
    return status, match


def _fill_start(host, process, bound, section):
    section["started_seconds_ago"] = process.age_seconds(uptime_seconds(host))
    section["starting"] = starting(section["started_seconds_ago"], lambda pattern: _ask_metrics(host, bound, pattern))


def _embedded(host, process, section):
    section["runs_in"] = "embedded"
    _fill_start(host, process, "", section)
    status, arguments = embedded_arguments(host, process) if process.status == OK else (process.status, None)
    if arguments is None:
        section["collected"]["config"] = status
        return
    section.update(settings_of_embedded(arguments, "kube-proxy" if process.name == "kubelite" else "k3s"))
    _set_mode(section, option_of(arguments, "proxy-mode"), "proxy-mode among the arguments of %s" % process.name, None)
