# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration file of a component of Kubernetes, as YAML or JSON. PRIVATE to the collection.

Sample:
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    conntrack: {maxPerCore: 0}
The fields of the file and of its blocks are kept, deeper levels are not. A value must have the type of its field in Go:
a number in quotes is not a number, and the component does not start with it (kubernetes apimachinery
pkg/runtime/serializer/json, strict about types).
"""

import collections
import re

from ..yaml.parse_yaml import parse_yaml, plain_value
from .go_values import parse_go_bool
from .kube_proxy_conntrack import TYPES

# `fields` is a dict, or None; then `problem` is the reason.
ComponentConfig = collections.namedtuple("ComponentConfig", "fields problem")
_LEVELS = 2
# (block or empty, key) -> name of the value here, its type.
FIELDS = {
    ("", "mode"): ("mode", str), ("ipvs", "scheduler"): ("scheduler", str),
    ("", "metricsBindAddress"): ("metrics", str), ("", "healthzBindAddress"): ("healthz", str),
    ("", "clusterCIDR"): ("cluster_cidr", str),
    ("", "detectLocalMode"): ("detect_local_mode", str), ("iptables", "masqueradeAll"): ("masquerade_all", bool),
    ("nftables", "masqueradeAll"): ("masquerade_all_nftables", bool)}
_HAIRPIN = ("promiscuous-bridge", "hairpin-veth", "none")
_LARGEST = 99999

# Name here (that of the flag, with underscores) -> (field, its type or its allowed words).
KUBELET_FIELDS = {
    "port": ("port", int), "read_only_port": ("readOnlyPort", int), "healthz_port": ("healthzPort", int),
    "make_iptables_util_chains": ("makeIPTablesUtilChains", bool),
    "iptables_masquerade_bit": ("iptablesMasqueradeBit", int), "iptables_drop_bit": ("iptablesDropBit", int),
    "hairpin_mode": ("hairpinMode", _HAIRPIN)}
# Defaults of kubelet (kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go).
DEFAULTS = {"port": 10250, "read_only_port": 0, "healthz_port": 10248, "make_iptables_util_chains": True,
            "iptables_masquerade_bit": 14, "iptables_drop_bit": 15, "hairpin_mode": "promiscuous-bridge"}
# With flags and without a configuration file, kubelet opens its read-only port by default (applyLegacyDefaults of
# kubernetes cmd/kubelet/app/options/options.go).
READ_ONLY_PORT_OF_FLAGS = 10255


def parse_component_config(text, kind):
    """`ComponentConfig` of the first document of that kind; an unreadable one before it may be of that kind, too."""
    # Files given by mistake are mostly of another format and need not be parsed.
    for document in parse_yaml(text) if kind in text else ():
        if document.problem:
            return ComponentConfig(None, document.problem)
        fields = plain_value(document.root, _LEVELS)
        if isinstance(fields, dict) and fields.get("kind") == kind:
            return ComponentConfig(fields, None)
    return ComponentConfig(None, "it contains no %s" % kind)


# The few fields of a KubeProxyConfiguration that this collection needs.
# Sample:
#     kind: KubeProxyConfiguration
#     clusterCIDR: 10.244.0.0/16
#     metricsBindAddress: 127.0.0.1:10249
#     mode: "ipvs"
#     ipvs:
#       scheduler: wrr
# Fields: kubeproxy.config.k8s.io/v1alpha1.
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


# The few fields of a KubeletConfiguration that this collection needs.
# Sample:
#     kind: KubeletConfiguration
#     port: 10250
#     makeIPTablesUtilChains: false
# Its other fields, such as tokens and paths of keys, are not kept. Fields: kubelet.config.k8s.io/v1beta1.
def parse_kubelet_config(text):
    """`ComponentConfig` with {name of FIELDS: value} of the fields that are there, None for an invalid value."""
    found = parse_component_config(text, "KubeletConfiguration")
    if found.fields is None:
        return found
    values = {name: _sensible(kind, found.fields[field]) for name, (field, kind) in KUBELET_FIELDS.items()
              if found.fields.get(field) is not None}
    return ComponentConfig(values, None)


def flag_value(name, text):
    """The value of a flag for that name of FIELDS; None for an invalid value."""
    kind = KUBELET_FIELDS[name][1]
    if kind is bool:
        return parse_go_bool(text)
    return _sensible(kind, int(text) if kind is int and re.match(r"[0-9]{1,5}\Z", text) else text)


def _sensible(kind, value):
    if kind in (int, bool):
        return (value if isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
                and 0 <= value <= _LARGEST else None)
    return value if isinstance(value, str) and value in kind else None
