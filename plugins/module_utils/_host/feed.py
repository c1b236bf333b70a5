# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of the node that is given a text to work on. PRIVATE to the collection.

Nothing is put into a file for it: a full or read-only disk must not keep rules from being put back.
"""

import os
import signal
import subprocess

from .host import BINARY_DIRECTORIES

_MESSAGE_LIMIT = 300
_LAST_SECONDS = 2.0


def feed(host, argv, text, seconds):
    """None where the program ended well with `text` as its input, else why not. It is killed, with its children, after
    `seconds`."""
    if not host.commands:
        return "no commands are run here"
    try:
        # AnsibleModule.run_command() knows no timeout, and the process that puts rules back has no AnsibleModule.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                                     argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     close_fds=True, start_new_session=True,
                                     env={"PATH": ":".join(BINARY_DIRECTORIES), "LC_ALL": "C"})
    except OSError as error:
        # Python 3.6 puts the name into its own text.
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
        pass  # It has ended, or hangs in the kernel, where nobody can end it.
