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
The standard library reads no YAML; the file is written by kubeadm and its like in block style, or as JSON.
"""

import json
import re

# (block or empty, key) -> what the value is called here.
FIELDS = {
    ("", "mode"): "mode", ("ipvs", "scheduler"): "scheduler", ("", "metricsBindAddress"): "metrics",
    ("", "clusterCIDR"): "cluster_cidr", ("", "detectLocalMode"): "detect_local_mode",
    ("iptables", "masqueradeAll"): "masquerade_all", ("nftables", "masqueradeAll"): "masquerade_all_nftables",
}
_PAIR = re.compile(r"^(\s*)([A-Za-z]+):\s*(?:\"([^\"]*)\"|'([^']*)'|([^#\s]*))\s*(?:#.*)?$")
# What kubeadm writes where it leaves a default.
_NULLS = ("null", "Null", "NULL", "~")


def parse_kube_proxy_config(text):
    """The values of FIELDS as texts, empty where the file leaves the default, and those of the block C(conntrack) as C({key: text});
    None if it is no such configuration."""
    if "KubeProxyConfiguration" not in text:
        return None
    if text.lstrip().startswith("{"):
        return _from_json(text)
    values, block = dict(dict.fromkeys(FIELDS.values(), ""), conntrack={}), ""
    for line in text.splitlines():
        found = _PAIR.match(line)
        if not found:
            continue
        plain = "" if found.group(5) in _NULLS else found.group(5)
        indent, key, value = found.group(1), found.group(2), found.group(3) or found.group(4) or plain or ""
        if not indent:
            block = key
        name = FIELDS.get((block if indent else "", key))
        if name:
            values[name] = value
        elif indent and block == "conntrack" and value:
            values["conntrack"][key] = value
    return values


def _from_json(text):
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    blocks = dict((block, fields[block] if isinstance(fields.get(block), dict) else {}) for block in ("ipvs", "iptables", "nftables", "conntrack"))
    blocks[""] = fields
    values = dict((name, _text(blocks[block].get(key))) for (block, key), name in FIELDS.items())
    return dict(values, conntrack=dict((key, _text(value)) for key, value in blocks["conntrack"].items() if value is not None))


def _text(value):
    """As it would stand in YAML."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
