# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules over standard input, and what happens where a node refuses them."""

import gc

import pytest
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.pipelining import pipelined

DONE = {"changed": False}


class Connection:
    """One that knows its option and remembers what it was when a module ran."""

    def __init__(self, options):
        self.options = dict(options)
        self.ran_with = []

    def get_option(self, name):
        return self.options[name]

    def set_option(self, name, value):
        self.options[name] = value

    def runs(self, *answers):
        left = list(answers)

        def execute():
            self.ran_with.append(self.options.get("pipelining"))
            return left.pop(0)
        return execute


@cases
def test_it_is_on_while_the_module_runs_and_as_before_again(options, answers, ran_with):
    connection = Connection(options)
    assert pipelined(connection, connection.runs(*answers)) == answers[-1]
    assert (connection.ran_with, connection.options) == (ran_with, options)


def test_an_error_leaves_it_as_it_was():
    connection = Connection({"pipelining": False})

    def breaks():
        raise OSError("gone")

    with pytest.raises(OSError):
        pipelined(connection, breaks)
    assert connection.options == {"pipelining": False}


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_the_module_is_packed(enabled):
    was, seen, switch = gc.isenabled(), [], {True: gc.enable, False: gc.disable}
    switch[enabled]()
    try:
        pipelined(Connection({"pipelining": True}), lambda: seen.append(gc.isenabled()) or DONE)
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        switch[was]()


def test_an_error_leaves_the_collector_on():
    with pytest.raises(KeyError):
        pipelined(Connection({"pipelining": True}), lambda: {}["no such answer"])
    assert gc.isenabled()
