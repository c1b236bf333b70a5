# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few fields of a KubeProxyConfiguration that this collection needs. PRIVATE to the collection.

Sample:
    kind: KubeProxyConfiguration
    clusterCIDR: 10.244.0.0/16
    metricsBindAddress: 127.0.0.1:10249
    mode: "ipvs"
    ipvs:
      scheduler: wrr
Fields: kubeproxy.config.k8s.io/v1alpha1.
"""

from .component_config import ComponentConfig, parse_component_config
from .kube_proxy_conntrack import TYPES

# (block or empty, key) -> name of the value here, its type.
FIELDS = {
    ("", "mode"): ("mode", str), ("ipvs", "scheduler"): ("scheduler", str),
    ("", "metricsBindAddress"): ("metrics", str), ("", "healthzBindAddress"): ("healthz", str),
    ("", "clusterCIDR"): ("cluster_cidr", str),
    ("", "detectLocalMode"): ("detect_local_mode", str), ("iptables", "masqueradeAll"): ("masquerade_all", bool),
    ("nftables", "masqueradeAll"): ("masquerade_all_nftables", bool),
}


def parse_kube_proxy_config(text):
    """`ComponentConfig` with the values of FIELDS in the form of a flag, empty where the file keeps the default, and
    the values of the block `conntrack` as {key: text}, empty for a value of another type."""
    found = parse_component_config(text, "KubeProxyConfiguration")
    if found.fields is None:
        return found
    blocks = {block: {} if found.fields.get(block) is None else found.fields[block]
              for block in ("ipvs", "iptables", "nftables", "conntrack")}
    wrong = [block for block in sorted(blocks) if not isinstance(blocks[block], dict)]
    if wrong:
        return ComponentConfig(None, "%s is not a mapping" % wrong[0])
    blocks[""] = found.fields
    values = {}
    for (block, key), (name, kind) in sorted(FIELDS.items()):
        value = blocks[block].get(key)
        values[name] = "" if value is None else _text(value, kind)
        if values[name] is None:
            return ComponentConfig(None, "%s has another type" % ".".join(part for part in (block, key) if part))
    conntrack = {key: _text(value, TYPES[key]) or "" for key, value in blocks["conntrack"].items()
                 if key in TYPES and value is not None}
    return ComponentConfig(dict(values, conntrack=conntrack), None)


def _text(value, kind):
    """The value in the form of a flag; None where it has another type."""
    # In Python a bool is an int, in Go it is not.
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        return None
    return str(value).lower() if kind is bool else str(value)
