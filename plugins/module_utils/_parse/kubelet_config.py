# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few fields of a KubeletConfiguration that this collection needs. PRIVATE to the collection.

Sample:
    kind: KubeletConfiguration
    port: 10250
    makeIPTablesUtilChains: false
Of everything else in it, tokens and paths of keys among them, nothing is kept. Fields: kubelet.config.k8s.io/v1beta1.
"""

import re

from .component_config import parse_component_config

_HAIRPIN = ("promiscuous-bridge", "hairpin-veth", "none")


def _number(text):
    return int(text) if re.match(r"[0-9]{1,5}\Z", text) else None


def _boolean(text):
    """What YAML 1.1 and Go's strconv.ParseBool take."""
    return {"true": True, "yes": True, "on": True, "t": True, "1": True,
            "false": False, "no": False, "off": False, "f": False, "0": False}.get(text.lower())


def _hairpin(text):
    return text if text in _HAIRPIN else None


# Name here, which is the flag's with underscores -> (field, what reads its text).
FIELDS = {
    "port": ("port", _number), "read_only_port": ("readOnlyPort", _number), "healthz_port": ("healthzPort", _number),
    "make_iptables_util_chains": ("makeIPTablesUtilChains", _boolean), "iptables_masquerade_bit": ("iptablesMasqueradeBit", _number),
    "iptables_drop_bit": ("iptablesDropBit", _number), "hairpin_mode": ("hairpinMode", _hairpin),
}
# What kubelet takes where nothing is said (kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go).
DEFAULTS = {"port": 10250, "read_only_port": 0, "healthz_port": 10248, "make_iptables_util_chains": True, "iptables_masquerade_bit": 14,
            "iptables_drop_bit": 15, "hairpin_mode": "promiscuous-bridge"}
# Flags without any file leave it open (applyLegacyDefaults of kubernetes cmd/kubelet/app/options/options.go).
READ_ONLY_PORT_OF_FLAGS = 10255


def parse_kubelet_config(text):
    """C({name of FIELDS: value}) of the fields that are there, None for a value that makes no sense; None if it is no such configuration, or
    one that cannot be read."""
    fields = parse_component_config(text, "KubeletConfiguration")
    if fields is None:
        return None
    return dict((name, read(fields[field]) if isinstance(fields[field], str) else None)
                for name, (field, read) in FIELDS.items() if fields.get(field) is not None)
