# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edits that remove commands from a script, or from another file with commands. PRIVATE to the collection.

A row is a hook as the look reports it; `commands` are the [Command] of the text. Everything is read again here, from
the exact text.
"""

import collections
import posixpath
import re

from ..._parse.commands.embedded import Command, line_in_file
from ..._parse.shell.command_text import masked_text
from ..effect import CERTAIN, Effect
from ..script import read_script
from . import removal

REMOVED, NOFLUSH = "removed", "noflush"

_SHEBANG = re.compile(r"#![ \t]*(\S+)(?:[ \t]+([^\s-]\S*))?")
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox")
_FUNCTION = re.compile(r"^[ \t]*(?:function[ \t]+)?([\w.:-]+)[ \t]*\(\)|^[ \t]*function[ \t]+([\w.:-]+)", re.MULTILINE)
# A text that is piped into a shell, and a text with more than one command.
_INTO_SHELL = re.compile(r"\|\s*(?:\S+\s+)*?(?:\S*/)?(?:ba|da|k|a)?sh\b")
_SEVERAL = re.compile(r"[;\n]|&&|\|\|")

# The edit for one row: `action`, and the `span` of the file that `new` replaces; None: the command is removed.
Edit = collections.namedtuple("Edit", ("row", "action", "span", "new"))


class Kept(Exception):
    """The reason why a command stays: a sentence for the user."""


def whole(text):
    """A script as a single Command that covers the whole file."""
    return Command(1, text, None, True)


def edits_of(text, commands, row):
    """[Edit] for the commands of a row."""
    found, loads = [], False
    for command in commands:
        effects = _effects(command)
        loads = loads or any(effect.sort == "apply" and line_in_file(command, effect.line) == row["line"]
                             for effect in effects)
        for effect in effects:
            if line_in_file(command, effect.line) == row["line"] and _is_of(effect, row):
                span = effect.span if command.text == text else _located(text, command, effect)
                edit = _edit(text, row, effect, span,
                             [other for other in effects if other.span == effect.span and not _is_of(other, row)])
                if edit not in found:
                    found.append(edit)
    if not found and loads:
        raise Kept("the file that it loads has both the flush and the site's own rules; remove the flush from that "
                   "file")
    if not found:
        raise Kept("the command was not found in line %d" % row["line"])
    return found


def _is_of(effect, row):
    """Whether an effect belongs to a row; a command that names several units has an effect for each."""
    if (effect.sort, masked_text(effect.command)) != (row["sort"], row["command"]):
        return False
    return (row["service"] is None or effect.unit is None
            or row["service"].partition(".")[0] == effect.unit.partition(".")[0])


def _effects(command):
    """The effects of a text, with its commands for units that are no firewalls, as the look has them."""
    names = tuple(sorted({one or other for one, other in _FUNCTION.findall(command.text)}))
    reading = read_script(command.text, None, names)
    return reading.effects + [_as_effect(run) for run in reading.runs if run.how == "unit"]


def _as_effect(run):
    verb = run.arguments[0] if run.arguments else ""
    # The same wording as in hooks/trace.py.
    command = "systemctl %s %s" % (verb, run.path_or_name)
    return Effect(run.line, run.span, command, "service", (), (), (), run.path_or_name, verb, None, "unknown", CERTAIN)


def _located(text, command, effect):
    """The span in the file of a command inside another format. Its source must stand there literally and only once."""
    source = command.text[effect.span[0]:effect.span[1]]
    lines = text.split("\n")
    first = line_in_file(command, effect.line) - 1
    last = first + source.count("\n")
    while not command.exact and last < len(lines) - 1 and lines[last].endswith("\\"):
        last += 1
    begin = sum(len(line) + 1 for line in lines[:first])
    region = "\n".join(lines[first:last + 1])
    if not source or region.count(source) != 1:
        raise Kept("its text differs from what the shell reads; remove it from line %d by hand" % (first + 1))
    start = begin + region.index(source)
    return start, start + len(source)


def _edit(text, row, effect, span, others):
    source = text[span[0]:span[1]]
    if effect.sort == "service" and others:
        return Edit(row, REMOVED, *_argument(source, span[0], effect.unit))
    if effect.sort != "restore" and ("<<" in source or (_INTO_SHELL.search(source) and _SEVERAL.search(source))):
        raise Kept("it is one of several commands in an argument of another program; remove it there by hand")
    if effect.sort != "restore" or effect.comes_back == "saved":
        return Edit(row, REMOVED, span, None)
    # Without the restore the rules of the administrator would be missing after the next boot.
    repeats = "timer" in row["triggers"]
    if repeats and "boot" not in row["triggers"]:
        return Edit(row, REMOVED, span, None)
    if repeats:
        raise Kept("a timer repeats it, and with --noflush each time would add the rules once more; restore at boot "
                   "alone, with --noflush")
    place = removal.noflush_at(source)
    if place is None:
        raise Kept("the name of the program is not plain text; add --noflush by hand")
    return Edit(row, NOFLUSH, (span[0] + place,) * 2, " --noflush")


def _argument(source, start, unit):
    """(span, its replacement): of several units that a command names, only one is removed."""
    part = removal.argument_at(source, unit)
    if part is None:
        raise Kept("it names other units too; remove %s from it by hand" % unit)
    return (start + part[0], start + part[1]), ""


def applied(text, edits, nothing):
    """The text after the edits; `nothing` replaces each removed command, None removes it as from a script."""
    removed = [edit.span for edit in edits if edit.new is None]
    return removal.edited(text, removed, [edit.span + (edit.new,) for edit in edits if edit.new is not None], nothing)


def loss(commands, after, edits):
    """Why the commands `after` are not `commands` without the commands that the edits remove, or None."""
    before, now = _counts(commands), _counts(after)
    gone = {_key(edit.row["sort"], edit.row["service"], edit.row["command"]) for edit in edits}
    if any(now[key] >= before[key] for key in gone):
        return "it would still flush"
    if any(now[key] != before[key] for key in (now | before) if key not in gone):
        return "its other commands would change"
    return None


def _key(sort, unit, command):
    """The identity of an effect; the text of a command that names several units changes when one of them is removed."""
    return ("service", unit.partition(".")[0]) if sort == "service" and unit else (sort, command)


def _counts(commands):
    return collections.Counter(_key(effect.sort, effect.unit, masked_text(effect.command))
                               for command in commands for effect in _effects(command))


def shell_of(text):
    """Names of the shells that may read a script, by its first line; empty if another program reads it."""
    found = _SHEBANG.match(text)
    if found is None:
        return [] if text.startswith("#!") else ["sh", "bash"]
    program, word = found.groups()
    name = posixpath.basename(program)
    name = posixpath.basename(word or "") if name == "env" else name
    return [name] if name in _SHELLS else []
