# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few fields of a KubeletConfiguration that this collection needs. PRIVATE to the collection.

Sample:
    kind: KubeletConfiguration
    port: 10250
    makeIPTablesUtilChains: false
Its other fields, such as tokens and paths of keys, are not kept. Fields: kubelet.config.k8s.io/v1beta1.
"""

import re

from .component_config import ComponentConfig, parse_component_config
from .go_bool import parse_go_bool

_HAIRPIN = ("promiscuous-bridge", "hairpin-veth", "none")
_LARGEST = 99999

# Name here (that of the flag, with underscores) -> (field, its type or its allowed words).
FIELDS = {
    "port": ("port", int), "read_only_port": ("readOnlyPort", int), "healthz_port": ("healthzPort", int),
    "make_iptables_util_chains": ("makeIPTablesUtilChains", bool),
    "iptables_masquerade_bit": ("iptablesMasqueradeBit", int), "iptables_drop_bit": ("iptablesDropBit", int),
    "hairpin_mode": ("hairpinMode", _HAIRPIN),
}
# Defaults of kubelet (kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go).
DEFAULTS = {"port": 10250, "read_only_port": 0, "healthz_port": 10248, "make_iptables_util_chains": True,
            "iptables_masquerade_bit": 14, "iptables_drop_bit": 15, "hairpin_mode": "promiscuous-bridge"}
# With flags and without a configuration file, kubelet opens its read-only port by default (applyLegacyDefaults of
# kubernetes cmd/kubelet/app/options/options.go).
READ_ONLY_PORT_OF_FLAGS = 10255


def parse_kubelet_config(text):
    """`ComponentConfig` with {name of FIELDS: value} of the fields that are there, None for an invalid value."""
    found = parse_component_config(text, "KubeletConfiguration")
    if found.fields is None:
        return found
    values = {name: _sensible(kind, found.fields[field]) for name, (field, kind) in FIELDS.items()
              if found.fields.get(field) is not None}
    return ComponentConfig(values, None)


def flag_value(name, text):
    """The value of a flag for that name of FIELDS; None for an invalid value."""
    kind = FIELDS[name][1]
    if kind is bool:
        return parse_go_bool(text)
    return _sensible(kind, int(text) if kind is int and re.match(r"[0-9]{1,5}\Z", text) else text)


def _sensible(kind, value):
    if kind in (int, bool):
        return (value if isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
                and 0 <= value <= _LARGEST else None)
    return value if isinstance(value, str) and value in kind else None
