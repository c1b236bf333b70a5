#!/usr/bin/python
# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kubenode.netfilter.node_changes."""

DOCUMENTATION = r"""
module: node_changes
short_description: Run several of the modules that change a node in one call
version_added: 0.1.0
description:
  - Runs the named modules one after the other in one process on the node. M(kubenode.netfilter.fix) does so where it
    changes a node or has work for more than one of them; each call of a module costs about as much as a ping.
  - A module that fails does not keep those behind it from running. The task fails if one of them does.
  - With O(look) it looks at the node afterwards, in the same process, as M(kubenode.netfilter.node_facts) would in
    another call.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
  - kubenode.netfilter.common.internal
  - kubenode.netfilter.common.changes
attributes:
  diff_mode:
    support: partial
    description: The diffs are in RV(results[].result).
options:
  changes:
    description: The modules, in the order in which they run.
    type: list
    elements: dict
    required: true
    suboptions:
      module:
        description: Name of the module in this collection.
        type: str
        required: true
        choices: [kernel_modules, conntrack, flush_hooks, iptables_backend]
      options:
        description: Its options.
        type: dict
        default: {}
  look:
    description:
      - What to look at afterwards, if one of the modules changed the node or failed; by default nothing.
      - Nothing is looked at in check mode.
    type: dict
    suboptions:
      gather_subset:
        description: Sections of evidence to collect.
        type: list
        elements: str
        required: true
        choices: [host, kernel_modules, iptables_backend, iptables_chains, xtables_lock, flush_hooks, conntrack, ipvs,
                  kubelet, kube_proxy, cni, logs]
      modules:
        description: See O(kubenode.netfilter.node_facts#module:modules).
        type: list
        elements: str
      kernel:
        description: See O(kubenode.netfilter.node_facts#module:kernel).
        type: str
      hook_directories:
        description: See O(kubenode.netfilter.node_facts#module:hook_directories).
        type: list
        elements: str
      root:
        description: Absolute path of the system tree to look at.
        type: path
        default: /
      place:
        description: Kind of place that the tree is; V(auto) detects it.
        type: str
        choices: [auto, live, image, container, bundle]
        default: auto
      timeout:
        description: Seconds that the look may take; V(0) waits without a limit.
        type: int
        default: 180
seealso:
  - module: kubenode.netfilter.fix
  - module: kubenode.netfilter.node_facts
  - module: kubenode.netfilter.kernel_modules
  - module: kubenode.netfilter.conntrack
  - module: kubenode.netfilter.flush_hooks
  - module: kubenode.netfilter.iptables_backend
"""

EXAMPLES = r"""
- name: Load modules, and set the sysctls that they bring
  kubenode.netfilter.node_changes:
    changes:
      - module: kernel_modules
        options: {name: [br_netfilter, nf_conntrack]}
      - module: conntrack
        options: {max: 262144}
    look:
      gather_subset: [kernel_modules, conntrack]
"""

RETURN = r"""
results:
  description: One row for each of the modules, in their order.
  returned: always
  type: list
  elements: dict
  contains:
    module: {description: Name of the module., type: str, returned: always, sample: conntrack}
    changed: {description: Whether it changed the node., type: bool, returned: always, sample: true}
    failed: {description: Whether it failed., type: bool, returned: always, sample: false}
    result:
      description: What the module returns, as a JSON text. Its own page documents the keys.
      type: str
      returned: always
      sample: '{"changed": true, "files": ["/etc/sysctl.d/zz-kubenode-netfilter.conf"]}'
looked:
  description: The sections of O(look) as a JSON text. The page of M(kubenode.netfilter.node_facts) documents them.
  returned: with O(look) outside check mode, if something was changed or failed and the look succeeded
  type: str
  sample: '{"node_kernel_modules": {"schema": 1}}'
look_failed:
  description: Why there are no sections.
  returned: if the look failed
  type: str
  sample: 'Overdue: the look took longer than 180 seconds'
msg:
  description: What failed, module by module.
  returned: failure
  type: str
  sample: 'conntrack: max must be at least 1'
"""

import json

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils import _errors
from ..module_utils._change import calls
from ..module_utils._look import tree

# The same as in _look/node, which is not imported here: it compiles all collectors, and only a look needs them.
SECTIONS = ("host", "kernel_modules", "iptables_backend", "iptables_chains", "xtables_lock", "flush_hooks", "conntrack",
            "ipvs", "kubelet", "kube_proxy", "cni", "logs")
LOOK = dict(
    tree.TREE_OPTIONS,
    gather_subset={"type": "list", "elements": "str", "required": True, "choices": list(SECTIONS)},
    modules={"type": "list", "elements": "str"},
    kernel={"type": "str"},
    hook_directories={"type": "list", "elements": "str"},
    timeout={"type": "int", "default": 180},
)
OPTIONS = {
    "changes": {"type": "list", "elements": "dict", "required": True, "options": {
        "module": {"type": "str", "required": True, "choices": list(calls.SUBJECTS)},
        "options": {"type": "dict", "default": {}},
    }},
    "look": {"type": "dict", "options": LOOK},
}


def validated(options, argument_spec, **rules):
    """(the options in their types, why they are wrong)."""
    checked = ArgumentSpecValidator(argument_spec, **rules).validate(options)
    return checked.validated_parameters, checked.error_messages


def row_of(change, check_mode):
    """One row of `results`, and what failed, or None."""
    name = change["module"]
    result = calls.result_of(name, change["options"], check_mode, validated)
    failed = bool(result.get("failed"))
    row = {"module": name, "changed": bool(result.get("changed")), "failed": failed, "result": json.dumps(result)}
    return row, "%s: %s" % (name, result.get("msg") or "it failed") if failed else None


def looked(params):
    """The sections, or why there are none: the changes were made and must be reported all the same."""
    from ..module_utils._look.node import collect_from
    try:
        facts = tree.facts_within(params, lambda host, node: collect_from(
            host, node, params["gather_subset"], params["modules"], params["kernel"], params["hook_directories"]),
            params["timeout"])
        return {"looked": json.dumps(facts)}
    except _errors.BadInput as error:
        return {"look_failed": str(error)}
    except Exception as error:
        return {"look_failed": "%s: %s" % (type(error).__name__, error)}


def main():
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    rows = calls.each_under_one_lock(lambda change: row_of(change, module.check_mode), module.params["changes"])
    result = {"results": [row for row, _message in rows], "changed": any(row["changed"] for row, _message in rows)}
    messages = [message for _row, message in rows if message]
    if module.params["look"] and not module.check_mode and (messages or result["changed"]):
        result.update(looked(module.params["look"]))
    if messages:
        module.fail_json(msg="; ".join(messages), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
