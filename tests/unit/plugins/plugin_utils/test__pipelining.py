# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules over standard input, and what happens where a node refuses them."""

import gc

import pytest

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._pipelining import pipelined

REFUSED = {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "sudo: sorry, you must have a tty to run sudo\n"}
DONE = {"changed": False}


class Connection:
    """One that knows its option and remembers what it was when a module ran."""

    def __init__(self, pipelining):
        self.options = {"pipelining": pipelining}
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


def test_it_is_on_while_the_module_runs_and_off_again():
    connection = Connection(False)
    assert pipelined(connection, connection.runs(DONE)) == DONE
    assert (connection.ran_with, connection.options) == ([True], {"pipelining": False})


def test_a_node_that_wants_a_terminal_gets_the_module_in_the_usual_way():
    connection = Connection(False)
    assert pipelined(connection, connection.runs(REFUSED, DONE)) == DONE
    assert connection.ran_with == [True, False]


@pytest.mark.parametrize("answer",
                         [
                             DONE, dict(REFUSED, failed=False), {"failed": True, "msg": "xt_set: absent"},
                             {"failed": True, "msg": None, "module_stderr": "Traceback"},
                         ])
def test_no_other_answer_makes_it_run_twice(answer):
    connection = Connection(False)
    assert pipelined(connection, connection.runs(answer)) == answer
    assert connection.ran_with == [True]


def test_who_has_it_on_already_keeps_it_and_is_not_asked_twice():
    connection = Connection(True)
    assert pipelined(connection, connection.runs(REFUSED)) == REFUSED
    assert (connection.ran_with, connection.options) == ([True], {"pipelining": True})


def test_a_connection_without_the_option_is_left_alone():
    connection = Connection(False)
    del connection.options["pipelining"]
    assert pipelined(connection, connection.runs(DONE)) == DONE
    assert (connection.ran_with, connection.options) == ([None], {})


def test_an_error_leaves_it_as_it_was():
    connection = Connection(False)

    def breaks():
        raise OSError("gone")

    with pytest.raises(OSError):
        pipelined(connection, breaks)
    assert connection.options == {"pipelining": False}


def switch_collector(on):
    if on:
        gc.enable()
    else:
        gc.disable()


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_the_module_is_packed(enabled):
    was, seen = gc.isenabled(), []
    switch_collector(enabled)
    try:
        pipelined(Connection(True), lambda: seen.append(gc.isenabled()) or DONE)
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        switch_collector(was)


def test_an_error_leaves_the_collector_on():
    with pytest.raises(KeyError):
        pipelined(Connection(True), lambda: {}["no such answer"])
    assert gc.isenabled()
