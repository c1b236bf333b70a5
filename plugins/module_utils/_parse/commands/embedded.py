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


def command(line, text, when, exact=True):
    return Command(line, text, when, exact)


def line_in_file(found, line):
    """The line of the file that corresponds to line `line` of the text of the `Command`."""
    return found.line + line - 1 if found.exact else found.line


def shell_words(words):
    """The shell command that runs these words literally."""
    return " ".join(shlex.quote(word) for word in words)


def in_place(pieces):
    """(line, text, exact) of the pieces of one script [(line, text)]: inserted blank lines keep each piece at its line
    of the file."""
    lines, first, exact = [], pieces[0][0], True
    for line, text in pieces:
        lines.extend([""] * (line - first - len(lines)))
        exact = exact and len(lines) == line - first
        lines.extend(text.rstrip("\n").split("\n"))
    return first, "\n".join(lines) + "\n", exact
