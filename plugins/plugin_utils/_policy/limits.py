# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of variables beyond their type: bounds, keys, paths and names. PRIVATE to the collection.

Modules refuse such values, too, but only on the node, and a role that runs late in a play would refuse them after other
roles have changed the node.

The variables of the playbooks of the collection.
"""

import re
from collections.abc import Callable, Mapping

from ...module_utils import _names
from ...module_utils._conntrack.keys import NAMES, SECONDS_MOST, timeout_name
from ...module_utils._conntrack.size import LEAST, MOST
from ...module_utils._errors import BadInput
from ...module_utils._parse.systemd.name import parse_unit_name
from .._checks import catalogue
from .._options import checked, unknown_name
from .._play import rollout
from . import waiving

DAY_SECONDS = 86400
_BOUNDS = {  # variable -> least, most, unit
    "node_assess_settle": (0, DAY_SECONDS, "seconds"),
    "node_report_keep": (1, 1000, "runs"),
    "repair_restart_timeout": (0, DAY_SECONDS, "seconds"),
    "repair_reboot_timeout": (1, DAY_SECONDS, "seconds"),
    "repair_settle_timeout": (0, DAY_SECONDS, "seconds"),
    "harden_conntrack_peak": (0, MOST, "connections"),
    "node_policy_max_offenders": (0, 10000, "subjects"),
    "node_policy_max_rules": (0, MOST, "rules"),
    "node_policy_unreadable_lines_max": (0, MOST, "lines"),
    "node_policy_xtables_lock_hold_seconds": (0, DAY_SECONDS, "seconds"),
    "node_policy_xtables_lock_held_percent_max": (0, 100, "percent"),
}
_LIST_FILE = re.compile(r"[^/.\s][^/\s]*\.conf\Z")
_PROGRAM = re.compile(r"(?:[/~]\S*[^\s/]|[^\s/~-][^\s/]*)\Z")


def refuse_wrong_value(name, value, label=None, known=None):
    """Raises BadInput where `value`, which has the type that the argument_specs state, is not valid for the variable
    `name`.

    `label` is the name that the user knows, if it is another one; `known` are all checks of the host by id.
    """
    if value is None:
        return
    if name in _BOUNDS:
        _refuse_beyond(label or name, value, *_BOUNDS[name])
    if name in _CHECKS:
        _CHECKS[name](label or name, value)
    if name in _SELECTIONS:
        _SELECTIONS[name](label or name, value, known)


def _refuse_beyond(name, value, least, most, what):
    if not least <= value <= most:
        raise BadInput("%s is %d; give %d to %d %s" % (name, value, least, most, what))


def _refuse_wait(name, value):
    if not 0 <= value <= DAY_SECONDS:
        raise BadInput("%s is %d; give 0 (no limit) to %d seconds" % (name, value, DAY_SECONDS))


def _refuse_relative(name, value):
    if value and not value.startswith("/"):
        raise BadInput("%s is %r; give the whole path on the node, such as /mnt/image" % (name, value))


def _refuse_no_release(name, value):
    if re.search(r"[/\s]", value) or value in (".", ".."):
        raise BadInput("%s is %r; give the release of an installed kernel, such as 6.1.0-49-amd64" % (name, value))


def _refuse_empty(name, value):
    if not value:
        raise BadInput("%s must not be empty" % name)


def _refuse_no_command(name, values):
    _refuse_empty(name, values)
    if not _PROGRAM.match(values[0] or ""):
        raise BadInput("%s[0] is %r; give a program, by one word or its whole path, and each argument as an item of "
                       "its own, such as [kubectl, --kubeconfig, /etc/kubernetes/admin.conf]" % (name, values[0]))


def _refuse_no_sizes(name, value):
    rollout.checked_serial(value, name)


def _refuse_no_percentage(name, value):
    if value != "":
        rollout.checked_percentage(value, name)


def _refuse_no_class(name, value):
    if not value:
        raise BadInput("%s is empty, so no finding with a fix would block; name safe, guarded or disruptive, or set "
                       "the mode of the gate to warn" % name)


def _refuse_no_date(name, value):
    try:
        if value:
            waiving.date_of(value)
    except ValueError:
        raise BadInput("%s is %r, but must be a date such as 2027-01-31" % (name, value)) from None


def _refuse_size(name, value):
    if value != 0:
        _refuse_beyond(name, value, LEAST, MOST, "entries, or 0 for the computed size")


def _refuse_timeouts(name, timeouts):
    for key, seconds in timeouts.items():
        if timeout_name(str(key)) is None:
            raise unknown_name("%s: the timeout" % name, key, NAMES)
        _refuse_beyond("%s.%s" % (name, key), checked("%s.%s" % (name, key), seconds,
                                                      {"type": "int", "required": True}), 1, SECONDS_MOST, "seconds")


def _refuse_no_modules(name, values):
    for index, value in enumerate(values):
        if not _names.is_name(value or ""):
            raise BadInput("%s[%d] is %r; give the name of a kernel module, such as nf_conntrack"
                           % (name, index, value))


def _refuse_no_list_file(name, value):
    if not _LIST_FILE.match(value):
        raise BadInput("%s is %r; give a file name without a folder that ends in .conf" % (name, value))


def _refuse_no_place(name, values):
    for index, value in enumerate(values):
        if not value or not value.startswith("/") and parse_unit_name(value) is None:
            raise BadInput("%s[%d] is %r; give a whole path or the name of a unit, such as /opt/fw.sh or "
                           "iptables.service" % (name, index, value))


_CHECKS = {
    "node_assess_root": _refuse_relative,
    "node_assess_kernel": _refuse_no_release,
    "node_assess_timeout": _refuse_wait,
    "node_gate_baseline_expires": _refuse_no_date,
    "node_gate_classes": _refuse_no_class,
    "node_gate_max_hosts": rollout.checked_limit,
    "node_report_folder": _refuse_empty,
    "harden_kernel_modules_names": _refuse_no_modules,
    "harden_kernel_modules_file": _refuse_no_list_file,
    "harden_flush_hooks_only": _refuse_no_place,
    "harden_conntrack_max": _refuse_size,
    "harden_conntrack_buckets": _refuse_size,
    "harden_conntrack_timeouts": _refuse_timeouts,
    "preflight_max_fail_percentage": _refuse_no_percentage,
    "preflight_serial": _refuse_no_sizes,
    "repair_kubectl": _refuse_no_command,
    "repair_node_name": _refuse_empty,
}
_SELECTIONS = {
    "node_assess_sections": catalogue.refuse_unknown_sections,
    "node_assess_checks": catalogue.refuse_unknown_checks,
    "node_assess_skip": catalogue.refuse_unknown_checks,
}


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
