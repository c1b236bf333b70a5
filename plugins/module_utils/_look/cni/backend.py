# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The iptables backend that the agent of a network plugin is set to."""

import json
import posixpath

from ..._host import container
from ..._host.host import ABSENT, OK

# projectcalico/calico felix/config: the environment overrides its other sources; values are not case-sensitive. Images
# of Rancher choose their iptables programs by the second variable.
_VARIABLES, _BACKENDS = ("FELIX_IPTABLESBACKEND", "IPTABLES_MODE"), ("auto", "legacy", "nft")
# flannel-io/flannel main.go; the second path is the file that k3s writes for its own flannel.
_NET_CONF, _OF_K3S = "/etc/kube-flannel/net-conf.json", "/var/lib/rancher/k3s/agent/etc/flannel/net-conf.json"
_OPTION, _LIMIT = "EnableNFTables", 65536


def backend_of(host, process, network):
    """(auto, legacy, nft, unknown or None, the setting that names it); no other variable of the environment is kept."""
    wanted = _VARIABLES if network == "calico" else _VARIABLES[1:]
    text = host.read_text("/proc/%d/environ" % process.pid)
    if text.status not in (OK, ABSENT):
        return "unknown", wanted[0]
    pairs = [variable.partition("=") for variable in text.text.split("\0")]
    values = {name: value.lower() for name, _equals, value in pairs if name in wanted and value.lower() in _BACKENDS}
    found = next((name for name in wanted if name in values), None)
    if found:
        return values[found], found
    return _of_flannel(host, process) if network == "flannel" else (None, None)


def _of_flannel(host, process):
    """With EnableNFTables flannel writes nftables rules, otherwise it uses the iptables of its image (trafficmngr)."""
    given = posixpath.join("/", process.option("net-config-path") or _NET_CONF)
    path = _OF_K3S if process.name.startswith("k3s") else given
    if process.contained and path != _OF_K3S:
        found, data = container.read_first(process.pid, process.start_time, [path], _LIMIT)
        status = found["status"]
    else:
        status, data = host.read_bytes(path, _LIMIT)
    source = "%s in %s" % (_OPTION, path)
    if status == ABSENT:
        return None, None
    try:
        fields = json.loads(data.decode("utf-8")) if status == OK else None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return "unknown", source
    return ("nft", source) if fields.get(_OPTION) is True else (None, None)
