# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of the node that gets a text on its standard input. PRIVATE to the collection.

The text is not written to a file: rules must be restorable on a full or read-only disk.
"""

import os
import signal
import subprocess

from .host import BINARY_DIRECTORIES

_MESSAGE_LIMIT = 300
_LAST_SECONDS = 2.0


def feed(host, argv, text, seconds):
    """None where the program succeeded with `text` as its input, otherwise the reason as a sentence. The program is
    killed, with its children, after `seconds`."""
    if not host.commands:
        return "no commands are run here"
    try:
        # AnsibleModule.run_command() has no timeout, and the process that restores rules has no AnsibleModule.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                                     argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     close_fds=True, start_new_session=True,
                                     env={"PATH": ":".join(BINARY_DIRECTORIES), "LC_ALL": "C"})
    except OSError as error:
        # Python 3.6 puts the name of the program into the error text itself.
        return "%s cannot be run: %s" % (argv[0], os.strerror(error.errno))
    try:
        errors = process.communicate(text.encode("utf-8", "surrogateescape"), timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        _kill(process)
        return "%s did not end within %d seconds" % (os.path.basename(argv[0]), seconds)
    if process.returncode == 0:
        return None
    message = " ".join(errors.decode("utf-8", "replace").split())[:_MESSAGE_LIMIT]
    return "%s ended with status %d%s" % (os.path.basename(argv[0]), process.returncode,
                                          ": " + message if message else "")


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=_LAST_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        pass  # It has ended, or hangs in the kernel, where it cannot be killed.
