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
    has work for more than one of them; each call of a module costs about as much as a ping.
  - A module that fails does not keep those behind it from running. The task fails if one of them does.
  - It is sent to the node over standard input (pipelining), independent of the connection's setting, unless the node's
    sudo requires a terminal.
author:
  - kubenode.netfilter contributors (@kubenode)
extends_documentation_fragment:
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
seealso:
  - module: kubenode.netfilter.fix
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
msg:
  description: What failed, module by module.
  returned: failure
  type: str
  sample: 'conntrack: max must be at least 1'
"""

import json

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils._change import calls

OPTIONS = {
    "changes": {"type": "list", "elements": "dict", "required": True, "options": {
        "module": {"type": "str", "required": True, "choices": list(calls.SUBJECTS)},
        "options": {"type": "dict", "default": {}},
    }},
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


def main():
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    rows = [row_of(change, module.check_mode) for change in module.params["changes"]]
    result = {"results": [row for row, _message in rows], "changed": any(row["changed"] for row, _message in rows)}
    messages = [message for _row, message in rows if message]
    if messages:
        module.fail_json(msg="; ".join(messages), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
