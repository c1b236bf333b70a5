# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few fields of a KubeletConfiguration that this collection needs. PRIVATE to the collection.

Sample:
    kind: KubeletConfiguration
    port: 10250
    makeIPTablesUtilChains: false
The standard library reads no YAML; the file is written by kubeadm and its like in block style, or as JSON. Of everything else in it,
tokens and paths of keys among them, nothing is kept. Fields: kubelet.config.k8s.io/v1beta1.
"""

import json
import re

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

_NAMES = dict((field, name) for name, (field, _read) in FIELDS.items())
_KIND = re.compile(r"^( *)[\"']?kind[\"']?:\s+[\"']?KubeletConfiguration[\"']?\s*(?:#.*)?$", re.M)
_PAIR = re.compile(r"^( *)[\"']?([A-Za-z]+)[\"']?:\s+(?:\"([^\"]*)\"|'([^']*)'|([^#\s\"'][^#\s]*))\s*(?:#.*)?$")


def parse_kubelet_config(text):
    """C({name of FIELDS: value}) of the fields that are there and make sense; None if it is no such configuration."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    kind = _KIND.search(text)
    if kind is None:
        return None
    found = {}
    for line in text.splitlines():
        pair = _PAIR.match(line)
        if pair and pair.group(1) == kind.group(1):
            _take(found, pair.group(2), pair.group(3) or pair.group(4) or pair.group(5) or "")
    return found


def _take(found, field, text):
    name = _NAMES.get(field)
    value = FIELDS[name][1](text) if name else None
    if value is not None:
        found[name] = value


def _from_json(text):
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if fields.get("kind") != "KubeletConfiguration":
        return None
    found = {}
    for field, value in fields.items():
        if isinstance(value, (bool, int, str)):
            _take(found, field, str(value))
    return found
