# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of kube-proxy for connections and addresses. PRIVATE to the collection."""

import re

from ..._host.host import ABSENT, OK, UNPARSED
from ..._parse.kube.go_bool import parse_go_bool
from ..._parse.kube.kube_proxy_conntrack import FLAGS, parse_kube_proxy_conntrack
from ..processes import option_of, options_of
from .embedded_arguments import k3s_options, microk8s_arguments
from .kube_proxy_found import HEALTH_PORT, METRICS_PORT

_SWITCHES = ("conntrack-tcp-be-liberal", "masquerade-all")
# Options of k3s: the range of pods that it sets for its kube-proxy, the arguments that it passes on unchanged, and the
# switch that disables kube-proxy.
_CIDR, _OF_K3S, _DISABLE = "cluster-cidr", "kube-proxy-arg", "disable-kube-proxy"
_PORTS = ((METRICS_PORT, "metrics"), (HEALTH_PORT, "healthz"))


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
    """(status, arguments) of the kube-proxy inside another program; None where a file that may hold some cannot be
    read."""
    if process.name == "kubelite":
        status, arguments = microk8s_arguments(host, "kube-proxy")
        return status, process.arguments + arguments if status in (OK, ABSENT) else None
    status, options = k3s_options(host, (_CIDR, _OF_K3S))
    if options is None:
        return status, None
    from ..._parse.kube.k3s_config import passed_on
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
    """Value of a bool flag. The value follows `=`; the flag alone means true (pflag, NoOptDefVal). None where the flag
    is not given."""
    values = [argument.partition("=")[2] or "true" for argument in arguments
              if re.match(r"--?%s(=|\Z)" % name, argument)]
    return values[-1] if values else None
