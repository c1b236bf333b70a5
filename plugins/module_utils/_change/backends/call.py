# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module iptables_backend as options and a function. PRIVATE to the collection."""

from ..._look import tree
from . import plan

OPTIONS = dict(
    tree.TREE_OPTIONS,
    state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    backend={"type": "str", "choices": ["auto", "nft", "legacy"], "default": "auto"},
    live={"type": "bool", "default": False},
)
# Required combinations of options, as AnsibleModule takes them.
RULES = {}


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    return plan.run(params, check_mode)
