# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell script without some of its commands. PRIVATE to the collection.

A command is removed if that has no other effect: another command follows it in the same list, so its status is not
read. In all other places (alone after `then`, beside `&&`, in a pipe, as the last command of a function or of the
script) it is replaced with `:`, which does nothing and succeeds, as the command did (POSIX 2.9.3 Lists, 2.14 colon).
"""

import re

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
