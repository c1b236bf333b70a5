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

from .component_config import parse_component_config

# (block or empty, key) -> what the value is called here.
FIELDS = {
    ("", "mode"): "mode", ("ipvs", "scheduler"): "scheduler", ("", "metricsBindAddress"): "metrics",
    ("", "clusterCIDR"): "cluster_cidr", ("", "detectLocalMode"): "detect_local_mode",
    ("iptables", "masqueradeAll"): "masquerade_all", ("nftables", "masqueradeAll"): "masquerade_all_nftables",
}


def parse_kube_proxy_config(text):
    """The values of FIELDS as texts, empty where the file leaves the default, and those of the block C(conntrack) as C({key: text});
    None if it is no such configuration, or one that cannot be read."""
    fields = parse_component_config(text, "KubeProxyConfiguration")
    if fields is None:
        return None
    blocks = dict((block, {} if fields.get(block) is None else fields[block]) for block in ("ipvs", "iptables", "nftables", "conntrack"))
    if not all(isinstance(block, dict) for block in blocks.values()):
        return None
    blocks[""] = fields
    given = dict((name, blocks[block].get(key)) for (block, key), name in FIELDS.items())
    values = dict((name, "" if value is None else value) for name, value in given.items())
    if not all(isinstance(value, str) for value in values.values()):
        return None
    return dict(values, conntrack=dict((key, str(value)) for key, value in blocks["conntrack"].items() if value is not None))
