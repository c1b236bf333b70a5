# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules over standard input: one command on the node instead of five, and no module file on its disk. PRIVATE to the
collection.

Ansible disables pipelining by default because sudo with requiretty refuses it (documentation of the ssh connection,
pipelining). A refused sudo has started no command, so the module is sent again without pipelining.
"""

import contextlib
import gc

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
