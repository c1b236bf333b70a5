# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_kube_proxy: where kube-proxy runs, in which mode, with which settings and tools.

Code that only a running kube-proxy needs is imported when one runs: sources are compiled on each run."""

import re

from ..._host.host import ABSENT, DENIED, OK, UNPARSED, Text
from ..._names import BUNDLE_ANSWERS, UNCOLLECTED
from ..._parse.kube.component_config import FLAGS, parse_go_bool, parse_kube_proxy_conntrack
from ..processes import option_of, options_of, uptime_seconds
from .embedded_arguments import k3s_options, microk8s_arguments
from .kube_proxy_found import HEALTH_PORT, METRICS_PORT, find_kube_proxy

MODES = ("iptables", "ipvs", "nftables")
TOOLS = ("conntrack", "ip6tables-restore", "ip6tables-save", "ipset", "iptables", "iptables-restore", "iptables-save",
         "nft")
_TOOL_STATES = {OK: "present", ABSENT: "absent"}
# Where the layout of a bundle puts a KubeProxyConfiguration, wherever it was found.
BUNDLE_CONFIG = "/var/lib/kube-proxy/config.conf"
# Sources that only a running kube-proxy has.
_OF_RUNNING = ("cgroup", "children", "configz", "healthz", "livez", "metrics", "proxy_mode", "sockets", "version")
# Further keys of a section without a running kube-proxy.
_NOT_RUNNING = {"pid": None, "program": None, "state": None, "found_by": None, "container": None, "restarts": None,
                "resources": None, "children": [], "ports_off": [], "api_sockets": None, "api_server": None,
                "effective_mode": None, "sync_period_seconds": None, "health": None, "sync": [], "pending": None,
                "api_requests": {}, "api_watch": None, "window": None, "modes": [], "advice": None, "rules": [],
                "rules_because": "no kube-proxy was asked", "outage": None, "files": {}, "lacks": []}
_SWITCHES = ("conntrack-tcp-be-liberal", "masquerade-all")
# Options of k3s: the range of pods that it sets for its kube-proxy, the arguments that it passes on unchanged, and the
# switch that disables kube-proxy.
_CIDR, _OF_K3S, _DISABLE = "cluster-cidr", "kube-proxy-arg", "disable-kube-proxy"
_PORTS = ((METRICS_PORT, "metrics"), (HEALTH_PORT, "healthz"))
WINDOW_SECONDS_MAX = 300


def collect_kube_proxy(host, node, window_seconds=0):
    """The evidence dict; outside of a live place kube-proxy does not run and its mode is not known. Its `rules` are
    compared by compare_with_kernel()."""
    live = node["place"] == "live"
    found = find_kube_proxy(host) if live else None
    status, process = (found.status, found.process) if live else (ABSENT, None)
    config, off = ABSENT, False
    if process is not None and found.embedded and not found.listens:
        config, off = switched_off(host, process)
        process = None if off is not False else process
    section = {
        "schema": 1, "collected": dict(dict.fromkeys(_OF_RUNNING, ABSENT), processes=status,
                                       config=config if off is None else ABSENT),
        "running": None if node["place"] == "bundle" or off is None or (live and status != OK) else process is not None,
        "replaced_by": found.replaced_by if live else None,
        "runs_in": None, "mode": None, "mode_source": None, "ipvs_scheduler": None, "version": None,
        "cluster_cidr": None, "detect_local_mode": None, "masquerade_all": None, "conntrack": None,
        "conntrack_by": None, "tools": dict.fromkeys(TOOLS, "unknown"), "tools_root": None,
        "started_seconds_ago": None, "starting": None}
    section.update(_NOT_RUNNING)
    if process is not None:
        bound = _embedded(host, process, section) if found.embedded else _own_process(host, process, section)
        bound, section["ports_off"] = bound
        from .kube_proxy_running import fill_running
        section["started_seconds_ago"] = process.age_seconds(uptime_seconds(host))
        fill_running(host, node, found, bound, section, window_seconds)
    elif node["place"] == "bundle":
        _of_bundle(host, section)
    elif section["running"] is False and section["replaced_by"] is None:
        from ..outage import outage_of, replacement_of, switched_off_outage
        section["replaced_by"], doubt = replacement_of(host)
        if section["replaced_by"] is None:
            section["outage"] = switched_off_outage(found.process) if off else outage_of(host, node, doubt)
    return section


def _of_bundle(host, section):
    """Fills in the configuration and the saved answers of kube-proxy that the bundle contains."""
    text = host.read_text(BUNDLE_CONFIG)
    config = _config_of(host, BUNDLE_CONFIG, text)
    # A missing configuration is `absent`, whatever the reason: the rules show the mode as well.
    section["collected"]["config"] = OK if config else UNPARSED if text.ok else ABSENT
    if config:
        section.update(settings_of_process([], BUNDLE_CONFIG, config))
        _set_mode(section, config["mode"], "mode in %s" % BUNDLE_CONFIG, config["scheduler"])
    elif not text.ok and host.declared().get("proxy_mode"):
        _set_mode(section, host.declared()["proxy_mode"], "node_policy_proxy_mode sets it", None)
        section["ipvs_scheduler"] = None
    section["collected"].update(dict.fromkeys(_OF_RUNNING, UNCOLLECTED))
    held = {name: "%s/%s" % (BUNDLE_ANSWERS, name) for name in host.list_dir(BUNDLE_ANSWERS)[1]}
    if held:
        from .kube_proxy_running import fill_from_files
        fill_from_files(host, section, held)


def _config_of(host, path, text):
    """The fields that parse_kube_proxy_config() reads from a file, or None; without one no YAML parser is compiled."""
    if not text.ok:
        return None
    from ..._parse.kube.component_config import parse_kube_proxy_config
    config = parse_kube_proxy_config(text.text)
    if config.problem:
        host.note(path, "could not be read: %s" % config.problem)
    return config.fields


def _own_process(host, process, section):
    """Fills in a process of its own, on the node or in a container: its root directory decides which files and tools it
    uses. Returns ({default port: the configured address}, the ports that are switched off)."""
    if process.status != OK:
        # Its mode, or the path of its configuration, is among its arguments.
        section["collected"]["config"] = process.status
        return {}, []
    path = process.option("config")
    if process.contained is False:
        section["runs_in"], section["tools_root"] = "host", "/"
        section["tools"] = {tool: _TOOL_STATES.get(host.binary(tool)[0], "unknown") for tool in TOOLS}
        text = host.read_text(path) if path else Text(ABSENT)
    elif process.contained and host.root == "/":
        from ..._host import container
        found = container.look_into(process.pid, process.start_time, [path] if path else [], TOOLS)
        section["runs_in"], section["tools_root"] = "container", "/proc/%d/root" % process.pid
        section["tools"] = found["programs"]
        text = Text(*found["texts"][path]) if path else Text(ABSENT)
    else:
        # Its root directory cannot be compared with this one, so it is not known whose tools it uses.
        text = Text(DENIED if path else ABSENT)
    # A configuration file that was deleted after the start of kube-proxy is `unparsed`, not "no configuration".
    section["collected"]["config"] = UNPARSED if path and text.status == ABSENT else text.status
    # With --config the flags are ignored (kubernetes cmd/kube-proxy/app/options.go).
    config = _config_of(host, path, text)
    section.update(settings_of_process(process.arguments, path, config))
    if path:
        return _of_file(path, config, section)
    _set_mode(section, process.option("proxy-mode"), "--proxy-mode", process.option("ipvs-scheduler"))
    return bound_by_flags(process.arguments)


def _of_file(path, config, section):
    """The mode of a configuration, and what _own_process() returns: a file cannot switch a port off, since an empty
    address is the default there (kubernetes pkg/proxy/apis/config/v1alpha1/defaults.go)."""
    if config is None:
        if section["collected"]["config"] == OK:
            section["collected"]["config"] = UNPARSED
        return {}, []
    _set_mode(section, config["mode"], "mode in %s" % path, config["scheduler"])
    return {METRICS_PORT: config["metrics"], HEALTH_PORT: config["healthz"]}, []


def _set_mode(section, mode, source, scheduler):
    if mode and mode not in MODES:
        return
    # Without a setting kube-proxy on Linux uses iptables mode (kubeproxy.config.k8s.io/v1alpha1).
    section["mode"], section["mode_source"] = (mode or "iptables",
                                               source if mode else "the default: no other value is configured")
    section["ipvs_scheduler"] = (scheduler or "rr") if mode == "ipvs" else None


def _embedded(host, process, section):
    section["runs_in"] = "embedded"
    status, arguments = embedded_arguments(host, process) if process.status == OK else (process.status, None)
    if arguments is None:
        section["collected"]["config"] = status
        return {}, []
    path = option_of(arguments, "config")
    if path:
        text = host.read_text(path)
        section["collected"]["config"] = UNPARSED if text.status == ABSENT else text.status
        config = _config_of(host, path, text)
        section.update(settings_of_process(arguments, path, config))
        return _of_file(path, config, section)
    section.update(settings_of_embedded(arguments, "kube-proxy" if process.name == "kubelite" else "k3s"))
    _set_mode(section, option_of(arguments, "proxy-mode"), "proxy-mode among the arguments of %s" % process.name, None)
    return bound_by_flags(arguments)


def settings_of_process(arguments, path, config):
    """`{"cluster_cidr", "detect_local_mode", "masquerade_all", "conntrack", "conntrack_by"}` of a kube-proxy that has
    these arguments; empty where its configuration could not be read, so that each stays None."""
    if not path:
        return _settings(_given(arguments), "kube-proxy")
    if config is None:
        return {}
    given = {flag: config["conntrack"].get(field) for flag, field in FLAGS.items()}
    given.update({"cluster-cidr": config["cluster_cidr"], "detect-local-mode": config["detect_local_mode"]})
    given["masquerade-all"] = config["masquerade_all_nftables" if config["mode"] == "nftables" else "masquerade_all"]
    return _settings(given, "kube-proxy")


def embedded_arguments(host, process):
    """(status, arguments) of the kube-proxy inside another program; None where a file of these cannot be read."""
    if process.name == "kubelite":
        status, arguments = microk8s_arguments(host, "kube-proxy")
        return status, process.arguments + arguments if status in (OK, ABSENT) else None
    status, options = k3s_options(host, (_CIDR, _OF_K3S))
    if options is None:
        return status, None
    from ..._parse.kube.component_config import passed_on
    # Values of the command line come after those of the configuration (k3s pkg/configfilearg/parser.go), and arguments
    # that are passed on override k3s' own.
    ranges = [",".join(options.get(_CIDR, []))] + options_of(process.arguments, _CIDR)
    own = ["--%s=%s" % (_CIDR, ranges[-1])] if ranges[-1] else []
    return status, own + passed_on(options.get(_OF_K3S, []) + options_of(process.arguments, _OF_K3S))


def switched_off(host, process):
    """(status, whether the server of k3s runs no kube-proxy, or None where that could not be read). Agents get
    --disable-kube-proxy from their server."""
    if process.name != "k3s-server":
        return OK, False
    if process.status != OK:
        return process.status, None
    given = _switched(process.arguments, _DISABLE)
    if given is None:
        status, options = k3s_options(host, (_DISABLE,))
        if options is None:
            return status, None
        given = (options.get(_DISABLE) or ["false"])[-1]
    value = parse_go_bool(given)
    return OK if value is not None else UNPARSED, value


def bound_by_flags(arguments):
    """({default port: the configured address}, names of the ports that are switched off). An empty address or port 0
    switches a port off (kubernetes cmd/kube-proxy/app/options.go, addressFromDeprecatedFlags; 1.32 removed the flags of
    ports)."""
    bound, off = {}, []
    for port, name in _PORTS:
        address = option_of(arguments, name + "-bind-address")
        # Process drops empty arguments: the next option follows `--bind-address ""`.
        if address is not None and (not address or address.startswith("-")) or option_of(
                arguments, name + "-port") == "0":
            off.append(name)
        else:
            bound[port] = address
    return bound, off


def settings_of_embedded(arguments, by):
    """The same for a kube-proxy inside another program. k3s prevents it from setting limits and sets them itself (k3s
    pkg/agent/syssetup); it may get the range of pods from its server only."""
    given = _given(arguments)
    settings = _settings(given, by)
    return settings if given[_CIDR] else dict(settings, cluster_cidr=None)


def _given(arguments):
    given = {name: option_of(arguments, name) for name in list(FLAGS) + [_CIDR, "detect-local-mode"]
             if name not in _SWITCHES}
    given.update((name, _switched(arguments, name)) for name in _SWITCHES)
    return given


def _settings(given, by):
    return {"cluster_cidr": [block for block in (given.get("cluster-cidr") or "").split(",") if block],
            "detect_local_mode": given.get("detect-local-mode") or None,
            "masquerade_all": parse_go_bool(given.get("masquerade-all") or "false"),
            "conntrack": parse_kube_proxy_conntrack({FLAGS[name]: text for name, text in given.items()
                                                     if name in FLAGS}), "conntrack_by": by}


def _switched(arguments, name):
    """Value of a bool flag. The value follows `=`; the flag alone means true (pflag, NoOptDefVal). None if not
    given."""
    values = [argument.partition("=")[2] or "true" for argument in arguments
              if re.match(r"--?%s(=|\Z)" % name, argument)]
    return values[-1] if values else None
