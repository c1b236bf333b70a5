# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of the play that an action runs in. PRIVATE to the collection.

Variables of a task as plain values.

Shared code of all filters.
"""

import functools

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.errors import AnsibleFilterError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import default
from ansible.plugins.loader import callback_loader

from ...module_utils._errors import BadInput
from .._options import close_to
from .._plain import plain
from .._render.text import sentence

# Strategies without lockstep, which run a task with run_once for each host.
_FREE = ("free", "host_pinned")
_FOR_PEOPLE = ("default", "minimal", "oneline")


def strategy_of(task) -> str:
    """The name of the strategy of the task's play."""
    return plain(task.get_play().strategy)


def is_free(strategy):
    """True if hosts do not run in lockstep."""
    return strategy.endswith(_FREE)


def runs_once(task):
    """True if the task runs on one host for all hosts."""
    return bool(task.run_once) and not is_free(strategy_of(task))


def hosts_of(variables):
    """(all hosts of the play, the hosts of this batch that are still in the play, all hosts that are still in the
    play)."""
    batch = plain(variables.get("ansible_play_batch") or [])
    names = plain(variables.get("ansible_play_hosts_all") or batch)
    return names, batch, set(plain(variables.get("ansible_play_hosts") or []))


def refuse_stranger(option, host, variables):
    """Raises BadInput where `host` is named and is not a host of the play."""
    names = hosts_of(variables)[0] if host else ()
    if host and host not in names:
        near = close_to(host, names)
        raise BadInput("%s: %s is not among the hosts of this play; %s" % (
            option, host, "did you mean %s?" % near if near else "name one of them"))


def is_run():
    """True in a command of Ansible, such as ansible-playbook."""
    return bool(context.CLIARGS)


def is_only_parsed():
    """True under `--syntax-check`."""
    return bool(context.CLIARGS.get("syntax"))


def matches(pattern, groups, limit=None):
    """True where a host pattern of a play matches a host of `groups`, within what `--limit` leaves of them."""
    manager = InventoryManager(DataLoader(), parse=False)
    for group, hosts in groups.items():
        manager.add_group(group)
        for host in hosts:
            manager.add_host(host, group=group)
    try:
        manager.subset(limit)
        return bool(manager.get_hosts(pattern))
    except AnsibleError:
        return False


def is_for_people(callback):
    """True where text may be mixed into what the stdout callback of this name prints: default, minimal, oneline and all
    that derive from default."""
    if callback.rpartition(".")[2] in _FOR_PEOPLE:
        return True
    try:
        found = callback_loader.get(callback, class_only=True)
    except AnsibleError:
        return False
    return isinstance(found, type) and issubclass(found, default.CallbackModule)


def stdout_is_for_people():
    """True where the run has a stdout callback for people; that of a program, such as json, must stay parseable."""
    return is_for_people(str(constants.DEFAULT_STDOUT_CALLBACK))


def templating(templar):
    """A function of the name and the value of a variable that returns it templated, and raises BadInput with the name
    if that fails."""

    def templated(name, value):
        try:
            return plain(templar.template(value))
        except AnsibleError as error:
            raise BadInput("%s cannot be templated: %s" % (name, error)) from None

    return templated


def telling(function):
    """The filter `function`, wrapped: a BadInput becomes the error that Ansible shows, with the name of the filter."""

    @functools.wraps(function)
    def with_readable_errors(*args, **options):
        try:
            return function(*args, **options)
        except BadInput as error:
            raise AnsibleFilterError("kubenode.netfilter.%s: %s" % (function.__name__, sentence(error))) from None

    return with_readable_errors
