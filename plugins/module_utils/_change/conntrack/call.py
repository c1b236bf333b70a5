# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module conntrack as options and a function. PRIVATE to the collection."""

from ..._look import tree
from . import options, plan

OPTIONS = dict(
    tree.TREE_OPTIONS,
    state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    max={"type": "int"},
    buckets={"type": "int"},
    resize={"type": "str", "choices": ["auto", "always", "never"], "default": "auto"},
    timeouts={"type": "dict", "default": {}},
    sysctls={"type": "list", "elements": "str", "choices": list(options.SWITCHES), "default": []},
    modules={"type": "list", "elements": "str", "choices": ["br_netfilter", "nf_conntrack"], "default": []},
    load={"type": "bool", "default": False},
    persist={"type": "bool", "default": True},
    lower={"type": "bool", "default": False},
    comment_out_conflicts={"type": "bool", "default": False},
    file={"type": "str", "default": "zz-kubenode-netfilter.conf"},
)
# Required combinations of options, as AnsibleModule takes them.
RULES = {}


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    return plan.run(params, check_mode)
