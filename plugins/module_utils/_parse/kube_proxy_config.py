# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few fields of a KubeProxyConfiguration that this collection needs. PRIVATE to the collection.

Sample:
    kind: KubeProxyConfiguration
    mode: "ipvs"
    ipvs:
      scheduler: wrr
The standard library reads no YAML; the file is written by kubeadm and its like in block style, or as JSON.
"""

import json
import re

_PAIR = re.compile(r"^(\s*)([A-Za-z]+):\s*(?:\"([^\"]*)\"|'([^']*)'|([^#\s]*))\s*(?:#.*)?$")


def parse_kube_proxy_config(text):
    """C({"mode": str, "scheduler": str}), empty strings where the file leaves the default; None if it is no such configuration."""
    if "KubeProxyConfiguration" not in text:
        return None
    if text.lstrip().startswith("{"):
        return _from_json(text)
    mode, scheduler, block = "", "", ""
    for line in text.splitlines():
        found = _PAIR.match(line)
        if not found:
            continue
        indent, key, value = found.group(1), found.group(2), found.group(3) or found.group(4) or found.group(5) or ""
        if not indent:
            block = key
            if key == "mode":
                mode = value
        elif block == "ipvs" and key == "scheduler":
            scheduler = value
    return {"mode": mode, "scheduler": scheduler}


def _from_json(text):
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    ipvs = fields.get("ipvs") if isinstance(fields.get("ipvs"), dict) else {}
    return {"mode": str(fields.get("mode") or ""), "scheduler": str(ipvs.get("scheduler") or "")}
