# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the list of modules below /etc/modules-load.d.

A file of the same name that was there before keeps its lines: the modules in it are loaded at boot for other reasons.
"""

import re

from ... import _names

HEADER = ("# Modules this node's netfilter needs, loaded at boot. Written by kubenode.netfilter.kernel_modules; "
          "changes are overwritten.\n")
_FOUND = "# The content of this file before, kept:\n"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def is_foreign(text):
    """Whether another program, or a person, wrote the list."""
    return text is not None and not text.startswith(HEADER)


def list_text(names, before):
    """The list with these names in place of `before`; None where it is not needed."""
    theirs = before if is_foreign(before) else (before or "").partition(_FOUND)[2]
    if not names:
        return before if theirs else None
    ours = HEADER + "".join(name + "\n" for name in names)
    return ours + _FOUND + theirs if theirs else ours


def is_as_written(text):
    """Whether a list is byte for byte what this module writes where there was no file before."""
    names = listed(text)[:-1]
    return (bool(names) and all(_names.is_name(name) for name in names) and text == list_text(sorted(set(names)), None))


def added_lines(text, names):
    """The lines that others added to our list, or None; `names` are the modules that we listed."""
    ours, _found, theirs = text.partition(_FOUND)
    lines = _LINE.findall(ours[len(HEADER):])
    return "".join(line for line in lines if line.rstrip("\n") not in names) + theirs or None


def listed(text):
    """The modules in a list that this module wrote."""
    return text[len(HEADER):].split("\n")
