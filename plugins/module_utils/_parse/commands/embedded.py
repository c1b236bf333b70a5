# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shell commands that stand in files of other formats. PRIVATE to the collection.

A `Command` has `line`, where its text begins in the file, `text`, which a shell would read, `when` it runs, and
`exact`: whether line N of the text is line `line + N - 1` of the file. If not, all lines of the text are reported at
`line`.
"""

import collections
import shlex

BOOT = "boot"
# Once per instance: cloud-init's runcmd. On a running node it has run already.
FIRST_BOOT = "first_boot"
TIMER = "timer"
EVENT = "event"
PACKAGE_UPGRADE = "package_upgrade"

Command = collections.namedtuple("Command", "line text when exact")
Command.__new__.__defaults__ = (False,)


def line_in_file(found, line):
    """The line of the file that corresponds to line `line` of the text of the `Command`."""
    return found.line + line - 1 if found.exact else found.line


def shell_words(words):
    """The shell command that runs these words literally."""
    return " ".join(shlex.quote(word) for word in words)


def literal(value):
    """The shell command that runs the words of a value literally; empty where it cannot be split into words."""
    try:
        return shell_words(shlex.split(value))
    except ValueError:
        return ""


def unquoted(value):
    """A value without the quotes around it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def joined(text, every_comment):
    """(number of the first line, text) with continued lines joined, without comments (`every_comment`: within them
    too)."""
    start, parts = None, []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip() if every_comment else line.rstrip("\r")
        if line.lstrip().startswith("#") and (every_comment or start is None):
            continue
        start = start or number
        parts.append(line)
        if not line.endswith("\\"):
            yield start, "".join(part[:-1] for part in parts[:-1]) + line
            start, parts = None, []
    if parts:
        yield start, "".join(part[:-1] for part in parts)


def in_place(pieces):
    """(line, text, exact) of the pieces of one script [(line, text)]: blank lines keep each at its line of the file."""
    lines, first, exact = [], pieces[0][0], True
    for line, text in pieces:
        lines.extend([""] * (line - first - len(lines)))
        exact = exact and len(lines) == line - first
        lines.extend(text.rstrip("\n").split("\n"))
    return first, "\n".join(lines) + "\n", exact
