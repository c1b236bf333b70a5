# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell script without some of its commands. PRIVATE to the collection.

A command is removed if that has no other effect: another command follows it in the same list, so its status is not
read. In all other places (alone after `then`, beside `&&`, in a pipe, as the last command of a function or of the
script) it is replaced with `:`, which does nothing and succeeds, as the command did (POSIX 2.9.3 Lists, 2.14 colon).

The edits that remove commands from a script, or from another file with commands.

A row is a hook as the look reports it; `commands` are the [Command] of the text. Everything is read again here, from
the exact text.
"""

import collections
import posixpath
import re

from ..._parse.commands.embedded import Command, line_in_file
from ..._parse.secrets import masked_text
from ..effect import CERTAIN, Effect
from ..script import read_script

NOTHING = ":"
# exec ends the script, so its replacement has to end it too.
_EXEC = re.compile(r"exec[ \t]")
# Text that reads the status of the command after it.
_READS_STATUS = re.compile(r"(?:&&|\|\|?|(?:^|[\s;(){}])(?:if|elif|while|until|!|time)|\\)\Z")
# Text that ends a list, so that the command before it determines the status of the list.
_ENDS_LIST = re.compile(r"(?:fi|done|else|elif|then|do|esac|\})(?![\w./=-])|\)|;;|;&|\Z")
_STATUS = re.compile(r"\$\{?\?|PIPESTATUS|\b(?:return|exit)[ \t\r]*(?:[;}#&|)]|\Z)")
_NAME = re.compile(r"[\w.:-]*")
_FUNCTION = re.compile(r"(?:^|[\s;{])(?:function[ \t]+([\w.:-]+)|([\w.:-]+)[ \t]*\(\))")
_COMPOUND = ("if", "for", "while", "until", "case", "select", "time")
_COMMENT = re.compile(r"(?:^|(?<=[\s;&|()]))#[^\n]*")
_RESTORE = re.compile(r"(?<![\w.$-])(?:[\w./-]*/)?ip6?tables(?:-nft|-legacy)?-restore(?![\w.-])")


def edited(text, removed, replaced=(), nothing=None):
    """The text without the commands at the spans `removed`, and with `new` for each `(start, end, new)` of `replaced`.

    Of two spans that overlap the outer one counts. `nothing` replaces all of them if the text as a whole is not a
    script.
    """
    outer = _outer(removed)
    edits = [(start, end, nothing) for start, end in outer]
    edits += [edit for edit in replaced if not any(start <= edit[0] < end for start, end in outer)]
    for start, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = _without_one(text, start, end) if new is None else text[:start] + new + text[end:]
    return text


def noflush_at(source):
    """Where ` --noflush` belongs in the source of one command that restores rules; None if its program is unclear."""
    found = _RESTORE.findall(source)
    return _RESTORE.search(source).end() if len(found) == 1 else None


def argument_at(source, unit):
    """The part of the source of one command that names a unit among others, with the blank before it, or None."""
    stem = re.escape(unit[:-len(".service")] if unit.endswith(".service") else unit)
    found = list(re.finditer(r"[ \t]+([\"']?)%s(?:\.service)?\1(?=[\s;&|)>]|\Z)" % stem, source))
    return found[0].span() if len(found) == 1 else None


def _outer(spans):
    kept = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _without_one(text, start, end):
    if _EXEC.match(text, start):
        return text[:start] + "exit 0" + text[end:]
    line_start = text.rfind("\n", 0, start) + 1
    head = text[line_start:start]
    semicolon, next_at = _after(text, end)
    if next_at is None or not _is_statement(text, line_start, head) or _reads_status(text, next_at):
        return text[:start] + NOTHING + text[end:]
    line_end = text.find("\n", end)
    if next_at < line_end or line_end < 0:
        return text[:start] + text[next_at:]
    rest = text[semicolon:line_end + 1]
    if head.strip():
        # "a; this": the separator before it is removed too.
        return text[:line_start] + head.rstrip()[:-1].rstrip() + (" " + rest.lstrip(" \t")
                                                                  if rest.strip() else rest) + text[line_end + 1:]
    return text[:line_start] + (head + rest.lstrip(" \t") if rest.strip() else "") + text[line_end + 1:]


def _is_statement(text, line_start, head):
    """Whether a command after `head` is a separate command of a list, and nothing before it reads its status."""
    if head.strip():
        return head.rstrip().endswith(";") and not head.rstrip().endswith(";;")
    for line in reversed(text[:line_start].split("\n")[:-1]):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            # A comment after it may look like code, and code like a comment: both readings have to agree.
            return not any(_READS_STATUS.search(reading) for reading in (bare, _COMMENT.sub("", bare).rstrip()))
    return True


def _after(text, end):
    """(place after the separator that ends the command, place where the next command of its list begins or None)."""
    place = end + len(text[end:]) - len(text[end:].lstrip(" \t\r"))
    behind = place
    if text[place:place + 1] == ";" and text[place + 1:place + 2] not in (";", "&"):
        behind = place + 1
    elif text[place:place + 1] not in ("\n", "#", ""):
        return place, None
    elif text[place:place + 1] == "#" and place == end:
        return place, None  # Without a blank before it, `#` does not begin a comment.
    place = behind
    while place < len(text):
        if text[place] in " \t\r\n":
            place += 1
        elif text[place] == "#":
            place = len(text) if text.find("\n", place) < 0 else text.find("\n", place)
        else:
            break
    return behind, (None if _ENDS_LIST.match(text, place) else place)


def _reads_status(text, place):
    """Whether the command at `place`, which may call functions, may read the status of the one before it."""
    name = _NAME.match(text, place).group(0)
    # A compound command passes the status on to its first command, which may be lines further down.
    end = -1 if name in _COMPOUND or not name else text.find("\n", place)
    command = text[place:len(text) if end < 0 else end]
    if _STATUS.search(command):
        return True
    functions = {name for names in _FUNCTION.findall(text) for name in names if name}
    return bool(functions.intersection(_NAME.findall(command))) and _STATUS.search(text) is not None


REMOVED, NOFLUSH = "removed", "noflush"

_SHEBANG = re.compile(r"#![ \t]*(\S+)(?:[ \t]+([^\s-]\S*))?")
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox")
_FUNCTION_LINE = re.compile(r"^[ \t]*(?:function[ \t]+)?([\w.:-]+)[ \t]*\(\)|^[ \t]*function[ \t]+([\w.:-]+)",
                            re.MULTILINE)
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
    names = tuple(sorted({one or other for one, other in _FUNCTION_LINE.findall(command.text)}))
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
    place = noflush_at(source)
    if place is None:
        raise Kept("the name of the program is not plain text; add --noflush by hand")
    return Edit(row, NOFLUSH, (span[0] + place,) * 2, " --noflush")


def _argument(source, start, unit):
    """(span, its replacement): of several units that a command names, only one is removed."""
    part = argument_at(source, unit)
    if part is None:
        raise Kept("it names other units too; remove %s from it by hand" % unit)
    return (start + part[0], start + part[1]), ""


def applied(text, edits, nothing):
    """The text after the edits; `nothing` replaces each removed command, None removes it as from a script."""
    removed = [edit.span for edit in edits if edit.new is None]
    return edited(text, removed, [edit.span + (edit.new,) for edit in edits if edit.new is not None], nothing)


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
