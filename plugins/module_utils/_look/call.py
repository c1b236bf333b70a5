# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules end: a look with facts, a change with its result, and one place that reports errors."""

from .. import _errors
from .bounds import fitted
from .tree import open_to_look


def facts_of(params, collect):
    """The facts that `collect(host, node_host)` returns for the tree that `params` name. Raises BadInput."""
    return fitted(collect(*open_to_look(params)))


def facts_within(params, collect, seconds):
    """The facts of facts_of() within `seconds`; 0 sets no time limit. Raises Overdue as well."""
    from .._host.signals import within
    with within(seconds):
        return facts_of(params, collect)


def exit_with_facts(module, collect):
    try:
        facts = facts_of(module.params, collect)
    except _errors.BadInput as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts=facts)


def exit_with_result(module, run):
    """End the module with what `run(params, check_mode)` returns, or with the error that it raises."""
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except (_errors.BadInput, _errors.ChangeFailed) as error:
        module.fail_json(**error.result())
