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

from ..yaml.parse_yaml import parse_yaml, plain_value

# `fields` is a dict, or None; then `problem` is the reason.
ComponentConfig = collections.namedtuple("ComponentConfig", "fields problem")
_LEVELS = 2


def parse_component_config(text, kind):
    """`ComponentConfig` of the first document of that kind. The documents before it must be readable too: an unreadable
    one may be of that kind."""
    # Files given by mistake are mostly of another format and need not be parsed.
    for document in parse_yaml(text) if kind in text else ():
        if document.problem:
            return ComponentConfig(None, document.problem)
        fields = plain_value(document.root, _LEVELS)
        if isinstance(fields, dict) and fields.get("kind") == kind:
            return ComponentConfig(fields, None)
    return ComponentConfig(None, "it contains no %s" % kind)
