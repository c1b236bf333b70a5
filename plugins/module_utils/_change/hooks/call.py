# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module flush_hooks as options and a function. PRIVATE to the collection."""

from ..._look import tree
from ..._look.hooks import flush_hooks
from . import plan

OPTIONS = dict(
    tree.TREE_OPTIONS,
    state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    only={"type": "list", "elements": "str", "default": []},
    start={"type": "str", "choices": ["noflush", "mask"], "default": "noflush"},
    divert={"type": "bool", "default": False},
    clean_saved={"type": "bool", "default": True},
    hook_directories={"type": "list", "elements": "path", "default": list(flush_hooks.DIRECTORIES)},
)
# Required combinations of options, as AnsibleModule takes them.
RULES = {}


def change(params, check_mode):
    """The result of the module for options that are valid; raises BadInput and ChangeFailed."""
    result = plan.run(params, check_mode)
    duplicates = {(row["path"], row["msg"]) for row in result["hooks"] if row["msg"] == plan.DUPLICATES}
    warnings = result.get("warnings", []) + ["%s: %s" % row for row in sorted(duplicates)]
    return dict(result, warnings=warnings) if warnings else result
