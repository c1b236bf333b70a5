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

The values of chosen options in a configuration file of k3s or RKE2.

Sample:
    token: secret
    kubelet-arg+:
      - "port=10260"
The rest of the file is not kept: it holds the token of the cluster. Format: k3s pkg/configfilearg/parser.go, which
reads it with yaml.v2.

The conntrack settings of kube-proxy, from its configuration or its flags.

Values as Go programs parse them.
"""

import collections
import re

from ..yaml.parse_yaml import LIST, MAP, NOTHING, SCALAR, parse_yaml, plain_value


def parse_k3s_config(text, options):
    """({option: ([text], whether they are added to the values of earlier files)} for the `options` that are present,
    None), or (None, the reason why the text cannot be read). Of several documents the first counts. A number or a
    boolean becomes the text that k3s makes of it."""
    documents = parse_yaml(text)
    root, problem = documents[0] if documents else (NOTHING, None)
    if problem or root.kind not in (MAP, SCALAR) or root.kind == SCALAR and root.value:
        return None, problem or "it is not a mapping"
    found = {}
    for key, value in root.value if root.kind == MAP else ():
        name = key[:-1] if key.endswith("+") else key
        if name not in options:
            continue
        entries = value.value if value.kind == LIST else [value]
        if any(entry.kind != SCALAR for entry in entries):
            return None, "line %d: %s holds values that are not text" % (value.line, name)
        texts = [_entry_text(entry) for entry in entries if plain_value(entry, 0) not in (None, "")]
        before, added_before = found.get(name, ([], True)) if key != name else ([], False)
        found[name] = before + texts, added_before
    return found, None


def _entry_text(entry):
    value = plain_value(entry, 0)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else entry.value


def passed_on(texts):
    """Arguments of a component, from values of an option such as `kubelet-arg`; without a value `true` (k3s
    pkg/daemons/config GetArgs)."""
    return ["--" + text.lstrip("-") + ("" if "=" in text else "=true") for text in texts]


# Booleans as Go writes them.
# Sample: `true`, `T`, `0`. Grammar: Go strconv.ParseBool(), which reads every bool flag.
_WORDS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_WORDS.update(dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False))


def parse_go_bool(text):
    """True or False; None for any other text, with which a Go program does not start."""
    return _WORDS.get(text)


# Durations as Go writes them.
# Sample: `24h0m0s`, `90s`, `1.5h`, `250ms`, `0`. Grammar: Go time.ParseDuration().

# Nanoseconds.
_UNITS = {"h": 3600 * 10 ** 9, "m": 60 * 10 ** 9, "s": 10 ** 9, "ms": 10 ** 6, "us": 1000, u"\u00b5s": 1000,
          u"\u03bcs": 1000, "ns": 1}
_UNIT = u"(ms|us|\u00b5s|\u03bcs|ns|h|m|s)"
_TEXT = re.compile(u"(?:(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)%s)+\\Z" % _UNIT)
_PIECE = re.compile(u"([0-9]*)\\.?([0-9]*)%s" % _UNIT)
# A time.Duration has 64 bits.
_MOST, _DIGITS = 1 << 63, 19


def parse_go_duration(text):
    """Whole seconds, truncated like a conversion to an integer; None if the text is not a duration."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest, nanoseconds = text[len(sign):], 0
    if rest == "0":
        return 0
    if not _TEXT.match(rest):
        return None
    for whole, fraction, unit in _PIECE.findall(rest):
        whole, fraction = whole.lstrip("0")[:_DIGITS + 1], fraction[:_DIGITS]
        nanoseconds += int(whole or "0") * _UNITS[unit] + int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
    if nanoseconds >= _MOST + (sign == "-"):
        return None
    return nanoseconds // 10 ** 9 * (-1 if sign == "-" else 1)


def _number(text):
    return int(text) if re.match(r"-?[0-9]{1,10}\Z", text) else None


def _switch(text):
    return {True: 1, False: 0}.get(parse_go_bool(text))


# Field of KubeProxyConfiguration.conntrack -> flag, how its value is read (kubernetes cmd/kube-proxy/app/options.go).
CONNTRACK_FIELDS = {"maxPerCore": ("conntrack-max-per-core", _number), "min": ("conntrack-min", _number),
                    "tcpBeLiberal": ("conntrack-tcp-be-liberal", _switch),
                    "tcpCloseWaitTimeout": ("conntrack-tcp-timeout-close-wait", parse_go_duration),
                    "tcpEstablishedTimeout": ("conntrack-tcp-timeout-established", parse_go_duration),
                    "udpStreamTimeout": ("conntrack-udp-timeout-stream", parse_go_duration),
                    "udpTimeout": ("conntrack-udp-timeout", parse_go_duration)}
# Type of the field in the configuration (k8s.io/kube-proxy config/v1alpha1 types.go: *int32, bool, metav1.Duration,
# which is a text).
TYPES = {field: {_number: int, _switch: bool}.get(read, str) for field, (_flag, read) in CONNTRACK_FIELDS.items()}
FLAGS = {CONNTRACK_FIELDS[field][0]: field for field in CONNTRACK_FIELDS}


def parse_kube_proxy_conntrack(texts):
    """{field: number} of `{field: text}`; durations in seconds, without unset fields; None if a text cannot be read."""
    found = {field: CONNTRACK_FIELDS[field][1](text) for field, text in texts.items()
             if field in CONNTRACK_FIELDS and text is not None}
    return None if None in found.values() else found


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
