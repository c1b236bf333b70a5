# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module iptables_leftovers as options and a function. PRIVATE to the collection."""

from ..._look import tree
from . import clean

OPTIONS = dict(
    tree.TREE_OPTIONS,
    backend={"type": "str", "choices": ["auto", "nft", "legacy"], "default": "auto"},
    rollback_seconds={"type": "int", "default": 60},
    rollback_token={"type": "str", "no_log": False},
    window_seconds={"type": "int", "default": 5},
    proxy_mode={"type": "str", "choices": ["iptables", "ipvs"]},
    kubernetes_version={"type": "str"},
)
# Required combinations of options, as AnsibleModule takes them.
RULES = {}


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    return clean.run(params, check_mode)
