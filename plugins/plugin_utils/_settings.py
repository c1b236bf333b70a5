# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings come from the inventory, the play and the command line, never from a node. PRIVATE to the collection.

Ansible makes every fact of a host a variable of that host, above role defaults and inventory (`inject_facts_as_vars`,
on by default). Any module of a play may return facts that a node controls, so a node can set a variable of this
collection.
"""

from ansible import constants

from ..module_utils._errors import BadInput
from . import _policy


def refuse_facts_as_settings(task_vars):
    """Raises BadInput where a fact of the host has the name of a variable of this collection and would be read in its
    place."""
    if not constants.INJECT_FACTS_AS_VARS:
        return
    names = sorted(name for name in task_vars.get("ansible_facts") or () if _is_setting(str(name)))
    if names:
        raise BadInput(
            "The facts of this host contain %s, a setting of kubenode.netfilter%s. A node must not configure the "
            "controller: find out which module or fact cache brought it, clear the facts of the host (meta: "
            "clear_facts), or run with inject_facts_as_vars=False" % (
                names[0], " (and %d more)" % (len(names) - 1) if len(names) > 1 else ""))


def _is_setting(name):
    internal = name.startswith("__") and name[2:].startswith(_policy.prefixes())
    return internal or name in _policy.known_names()
