# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes commands from scripts, and from files of other formats that hold commands.

The new text is checked before it is written: parsed again, it must have the same commands except the removed ones, and
its own shell must still accept it."""

from ... import _errors
from ..._host import scratch, write
from ..._host.host import TIMEOUT
from ..._look.hooks.places import place_of
from ..._script.edit.removal import NOTHING
from ..._script.edit.script_edit import Kept, applied, edits_of, loss, shell_of, whole

SHELL_SECONDS = 30.0
# These kinds run commands without a shell, so a program must take the place of the command.
_NO_SHELL = ("udev", "cloud_init", "package_hook")
_PROGRAM = "/bin/true"


def edited_script(host, path, rows):
    """(text before, text after, {id of a row: (action, message)}) of one file. Raises ChangeFailed where it may not be
    changed."""
    text = write.read_exactly(host, path)
    if text is None:
        raise _errors.ChangeFailed("%s does not exist any more" % path)
    if host.stat(path).st_nlink > 1:
        raise _errors.ChangeFailed(write.HARD_LINK % path)
    commands, nothing = _commands(path, text)
    if nothing is None and not shell_of(text):
        return text, text, {id(row): (None, "it is not a shell script; remove the command by hand") for row in rows}
    done, edits = {}, []
    for row in rows:
        try:
            edits.extend(edits_of(text, commands, row))
        except Kept as reason:
            done[id(row)] = (None, str(reason))
    after = _proved(host, path, text, edits, commands, nothing) if edits else text
    done.update((id(edit.row), (edit.action, "")) for edit in edits)
    return text, after, done


def _commands(path, text):
    """([Command], the text that takes the place of a removed command). A script is one Command with the text `None`:
    its commands are removed, or replaced by `:`."""
    place = place_of(path)
    found = place.read(text.encode("utf-8", "surrogateescape"), path) if place else []
    if not found or any(len(command.text) == len(text) and command.line == 1 for command in found):
        return [whole(text)], None
    return found, _PROGRAM if place.kind in _NO_SHELL else NOTHING


def _proved(host, path, text, edits, commands, nothing):
    """The text after the edits. Where the text without the command fails the check, `:` takes its place."""
    problem = None
    for attempt in (nothing,) if nothing else (None, NOTHING):
        after = applied(text, edits, attempt)
        problem = loss(commands, _commands(path, after)[0], edits)
        if problem is None and nothing is None:
            problem = _unparsed(host, path, text, after)
        if problem is None:
            return after
    raise _errors.ChangeFailed("%s is not changed: without the command %s" % (path, problem))


def _refused(done, refusal):
    return "did not answer within %d s" % SHELL_SECONDS if done.status == TIMEOUT else refusal


def _unparsed(host, path, before, after):
    """Why the script's shell refuses the new text, or None; not checked where no program may be started."""
    if not host.commands:
        return None
    problem = None
    for name in shell_of(before):
        program = host.find_binary(name)
        if program is None:
            continue
        argv = [program] + (["sh"] if name == "busybox" else []) + ["-n"]
        with scratch.scratch({"before": before, "after": after}) as folder:
            done = host.run(argv + [folder + "/before"], SHELL_SECONDS)
            if done.ok:
                done = host.run(argv + [folder + "/after"], SHELL_SECONDS)
                return None if done.ok else "%s -n %s" % (name, _refused(done, "refuses it"))
        problem = "%s -n %s" % (name, _refused(done, "refuses it already now"))
    raise _errors.ChangeFailed("%s is not changed: %s" % (path, problem or "no shell of this node can check it"))
