# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module kernel_modules as options and a function. PRIVATE to the collection."""

from ... import _names
from ..._look import tree
from . import plan

OPTIONS = dict(
    tree.TREE_OPTIONS,
    name={"type": "list", "elements": "str"},
    state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    load={"type": "bool", "default": True},
    persist={"type": "bool", "default": True},
    unblock={"type": "bool", "default": False},
    file={"type": "str", "default": "kubenode-netfilter.conf"},
)
# Required combinations of options, as AnsibleModule takes them.
RULES = {"required_if": [("state", "present", ["name"])]}


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    return plan.run(params, check_mode, _names.checked(params["name"] or []))
