# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CNI network configurations. PRIVATE to the collection.

Sample: `{"name": "cbr0", "plugins": [{"type": "flannel"}, {"type": "portmap"}]}`. Format: CNI specification, section 1.
"""

import json


def parse_cni_config(text):
    """[type of each plugin, in order], or None where this is no network configuration."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    plugins = fields.get("plugins") if isinstance(fields.get("plugins"), list) else [fields]
    return [str(plugin["type"]) for plugin in plugins if isinstance(plugin, dict) and plugin.get("type")] or None
