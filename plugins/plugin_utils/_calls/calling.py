# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of the actions that run a module on a node. PRIVATE to the collection.

Modules over standard input: one command on the node instead of five, and no module file on its disk.

Ansible disables pipelining by default because sudo with requiretty refuses it (documentation of the ssh connection,
pipelining). A refused sudo has started no command, so the module is sent again without pipelining.
"""

import contextlib
import gc
import os
import pathlib
import signal

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from .._plain import plain
from .._play import play
from . import bytecode
from .action import Action

# sudo.conf(5) requiretty.
_REFUSAL = "must have a tty"


def pipelined(connection, execute):
    """The result of `execute()`, which packs and runs a module over `connection`; with pipelining if the connection
    supports it and the node accepts it."""
    with _no_collector():
        with _pipelining(connection) as switched:
            answer = execute()
        return execute() if switched and _is_refused(answer) else answer


@contextlib.contextmanager
def _no_collector():
    """The first worker that packs a module parses up to 400 files, and the workers of all other hosts wait for it. The
    garbage collector would scan the parsed trees again and again, although they are freed when the worker ends with its
    task."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _pipelining(connection):
    """A context whose value is whether pipelining was off; inside the block pipelining is on."""
    try:
        before = connection.get_option("pipelining")
    except (AttributeError, KeyError):
        before = True  # A connection without the option stays as it is.
    if before:
        yield False
        return
    connection.set_option("pipelining", True)
    try:
        yield True
    finally:
        connection.set_option("pipelining", before)


def _is_refused(answer):
    messages = [str(answer.get(key) or "") for key in ("msg", "module_stderr", "module_stdout")]
    return bool(answer.get("failed")) and any(_REFUSAL in text for text in messages)


# A change of many files, or the restart of a unit that stops slowly, takes minutes. Each command that a module runs has
# a limit on the node; where all of them take as long as they may, iptables_backend saves and reads four rule sets twice
# (60 seconds each) and switches four groups of programs (60 seconds each).
MOST_SECONDS = 600
_LONGER = {"iptables_backend": 900}
# {option: how long a module may watch a node with it at most, and by default}; `timeout` is that of service_restart,
# and node_facts may watch two sections, one after the other.
_WATCHES = {"window_seconds": (300, 0), "timeout": (86400, 180)}
_WINDOWS = {"node_facts": 2}
CLEANUP_SECONDS = 30
# ansible-core splits an answer into lines, and does so more than once: each list of the lines of 8 MB of empty objects
# takes about 170 MB. `_answer` keeps 3 MB of an answer, diffs included.
MOST_BYTES = 8 * 1024 * 1024


# The start of the sentence for a node that hangs.
UNANSWERED = "the node did not answer within"


class Unanswered(AnsibleConnectionFailure):
    """The node did not answer in time, so the call was given up."""


class CallingAction(Action):
    """Sends a module over standard input, as bytecode if many hosts get it."""

    _sends_bytecode = False

    def call(self, task_vars, seconds=None, **module):
        """The result of `_execute_module` for `module_name` and `module_args`; without them, for the module of the
        task. Raises Unanswered after `seconds`, by default seconds_of() the module; 0 means never."""
        if seconds is None:
            seconds = seconds_of(module.get("module_name", self._task.action),
                                 module.get("module_args", self._task.args))
        self._sends_bytecode = len(play.hosts_of(task_vars)[1]) >= bytecode.MANY_HOSTS
        if self._sends_bytecode:
            bytecode.prepare()
        with _bounded(self._connection, seconds):
            return pipelined(self._connection, lambda: self._execute_module(task_vars=task_vars, **module))

    def cleanup(self, force=False):
        """Without pipelining a module leaves a folder, which Ansible removes after the work. Where the node is lost by
        then, the result of the work stands: ansible-core 2.19 and later would take the task for unreachable in its
        place."""
        with contextlib.suppress(AnsibleError), _bounded(self._connection, CLEANUP_SECONDS):
            super().cleanup(force)

    def _low_level_execute_command(self, cmd, sudoable=True, in_data=None, **options):
        """As in Ansible, which passes a pipelined module in `in_data`."""
        def execute(data):
            return super(CallingAction, self)._low_level_execute_command(cmd, sudoable, data, **options)

        if not in_data or not self._sends_bytecode or not bytecode.may_run(cmd):
            return execute(in_data)
        return bytecode.sent(in_data, execute)


def seconds_of(name, arguments):
    """How long a module may take with these arguments, which may be any: longer than its longest run on a node that
    works. 0 means no limit, which the user gives to the look after several changes."""
    name, arguments = name.rpartition(".")[2], plain(arguments) if isinstance(arguments, dict) else {}
    if name == "node_changes":
        rows, look = arguments.get("changes"), arguments.get("look")
        longest = max([seconds_of(str(row.get("module")), row.get("options")) for row in rows
                       if isinstance(row, dict)] if isinstance(rows, list) else [], default=MOST_SECONDS)
        if not isinstance(look, dict):
            return longest
        return longest + look["timeout"] if look.get("timeout") else 0
    option = "timeout" if name == "service_restart" else "window_seconds"
    most, default = _WATCHES[option]
    seconds = str(arguments.get(option, default))
    return _LONGER.get(name, MOST_SECONDS) + (
        _WINDOWS.get(name, 1) * min(int(seconds), most) if seconds.isdecimal() and len(seconds) < 9 else default)


@contextlib.contextmanager
def _bounded(connection, seconds):
    """The one limit of time and size for all that a node answers: raises Unanswered after `seconds`, and AnsibleError
    for an answer above MOST_BYTES, before ansible-core splits it into lines."""
    execute = connection.exec_command

    def bounded(*arguments, **options):
        answer = execute(*arguments, **options)
        if any(isinstance(part, (bytes, str)) and len(part) > MOST_BYTES for part in answer[1:]):
            raise AnsibleError("the node's answer is larger than %d MB, so it was not read"
                               % (MOST_BYTES // 1024 // 1024))
        return answer

    connection.exec_command = bounded
    try:
        with deadline(seconds):
            yield
    except Overdue:
        _end_children()
        raise Unanswered("%s %d seconds; log in to it and look for what hangs, such as a network file system or a disk"
                         % (UNANSWERED, seconds)) from None
    except BaseException as error:
        if not isinstance(error, Exception):
            _end_children()  # The limit of the task, which is shorter.
        raise
    finally:
        connection.exec_command = execute


def _end_children():
    """Kills the processes that wait for the node, such as ssh: this worker has started no others."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_bytes().rpartition(b")")[2].split()[1])
    found, level = [], {os.getpid()}
    while level:
        level = {process for process, parent in parents.items() if parent in level}
        found += level
    for process in found:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


# A time limit for code that waits for a node.

class Overdue(BaseException):
    """There was no answer in time. No plugin in between catches it: it is not derived from the errors that they
    handle."""


@contextlib.contextmanager
def deadline(seconds):
    """Raises Overdue in the code inside after `seconds`; 0 means never, and a shorter limit of the task stays in
    force."""

    def overdue(_signal, _frame):
        raise Overdue

    remaining = signal.getitimer(signal.ITIMER_REAL)[0]
    if not seconds or 0 < remaining <= seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, previous)
