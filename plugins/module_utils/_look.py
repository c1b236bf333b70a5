# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the looking modules share: options, one call, one error. PRIVATE to the collection."""

from . import _errors
from ._collect.node import collect_sections

TREE_OPTIONS = {
    "root": {"type": "path", "default": "/"},
    "place": {"type": "str", "choices": ["auto", "live", "image", "container"], "default": "auto"},
}


def place_of(params):
    """The place that was asked for, None for auto."""
    return None if params["place"] == "auto" else params["place"]


def exit_with_sections(module, sections, modules=None, kernel=None):
    """Collect C(sections) as the module's options say and end the module with them."""
    try:
        facts = collect_sections(sections, module.params["root"], place_of(module.params), modules, kernel)
    except _errors.BadInput as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts=facts)
