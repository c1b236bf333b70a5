# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain sentences for what keeps a module from running on a node: Python, sudo, room. PRIVATE to the collection.

ansible-core answers with the text of whatever came first, such as a traceback of its own wrapper. The texts are those
of ansible-core 2.16 to 2.21, dash, bash, sudo and pyenv. They come from the node, so nothing of them but a version and
a path reaches the sentence.
"""

import re

from ansible.module_utils import basic
from ansible.release import __version__

# The end of a text names the error.
_MOST = 4000
_OLDEST = (3, 6)
_TOO_OLD = ("its Python{found} is too old for ansible-core {core}, which needs {needed}; set ansible_python_interpreter "
            "to a newer one on the node{instead}")
_NO_ROOM = ("no space is left for temporary files on it; free some (df -h /tmp), or set ansible_remote_tmp to a folder "
            "with room")
_ROWS = tuple((re.compile(pattern), sentence) for pattern, sentence in (
    (r"pyenv: |No version is set for command python",
     "its Python is a shim of pyenv or asdf without a version behind it; set ansible_python_interpreter to a real one, "
     "such as /usr/bin/python3"),
    (r"SyntaxError: (?:future feature annotations|invalid syntax)", _TOO_OLD),
    (r"(?:minimum of Python version|requires Python) [0-9.]+.{0,40}Current version: (?P<found>[0-9]+\.[0-9]+)",
     _TOO_OLD),
    # Python 2.
    (r"ImportError: No module named \w+\s*$", _TOO_OLD),
    (r"module interpreter '(?P<path>[\w./-]{1,100})' was not found|(?P<shell>[\w./-]{0,100}python[0-9.]{0,5}): "
     r"(?:command )?not found",
     "{path} is not on it; install Python, set ansible_python_interpreter, or judge "
     "a bundle of the node (playbook bundle)"),
    (r"\b(?:sudo|doas): (?:command )?not found",
     "sudo is not on it; connect as root without become, or set ansible_become_method to what it has, such as su"),
    (r"is not in the sudoers file|may not run sudo|is not allowed to (?:execute|run)",
     "its user may not use sudo; allow it in /etc/sudoers.d, or set ansible_user to a user who may"),
    (r"a password is required|Missing sudo password|Incorrect sudo password",
     "sudo needs the right password; run with --ask-become-pass, or set ansible_become_password in a vault"),
    (r"must have a tty to run sudo",
     "sudo needs a terminal; remove requiretty for this user from /etc/sudoers.d"),
    (r"No space left on device|Disk quota exceeded", _NO_ROOM),
    (r"No usable temporary directory|Failed to create temporary directory",
     "it has no usable folder for temporary files, which is full, read-only or not allowed; look at df -h /tmp, or set "
     "ansible_remote_tmp"),
))


def plain_reason(*texts):
    """The sentence for the first of the known errors in these texts, or None."""
    text = "\n".join(text[-_MOST:] for text in texts if isinstance(text, str))
    for pattern, sentence in _ROWS:
        match = pattern.search(text)
        if match:
            parts = match.groupdict()
            needed = _needed()
            return sentence.format(
                found=" " + parts["found"] if parts.get("found") else "", path=parts.get("path") or parts.get("shell"),
                core=".".join(__version__.split(".")[:2]), needed=".".join(map(str, needed)),
                instead=", or use ansible-core 2.16, which needs 3.6" if needed > _OLDEST else "")
    return None


def reason_of(answer):
    """The same for the answer of a module that did not run; what a module that ran answers by itself stays."""
    printed = [answer.get(key) for key in ("module_stderr", "module_stdout")]
    if any(printed) or "Current version: " in str(answer.get("msg")):
        return plain_reason(answer.get("msg"), *printed)
    return None


def _needed():
    """The oldest Python on a node that this ansible-core takes; 2.16 does not say it."""
    oldest = getattr(basic, "_PY_MIN", None)
    return oldest if isinstance(oldest, tuple) else _OLDEST
