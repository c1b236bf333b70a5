# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the playbooks of the collection. PRIVATE to the collection."""

from collections.abc import Callable, Mapping

from ...module_utils._errors import BadInput
from .._options import checked, unknown_name
from .._policy.limits import refuse_wrong_value

_SUBJECTS = {"type": "list", "elements": "str",
             "choices": ["kernel_modules", "conntrack", "flush_hooks", "iptables_backend"]}
_FIX = {"type": "str", "choices": ["none", "safe", "guarded"]}
_DISRUPTIVE = ("preflight_fix is 'disruptive', but preflight restarts and reboots nothing; run the playbook "
               "kubenode.netfilter.repair, which does it on one node after the other")
# Prefix of the variables of a playbook -> the variables that it takes.
PLAYBOOKS = {
    "bake_": {"bake_fix": _FIX, "bake_hosts": {"type": "raw"}, "bake_subjects": _SUBJECTS},
    "bundle_": {"bundle": {"type": "raw"}},
    "compare_": {"compare_after": {"type": "str"}, "compare_before": {"type": "str"},
                 "compare_formats": {"type": "list", "elements": "str",
                                     "choices": ["terminal", "html", "json", "markdown"]},
                 "compare_fail_on": {"type": "str", "choices": ["none", "new"]},
                 "compare_nodes": {"type": "list", "elements": "str"}},
    "preflight_": {"preflight_fix": _FIX, "preflight_hosts": {"type": "raw"},
                   "preflight_max_fail_percentage": {"type": "raw"}, "preflight_serial": {"type": "raw"},
                   "preflight_subjects": _SUBJECTS},
    "repair_": {"repair_cordoned": {"type": "bool"}, "repair_hosts": {"type": "raw"},
                "repair_kubectl": {"type": "list", "elements": "str"}, "repair_kubectl_host": {"type": "str"},
                "repair_node_name": {"type": "str"}, "repair_reboot_timeout": {"type": "int"},
                "repair_restart_timeout": {"type": "int"}, "repair_settle_timeout": {"type": "int"},
                "repair_subjects": dict(_SUBJECTS, choices=["kubelet", "kube_proxy", "iptables_backend"])},
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
            value = templated(name, variables[name])
            if name == "preflight_fix" and value == "disruptive":
                raise BadInput(_DISRUPTIVE)
            value = checked(name, value, options[name])
            if value == []:
                raise BadInput("%s is empty; name at least one, or leave it out for all" % name)
            refuse_wrong_value(name, value)
