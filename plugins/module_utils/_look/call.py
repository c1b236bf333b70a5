# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the modules that look: one call, one way to report errors. PRIVATE to the collection."""

import signal

from .. import _errors
from .bounds import fitted
from .tree import open_to_look


class Overdue(Exception):
    """A look took longer than it may."""


def facts_within(params, collect, seconds):
    """The facts as exit_with_facts() has them. Raises BadInput, and Overdue after `seconds`; 0 waits without a
    limit."""
    def overdue(_signal, _frame):
        raise Overdue("the look took longer than %d seconds" % seconds)

    before = signal.signal(signal.SIGALRM, overdue)
    signal.alarm(seconds)
    try:
        return fitted(collect(*open_to_look(params)))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def exit_with_facts(module, collect):
    """End the module with the facts that `collect(host, node_host)` returns for the tree its options name."""
    try:
        facts = fitted(collect(*open_to_look(module.params)))
    except _errors.BadInput as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts=facts)
