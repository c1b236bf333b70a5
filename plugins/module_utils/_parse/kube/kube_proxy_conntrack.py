# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conntrack settings of kube-proxy, from its configuration or its flags. PRIVATE to the collection."""

import re

from .go_values import parse_go_bool, parse_go_duration


def _number(text):
    return int(text) if re.match(r"-?[0-9]{1,10}\Z", text) else None


def _switch(text):
    return {True: 1, False: 0}.get(parse_go_bool(text))


# Field of KubeProxyConfiguration.conntrack -> flag, how its value is read (kubernetes cmd/kube-proxy/app/options.go).
FIELDS = {"maxPerCore": ("conntrack-max-per-core", _number), "min": ("conntrack-min", _number),
          "tcpBeLiberal": ("conntrack-tcp-be-liberal", _switch),
          "tcpCloseWaitTimeout": ("conntrack-tcp-timeout-close-wait", parse_go_duration),
          "tcpEstablishedTimeout": ("conntrack-tcp-timeout-established", parse_go_duration),
          "udpStreamTimeout": ("conntrack-udp-timeout-stream", parse_go_duration),
          "udpTimeout": ("conntrack-udp-timeout", parse_go_duration)}
# Type of the field in the configuration (k8s.io/kube-proxy config/v1alpha1 types.go; metav1.Duration is a text).
TYPES = {field: {_number: int, _switch: bool}.get(read, str) for field, (_flag, read) in FIELDS.items()}
FLAGS = {FIELDS[field][0]: field for field in FIELDS}


def parse_kube_proxy_conntrack(texts):
    """{field: number} of `{field: text}`; durations in seconds, without unset fields; None if a text cannot be read."""
    found = {field: FIELDS[field][1](text) for field, text in texts.items() if field in FIELDS and text is not None}
    return None if None in found.values() else found
