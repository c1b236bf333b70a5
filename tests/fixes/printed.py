# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that a finding prints, as a person takes them from it.

A fix is a list of parts: {run: a command of the text, fill: {PLACEHOLDER: a command that prints its value}, into: the
file for its output}, {match: an expression whose group 1 is a command that the text gets from the node, fill, into}, or
{by_hand: what the text asks for in words, does: steps}.
"""

import re


class NotPrinted(Exception):
    """The finding does not print what the row runs."""


def parts(fix, texts):
    """[(kind, as printed, steps)] of a fix for the texts of all findings of the check."""
    return [done for part in fix for done in _part(part, texts)]


def _part(part, texts):
    if "by_hand" in part:
        return [("by hand", part["by_hand"], part["does"])]
    if "run" in part:
        commands = [part["run"]] if any(part["run"] in text for text in texts) else []
    else:
        commands = list(dict.fromkeys(found.group(1) for text in texts for found in re.finditer(part["match"], text)))
    if not commands:
        raise NotPrinted("%s is not in: %s" % (part.get("run") or part["match"], " / ".join(texts)))
    into = " > " + part["into"] if "into" in part else ""
    return [("printed", command, [{"paste": filled(command, part.get("fill", {})) + into}]) for command in commands]


def filled(command, values):
    """The command with its placeholders replaced by what these commands print."""
    for placeholder, value in values.items():
        if not re.search(r"\b%s\b" % re.escape(placeholder), command):
            raise NotPrinted("%s has no %s" % (command, placeholder))
        command = re.sub(r"\b%s\b" % re.escape(placeholder), lambda _found, value=value: "$(%s)" % value, command)
    return command
