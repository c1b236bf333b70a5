# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration file of a component of Kubernetes, as YAML or JSON. PRIVATE to the collection.

Sample:
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    conntrack: {maxPerCore: 0}
Scalars are texts as they are written, which is how both formats are read here: a field says itself what it takes. Kept are the fields and
those of a block, and not what is deeper, which aliases may make as large as they like.
"""

import json
import re

from .yaml_flow import LIST, MAP
from .yaml_lines import parse_whole_yaml

# What YAML 1.1 and Go take for no value.
_NULLS = ("", "null", "Null", "NULL", "~")
_LEVELS = 2
_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.M)


def parse_component_config(text, kind):
    """C({field: text, None, or a dict of such}) of the first document of that kind, an empty list for each list; None where there is no
    such document that can be read as a whole."""
    if kind not in text:
        return None
    for fields in _documents(text):
        if isinstance(fields, dict) and fields.get("kind") == kind:
            return fields
    return None


def _documents(text):
    if text.lstrip().startswith("{"):
        try:
            yield _written(json.loads(text))
            return
        except (ValueError, RecursionError):
            pass  # A mapping of YAML in brackets.
    for document in _DOCUMENT.split(text):
        if document.strip():
            yield _plain(parse_whole_yaml(document))


def _plain(node, levels=_LEVELS):
    if node is None:
        return None
    if node.kind == MAP:
        return dict((key, _plain(value, levels - 1)) for key, value in node.value) if levels else {}
    if node.kind == LIST:
        return []
    return None if node.value in _NULLS else node.value


def _written(value, levels=_LEVELS):
    """A value of JSON with its scalars as they would stand in YAML."""
    if isinstance(value, dict):
        return dict((key, _written(inner, levels - 1)) for key, inner in value.items()) if levels else {}
    if isinstance(value, list):
        return []
    if value is None or value == "":
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
