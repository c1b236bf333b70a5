# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of a call: an answer that is too large is not split, and each call has a limit of time. Modules go over
standard input, also where a node refuses that."""

import gc
import signal
import tracemalloc
from unittest import mock

import pytest
from ansible.errors import AnsibleError
from case_rows import cases

from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls import calling
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._calls.calling import pipelined

MEGABYTE = 1024 * 1024


def action(connection):
    task = mock.Mock(async_val=0, action="kubenode.netfilter.fix", args={})
    plugin = calling.CallingAction(task=task, connection=connection, play_context=mock.Mock(), loader=mock.Mock(),
                                   templar=mock.Mock(), shared_loader_obj=None)
    plugin._execute_module = lambda **_options: plugin._connection.exec_command("python3")
    return plugin


@pytest.mark.parametrize("stream", [0, 1])
def test_an_answer_that_is_too_large_is_not_split_into_lines(monkeypatch, stream):
    flood = [b"", b""]
    flood[stream] = b"{}\n" * (3 * MEGABYTE)
    connection = mock.Mock(**{"exec_command.return_value": (0, *flood)})
    tracemalloc.start()
    with pytest.raises(AnsibleError, match="the node's answer is larger than 8 MB, so it was not read"):
        action(connection).call({})
    assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    tracemalloc.stop()


def test_a_limit_of_time_is_in_force_in_each_call_and_not_after_it():
    seen = []
    connection = mock.Mock(exec_command=lambda *_arguments: seen.append(signal.getitimer(signal.ITIMER_REAL)[0])
                           or (0, b"{}", b""))
    plugin = action(connection)
    plugin.call({})
    plugin.call({}, 100)
    plugin.call({}, module_name="kubenode.netfilter.iptables_chain_audit", module_args={"window_seconds": 300})
    assert 500 < seen[0] <= 600 and 0 < seen[1] <= 100 and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert 800 < seen[2] <= 900


@pytest.mark.parametrize("name, arguments, seconds", [
    ("conntrack", {"window_seconds": "x"}, 600), ("node_facts", {"window_seconds": "300"}, 1200),
    ("xtables_lock_facts", {"window_seconds": 10 ** 9}, 600), ("iptables_backend", None, 900),
    ("node_changes", {}, 600),
    ("node_changes", {"changes": [{"module": "conntrack"}, {"module": "iptables_backend", "options": {}}, 7]}, 900),
    ("node_changes", {"changes": [{"module": "conntrack"}], "look": {"timeout": 1000}}, 1600),
    ("node_changes", {"changes": [{"module": "conntrack"}], "look": {"timeout": 0}}, 0)])
def test_a_call_may_take_longer_than_the_longest_run_of_its_module(name, arguments, seconds):
    assert calling.seconds_of("kubenode.netfilter." + name, arguments) == seconds


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
