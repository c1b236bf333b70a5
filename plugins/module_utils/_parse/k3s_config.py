# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments that a configuration of k3s passes on to kubelet. PRIVATE to the collection.

Sample:
    token: secret
    kubelet-arg:
      - "port=10260"
Nothing else of the file is kept: it holds the token of the cluster.
"""

import re

_KEY = re.compile(r"[\"']?([A-Za-z0-9_+-]+)[\"']?\s*:(.*)")
_ARGUMENT = re.compile(r"[a-z][a-z0-9-]*=[^\s\"',\]]+")


def parse_k3s_kubelet_arguments(text):
    """What stands below C(kubelet-arg), in its order, as C(--name=value)."""
    found, inside = [], False
    for line in text.splitlines():
        key = _KEY.match(line)
        if key:
            inside, line = key.group(1).rstrip("+") == "kubelet-arg", key.group(2)
        if inside and not line.lstrip().startswith("#"):
            found += ["--" + argument for argument in _ARGUMENT.findall(line)]
    return found
