# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of kube-proxy in a support bundle: a file, a ConfigMap, the arguments of a manifest, the answer of
/configz. PRIVATE to the collection."""

import json
import re

from ...module_utils._parse.yaml.parse_yaml import LIST, MAP, SCALAR, item as value_of, parse_yaml

# The kind of a file is decided from this many bytes at its beginning.
HEAD, LINE = 128 * 1024, 1000
_PROXY_KIND = "KubeProxyConfiguration"
_KIND_LINE = re.compile(r"^kind: *KubeProxyConfiguration\s*$", re.MULTILINE)
_CUT_KIND = re.compile(r"[{,]\s*[\"']?kind[\"']?\s*:\s*[\"']?KubeProxyConfiguration\b")
# An item of a list in YAML or JSON; k3s has arguments without hyphens.
_ARGUMENT = re.compile(r"(?:^[ \t]{0,80}-[ \t]{1,9}[\"']?|[\[,][ \t\n]{0,80}\")(?:--)?"
                       r"(proxy-mode|cluster-cidr|ipvs-scheduler|config)=([\w.:/,-]{1,200})", re.MULTILINE)
_CONFIGZ_KEYS = ("mode", "clusterCIDR", "detectLocalMode", "metricsBindAddress", "healthzBindAddress")


def beginning(data):
    """The beginning of a text with long lines cut: the expressions are slow on a line without an end."""
    text = data[:HEAD].decode("utf-8", "replace").replace("\r\n", "\n")
    return "\n".join(line[:LINE] for line in text.split("\n"))


def kube_proxy_config(data):
    """The text of a KubeProxyConfiguration, or of what would be one if it were not damaged; that of a ConfigMap is in
    one of its values; that of a manifest is made from the arguments of kube-proxy. None for any other text."""
    if _PROXY_KIND.encode("ascii") not in data[:HEAD]:
        made = config_of_flags(beginning(data)) if b"proxy-mode" in data[:HEAD] else None
        return made and made.encode("utf-8")
    text = data[:HEAD].decode("utf-8", "replace")
    documents = parse_yaml(text)
    # parse_yaml returns the readable part of a damaged block, and nothing of damaged brackets (flow style).
    if (any(value_of(document.root, "kind").value == _PROXY_KIND for document in documents)
            or any(document.problem for document in documents) and _CUT_KIND.search(text)):
        return data
    for document in documents:
        items = value_of(document.root, "items")
        for resource in [document.root] + (items.value if items.kind == LIST else []):
            held = value_of(resource, "data")
            for _key, value in held.value if held.kind == MAP else ():
                if value.kind == SCALAR and _KIND_LINE.search(value.value):
                    return value.value.encode("utf-8", "surrogateescape")
    return None


def config_of_flags(text):
    """A KubeProxyConfiguration from the arguments of kube-proxy in a manifest or a configuration of k3s, or None. With
    --config kube-proxy ignores its other flags (kubernetes cmd/kube-proxy/app/options.go)."""
    flags = dict(_ARGUMENT.findall(text)) if "kube-proxy" in text else {}
    if "proxy-mode" not in flags or "config" in flags:
        return None
    lines = ["kind: KubeProxyConfiguration", "mode: %s" % json.dumps(flags["proxy-mode"])]
    lines += ["clusterCIDR: %s" % json.dumps(flags["cluster-cidr"])] if "cluster-cidr" in flags else []
    lines += ["ipvs:", "  scheduler: %s" % json.dumps(flags["ipvs-scheduler"])] if "ipvs-scheduler" in flags else []
    return "\n".join(lines + [""])


def config_of_configz(text):
    """(the answer of /configz of kube-proxy, the KubeProxyConfiguration that it shows); (None, None) for a text without
    the whole answer. Up to 1.34 the keys are the names of Go fields (kubernetes pkg/proxy/apis/config/types.go)."""
    try:
        answer, _end = json.JSONDecoder().raw_decode(text[text.index("{"):])
        shown = _lower(answer["kubeproxy.config.k8s.io"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, None
    linux, ranges = _lower(shown.get("linux")), _lower(shown.get("detectlocal")).get("clustercidrs")
    conntrack = _lower(linux.get("conntrack") or shown.get("conntrack"))
    found = {key: shown.get(key.lower()) for key in _CONFIGZ_KEYS}
    ranges = [each for each in ranges if isinstance(each, str)] if isinstance(ranges, list) else []
    found["clusterCIDR"] = found["clusterCIDR"] or ",".join(ranges) or None
    found["conntrack"] = {key: conntrack.get(key.lower()) for key in ("maxPerCore", "min")}
    found["ipvs"] = {"scheduler": _lower(shown.get("ipvs")).get("scheduler")}
    found["iptables"] = {"masqueradeAll": _lower(shown.get("iptables")).get("masqueradeall")}
    kept = {key: value for key, value in found.items() if value not in (None, "")}
    return json.dumps(answer), json.dumps(dict(kept, kind="KubeProxyConfiguration"))


def _lower(block):
    return {key.lower(): value for key, value in block.items()} if isinstance(block, dict) else {}
