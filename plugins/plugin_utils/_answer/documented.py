# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a module's answer that becomes the result of a task: the keys that its RETURN documents, within bounds.
PRIVATE to the collection.

Ansible acts on more keys of a result than a module documents: `ansible_facts` become variables, `add_host` and
`add_group` change the inventory, `ansible_stats` the statistics of the run. A node can put them into any answer, so
only keys on a list of allowed ones pass.

Plain sentences for what keeps a module from running on a node: Python, sudo, room.

ansible-core answers with the text of whatever came first, such as a traceback of its own wrapper. The texts are those
of ansible-core 2.16 to 2.21, dash, bash, sudo and pyenv. They come from the node, so nothing of them but a version and
a path reaches the sentence.
"""

import re

from ansible.module_utils import basic
from ansible.release import __version__

from .._plain import plain
from .._render.text import escaped_lines
from . import validate

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


# The rows of flush_hooks quote commands; with a thousand hooks they stay below a megabyte.
MOST_CHARACTERS = 1024 * 1024
MOST_MESSAGE = 4000
MOST_WARNINGS = 20
# A diff holds whole files, before and after.
MOST_DIFFS = 200
MOST_DIFF_CHARACTERS = 2 * 1024 * 1024
_DIFF_TEXTS = ("before_header", "after_header", "before", "after", "prepared")
_MESSAGES = ("msg", "module_stdout", "module_stderr")


def documented_part(answer, module):
    """The result of a task that ran `module` (its short name), from the node's answer (any dictionary).

    Holds `changed`, the keys that RETURN documents and, if the answer has them, `failed`, `unreachable`, `msg`, `diff`,
    `warnings`, `exception`, `module_stdout` and `module_stderr`, as plain values without control characters. The task
    fails if the answer does not fit its documentation.
    """
    result = {"changed": answer.get("changed") is True}
    result.update((key, True) for key in ("failed", "unreachable") if answer.get(key))
    result.update((key, _message(answer[key])) for key in _MESSAGES if answer.get(key))
    if answer.get("exception"):
        result["exception"] = _message(_traceback(answer["exception"]))
    if answer.get("warnings"):
        result["warnings"] = _warnings(answer["warnings"])
    if answer.get("diff"):
        result["diff"] = _diffs(answer["diff"])
    failed = result.get("failed") or result.get("unreachable")
    reason = reason_of(result) if failed else None
    if reason:
        return {"changed": result["changed"], "failed": True, "msg": "The module could not run on the node: " + reason}
    misfits = _fill(result, answer, validate.documented(module), complete=not failed)
    if misfits and not failed:
        result.update(failed=True, msg="The node's answer does not fit the documentation of %s: %s"
                      % (module, "; ".join(misfits[:3])))
    return result


def _fill(result, answer, shapes, complete):
    """Copies the documented keys into the result. Returns a short problem for each key that does not fit, or that is
    required and missing."""
    misfits, room = [], validate.Room(MOST_CHARACTERS)
    for key, shape in shapes.items():
        if key in result:
            continue
        if key not in answer:
            misfits += ["%s is missing" % key] if complete and (shape.always or key == "ansible_facts") else []
        elif key == "ansible_facts":
            result[key], wrong = _sections(answer[key], shape.contains)
            misfits += wrong
        else:
            try:
                result[key] = validate.fitted(answer[key], shape, room)
            except validate.Misfit as misfit:
                misfits.append(str(misfit.below(key)))
    return misfits


def _sections(facts, names):
    """(the sections that fit, a short problem for each section that does not)."""
    if not isinstance(facts, dict):
        return {}, ["ansible_facts must be a dictionary"]
    sections, misfits, room = {}, [], validate.Room()
    for name in names:
        if name in facts:
            try:
                sections[name] = validate.checked_section(name, facts[name], room)
            except validate.Misfit as misfit:
                misfits.append(str(misfit))
    return sections, misfits


def _message(text):
    """Keeps the end of a long text, because the last line of a traceback holds the error."""
    text = str(plain(text))
    return ("..." if len(text) > MOST_MESSAGE else "") + escaped_lines(text[-MOST_MESSAGE:])


def _traceback(exception):
    """From ansible-core 2.19 on the traceback is part of an object."""
    event = getattr(exception, "event", None)
    return getattr(event, "formatted_traceback", None) or getattr(event, "msg", None) or exception


def _warnings(warnings):
    texts = [getattr(getattr(item, "event", None), "msg", None) or item
             for item in warnings] if isinstance(warnings, (list, tuple)) else [warnings]
    return [_message(text) for text in texts[:MOST_WARNINGS]]


def _diffs(diffs):
    """Diffs as Ansible shows them, with only their texts; the last entry counts the changes that are left out."""
    kept, left = [], MOST_DIFF_CHARACTERS
    rows = diffs if isinstance(diffs, (list, tuple)) else [diffs]
    for row in rows[:MOST_DIFFS]:
        texts = {key: str.__str__(row[key]) for key in _DIFF_TEXTS
                 if isinstance(row.get(key), str)} if isinstance(row, dict) else {}
        left -= sum(len(text) for text in texts.values())
        if left < 0:
            break
        if texts:
            kept.append({key: escaped_lines(text) for key, text in texts.items()})
    if len(kept) < len(rows):
        kept.append({"prepared": "(%d more changes are not shown)\n" % (len(rows) - len(kept))})
    return kept
