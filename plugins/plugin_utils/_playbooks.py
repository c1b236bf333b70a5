# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the playbooks of the collection. PRIVATE to the collection."""

from collections.abc import Callable, Mapping

from ..module_utils._errors import BadInput
from ._options import checked, unknown_name

_SUBJECTS = {"type": "list", "elements": "str",
             "choices": ["kernel_modules", "conntrack", "flush_hooks", "iptables_backend"]}
_FIX = {"type": "str", "choices": ["none", "safe", "guarded", "disruptive"]}
# Prefix of the variables of a playbook -> the variables that it takes. bake.yml sets preflight_fix from bake_fix, so
# the variables of bake.yml are checked first.
PLAYBOOKS = {
    "bake_": {"bake_fix": _FIX, "bake_hosts": {"type": "raw"}, "bake_subjects": _SUBJECTS},
    "bundle_": {"bundle": {"type": "raw"}},
    "compare_": {"compare_after": {"type": "str"}, "compare_before": {"type": "str"},
                 "compare_formats": {"type": "list", "elements": "str",
                                     "choices": ["terminal", "html", "json", "markdown"]},
                 "compare_nodes": {"type": "list", "elements": "str"}},
    "preflight_": {"preflight_fix": _FIX, "preflight_hosts": {"type": "raw"},
                   "preflight_max_fail_percentage": {"type": "raw"}, "preflight_serial": {"type": "raw"},
                   # Nothing is restarted in an image, and a restart is not undone.
                   "preflight_subjects": dict(_SUBJECTS, choices=[*_SUBJECTS["choices"], "kube_proxy"])},
    "undo_": {"undo_hosts": {"type": "raw"}, "undo_subjects": _SUBJECTS},
}


def refuse_wrong_variables(variables: Mapping, templated: Callable[[str, object], object]) -> None:
    """Refuses every wrong variable of a playbook of the collection, where `variables` are those of a task in one.

    No other code of such a play has variables with these prefixes, so an unknown name is a mistake and would be ignored
    silently: `undo_only` would undo every subject. Facts are no settings. Raises BadInput.
    """
    if not variables.get("__node_policy_playbook"):
        return
    facts, prefixed = variables.get("ansible_facts") or {}, tuple(PLAYBOOKS)
    names = [str(name) for name in variables if str(name).startswith(prefixed) and name not in facts]
    for prefix, options in PLAYBOOKS.items():
        for name in sorted(names):
            if name.startswith(prefix) and name not in options:
                raise unknown_name("The variable", name, options, prefix=prefix)
    for options in PLAYBOOKS.values():
        for name in sorted(set(options).intersection(names)):
            if checked(name, templated(name, variables[name]), options[name]) == []:
                raise BadInput("%s is empty; name at least one, or leave it out for all" % name)
